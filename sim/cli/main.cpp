// SPDX-License-Identifier: Apache-2.0
// The `uvmsim` command: its subcommands, and the names that they take.

#include <array>

#include "sim/cli/command_line.h"
#include "sim/cli/commands.h"
#include "sim/config/load_system.h"
#include "sim/engine/simulation.h"
#include "sim/layout/layout_choice.h"
#include "sim/policy/registry.h"

namespace uvmsim::cli {
namespace {

Texts system_names() {
  Texts names;
  for (const config::SystemFile& file : config::list_systems(config::default_search_path())) names.push_back(file.name);
  return names;
}

// Returns the names of policies of one slot, or of all if `slot` is empty.
Texts policy_names(std::string_view slot) {
  Texts names;
  for (const policy::PolicyEntry* entry : policy::built_ins()->list()) {
    if (slot.empty() || policy::slot_name(entry->slot) == slot) names.push_back(entry->info.name);
  }
  return names;
}

// Returns the names that an option such as "--system", or a command such as "systems", takes.
Texts completion_words(std::string_view what) {
  if (what == "--system" || what == "--gpus" || what == "--recorded-on" || what == "systems") return system_names();
  if (what == "--layout" || what == "layouts") return layout::layout_names();
  if (what == "--footprint") return {"allocated", "touched"};
  if (what == "policies" || what == "check-policy") return policy_names("");
  for (const policy::Slot slot : kPolicySlots) {
    if (what == "--" + std::string(policy::slot_name(slot))) return policy_names(policy::slot_name(slot));
  }
  return {};
}

constexpr std::array kCommands = {
    Command{"run", "replay a trace on a system, with less and less GPU memory", run_command},
    Command{"fit", "which GPUs hold a program, how slow it is on the others, and where it gets too slow", fit_command},
    Command{"why", "why a run is slow: which kernels wait, for what memory, and what could be saved", why_command},
    Command{"cliff", "at which factor a program suddenly gets slow, which kernels wait from there on, and why",
            cliff_command},
    Command{"advise", "what to change in a program: advice, prefetches, what to leave on the host; the lines to add",
            advise_command},
    Command{"bounds", "how fast a program can be at best, whatever the policies do", bounds_command},
    Command{"check", "run a baseline again: a CI check of policies and of the model", check_command},
    Command{"compare", "what changed between two files of results, or two sweeps", compare_command},
    Command{"sweep", "run a grid of points on all cores: plan, run, status, collect", sweep_command},
    Command{"league", "rank all policies, yours too: time, distance from the bound and from the best", league_command},
    Command{"report", "one HTML page of results, a sweep, a profile or a league", report_command},
    Command{"recommend", "embedding tables of recommendation models: in GPU memory, cached, on the host or an SSD",
            recommend_command},
    Command{"scenario", "several programs at once on one server, against each of them alone", scenario_command},
    Command{"trace", "inspect, convert, check, import and generate traces", trace_command},
    Command{"systems", "the GPU servers that are described, and what each number means", systems_command},
    Command{"layouts", "where tensors and allocations may lie, and the parameters of that", layouts_command},
    Command{"policies", "the policies of all slots and their parameters", policies_command},
    Command{"check-policy", "test a policy, a plug-in or a built-in, and say what is wrong with it",
            check_policy_command},
    Command{"bpf", "policies of gpu_ext, in the C for eBPF, as plug-ins", bpf_command},
    Command{"validate", "replay measured experiments, print measured against simulated", validate_command},
    Command{"calibrate", "fit a system's costs to measured experiments", calibrate_command},
    Command{"completion", "a script that completes the command line in bash, zsh or fish", completion_command},
    Command{"manual", "manual pages, or every command and option as JSON", manual_command},
};

constexpr const char* kExamples = R"(  uvmsim run workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 1,1.5,2,4
      how GPT-2 training slows down as GPU memory shrinks to a quarter of what it uses
  uvmsim run workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 2 --prefetch none --timeline gpt2.json.gz
      the same without the driver's prefetcher; open the timeline at ui.perfetto.dev
  uvmsim trace info workloads/gpt2.uvmt
      what a trace holds
)";

constexpr Program kProgram = {
    "uvmsim",
    "uvmsim replays what a GPU program touched against a model of GPU unified virtual memory.",
    kExamples,
    kCommands,
    "",
    "uvmsim or a policy plug-in",
    completion_words,
    true};

}  // namespace
}  // namespace uvmsim::cli

int main(int argc, char** argv) { return uvmsim::cli::run_program(uvmsim::cli::kProgram, argc, argv); }
