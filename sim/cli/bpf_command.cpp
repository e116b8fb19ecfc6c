// SPDX-License-Identifier: Apache-2.0
// `uvmsim bpf`: compiles policies of gpu_ext, in the C for eBPF, into plug-ins.
#include <fmt/format.h>

#include "sim/cli/bpf_build.h"
#include "sim/cli/commands.h"
#include "sim/common/error.h"
#include "sim/policy/registry.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kBpfUsage = R"(uvmsim bpf VERB

Runs policies that gpu_ext loads into NVIDIA's driver, with their source unchanged:

  build POLICY.bpf.c -o FILE     compile one into a plug-in
  folder                         where the headers and our own policies are

)";

constexpr const char* kBuildUsage = R"(uvmsim bpf build POLICY.bpf.c [-o FILE] [options]

Compiles the source of an eBPF policy (struct_ops programs, maps, kfuncs) with gcc or clang into a plug-in for the
slots whose hooks it has: prefetch, evict, or both.

Examples:
  uvmsim bpf build bpf/policies/mru.bpf.c -o mru.so
  uvmsim run workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 2 --plugin ./mru.so --evict bpf_mru
  uvmsim bpf build prefetch_pid_tree.bpf.c --map config[4]=60
      with what its loader would write into its maps

)";

constexpr const char* kBuildNotes = R"(
An entry of a small array of integers is also a parameter of the policy: `--prefetch prefetch_pid_tree:config_4=60`.
With UVMSIM_BPF_CALLS=1 in the environment a run prints how often the driver called each hook. A source that needs a
function or field that does not exist here, and a program that a verifier would refuse, give an error of one line.
docs/bpf.md has more.
)";

int print_folder(const Values&) {
  fmt::print("{}\n", bpf_folder());
  return 0;
}

CommandLine bpf_folder_verb() {
  return {.usage = "uvmsim bpf folder\n\nThe folder with the headers (include) and our own policies (policies).\n\n",
          .options = {kHelp},
          .run = print_folder};
}

// Returns the name, with bpf_ before it if a built-in has that name.
std::string free_name(const std::string& name) {
  const auto& built_ins = *policy::built_ins();
  const bool taken = built_ins.has(policy::Slot::kPrefetch, name) || built_ins.has(policy::Slot::kEvict, name);
  return taken ? "bpf_" + name : name;
}

int build_policy(const Values& values) {
  BpfBuild build;
  build.source = values.first("no source given; `uvmsim bpf build --help` shows examples");
  build.name = values.text("name").value_or(free_name(bpf_policy_name(build.source)));
  if (build.name != bpf_policy_name(build.name)) {
    throw_input_error("--name: '{}' is no name of a policy; allowed: lower-case letters, digits and _, a letter first",
                      build.name);
  }
  build.output = values.text("output").value_or(build.name + ".so");
  build.compiler = values.text("compiler").value_or("");
  build.settings = values.texts("map");
  build.verbose = values.given("verbose");
  const policy::Registry registry = build_bpf_policy(build);
  const std::string file = build.output.find('/') == std::string::npos ? "./" + build.output : build.output;
  std::string slots, options;
  for (const policy::PolicyEntry* entry : registry.list()) {
    slots += fmt::format("{}{}", slots.empty() ? "" : " and ", policy::slot_name(entry->slot));
    options += fmt::format(" --{} {}", policy::slot_name(entry->slot), entry->info.name);
  }
  fmt::print("{}: a policy for {}; uvmsim run TRACE --system SYSTEM --plugin {}{}\n", build.output, slots, file,
             options);
  return 0;
}

CommandLine bpf_build_verb() {
  return {
      .usage = kBuildUsage,
      .options = {{"output,o", "FILE", "the plug-in, default NAME.so"},
                  {"name", "NAME",
                   "of the policy, default the source's name up to the first dot, with bpf_ before that of a built-in"},
                  {"map", "NAME[KEY]=VALUE", "what the loader writes into a map; may be repeated", kRepeatable},
                  {"compiler", "CC", "default $CC, else gcc, else clang"},
                  kVerbose,
                  kHelp},
      .notes = kBuildNotes,
      .most_arguments = 1,
      .run = build_policy};
}

}  // namespace

CommandLine bpf_command() {
  return {.usage = kBpfUsage,
          .options = {kHelp},
          .verbs = {{"build", "", bpf_build_verb}, {"folder", "", bpf_folder_verb}}};
}

}  // namespace uvmsim::cli
