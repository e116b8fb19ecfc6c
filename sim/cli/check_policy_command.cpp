// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <cstdio>

#include "sim/cli/parameter_text.h"
#include "sim/common/error.h"
#include "sim/conformance/conformance.h"
#include "sim/policy/plugin.h"
#include "sim/sweep/values.h"

namespace uvmsim::cli {
namespace {

using policy::PolicyEntry;

constexpr const char* kCheckPolicyUsage = R"(uvmsim check-policy FILE.so|NAME[:key=value,...] [options]

Tests a policy, a plug-in or a built-in, and says what is wrong with it: every parameter at its ends, random histories
on GPUs of a few chunks or random blocks, whole programs on tiny GPUs, everything twice and in processes with other
addresses. Each check runs in a process of its own; a policy that crashes or does not return is found too, with the
function that does. Exit code 0: nothing is wrong; 1: something is.

What the simulator itself takes care of (pages outside the allocation, memory that is resident already) is no error.

Examples:
  uvmsim check-policy ./mine.so
  uvmsim check-policy tree:threshold=75
  uvmsim check-policy --plugin ./mine.so mine:depth=3 --seed 7

)";

bool is_file_name(const std::string& text) { return text.find('/') != std::string::npos || text.ends_with(".so"); }

bool passes(const PolicyEntry& entry, const conformance::CheckOptions& check) {
  fmt::print("{} ({})\n", entry.label(), entry.origin);
  std::fflush(stdout);
  std::vector<std::vector<std::string>> rows;
  std::size_t wrong = 0;
  for (const conformance::Verdict& verdict : conformance::check_policy(entry, check)) {
    wrong += verdict.passed ? 0 : 1;
    rows.push_back({verdict.passed ? "ok" : "WRONG", verdict.check, verdict.text});
  }
  print_table(rows, "  ");
  fmt::print("{}\n", wrong == 0 ? "nothing is wrong" : fmt::format("{} of {} checks failed", wrong, rows.size()));
  return wrong == 0;
}

int check(const Values& values) {
  const std::string& named =
      values.first("check-policy: no policy given; allowed: a plug-in's file, or the name of a policy");
  const auto registry = std::make_shared<policy::Registry>(*policy::built_ins());
  for (const std::string& plugin : values.texts("plugin")) policy::load_plugin(*registry, policy::find_plugin(plugin));
  const auto seconds = [&](std::string_view option, unsigned otherwise) {
    return static_cast<unsigned>(values.number(option, otherwise, {1, 3600, " is out of range"}));
  };
  conformance::CheckOptions check;
  check.registry = registry;
  check.seed = values.number("seed", 1);
  check.limits.cpu_seconds = seconds("cpu-seconds", check.limits.cpu_seconds);
  check.limits.wall_seconds = seconds("seconds", check.limits.wall_seconds);

  PolicyChoice choice = sweep::parse_policy("check-policy", named);
  const bool is_file = is_file_name(choice.name);
  const std::string wanted = is_file ? policy::find_plugin(choice.name) : choice.name;
  if (is_file) policy::load_plugin(*registry, wanted);
  std::vector<const PolicyEntry*> entries = registry->list();
  std::erase_if(entries,
                [&](const PolicyEntry* entry) { return (is_file ? entry->origin : entry->info.name) != wanted; });
  if (entries.empty() && !is_file) {
    throw_input_error("unknown policy '{}'; `uvmsim policies` lists the names, a plug-in's file ends in .so", wanted);
  }
  check.given = choice.parameters;
  bool all_pass = true;
  for (const PolicyEntry* entry : entries) all_pass = passes(*entry, check) && all_pass;
  return all_pass ? 0 : 1;
}

}  // namespace

CommandLine check_policy_command() {
  return {
      .usage = kCheckPolicyUsage,
      .options = {kPlugins,
                  {"seed", "N", "seed of histories, programs and the policy, default 1"},
                  {"cpu-seconds", "N", "processor time that a check may take before it counts as endless, default 60"},
                  {"seconds", "N", "the same by the clock, for a policy that waits for something, default 600"},
                  kHelp},
      .most_arguments = 1,
      .run = check,
      .width = 80};
}

}  // namespace uvmsim::cli
