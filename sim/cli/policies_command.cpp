// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/cli/bpf_skeleton.h"
#include "sim/cli/parameter_text.h"
#include "sim/common/error.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/wrapped.h"
#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"

namespace uvmsim::cli {
namespace {

using policy::PolicyEntry;
using Entries = std::vector<const PolicyEntry*>;

constexpr const char* kPoliciesUsage = R"(uvmsim policies [NAME] [options]

Without NAME: every policy, its slot, its information class and what it does.
With NAME: also its source and its parameters, each with type, default and allowed values.

Policies fill slots: a run takes one prefetch, one evict, one plan, one migrate, one route and one batch policy, a
scenario whose programs share GPUs one schedule policy. The information class says what a policy may know:
  D0  faults and migrations, what today's driver sees     D3  kernel boundaries and tensor hints
  D1  access-counter notifications                        D4  the future
  D2  access bits, what a kernel touched

Examples:
  uvmsim policies
  uvmsim policies tree
  uvmsim policies --plugin ./mine.so mine --json
  uvmsim policies slru --as-bpf >slru.bpf.c
      a source for gpu_ext, of prefetch and evict policies: our own where there is one, else a beginning

)";

void print_overview(const Entries& entries) {
  std::vector<std::vector<std::string>> rows{{"SLOT", "NAME", "CLASS", "DESCRIPTION"}};
  for (const PolicyEntry* entry : entries) {
    std::string description = entry->info.description;
    if (!entry->built_in()) description += fmt::format(" [{}]", entry->origin);
    rows.push_back({std::string(slot_name(entry->slot)), entry->info.name,
                    std::string(information_class_name(entry->info.information)), description});
  }
  print_table(rows, "");
  fmt::print("\nuvmsim policies NAME shows the parameters of a policy and the source that it follows.\n");
}

void print_policy(const PolicyEntry& entry) {
  const policy::PolicyInfo& info = entry.info;
  fmt::print("{}", wrapped_text(fmt::format("{}: {}\n", entry.label(), info.description)));
  print_table({{"source", info.source},
               {"class", fmt::format("{}, {}", information_class_name(info.information),
                                     information_class_meaning(info.information))},
               {"decision cost", fmt::format("{} ns", info.decision_cost.value)},
               {"origin", entry.origin}},
              "  ");
  print_parameters(entry.parameters);
}

void print_as_json(const Entries& entries) {
  nlohmann::ordered_json policies = nlohmann::ordered_json::array();
  for (const PolicyEntry* entry : entries) {
    policies.push_back({{"slot", slot_name(entry->slot)},
                        {"name", entry->info.name},
                        {"description", entry->info.description},
                        {"source", entry->info.source},
                        {"information_class", information_class_name(entry->info.information)},
                        {"decision_cost_ns", entry->info.decision_cost.value},
                        {"for_processes", entry->info.for_processes},
                        {"origin", entry->origin},
                        {"parameters", parameters_json(entry->parameters)}});
  }
  print_json("policies", std::move(policies));
}

Entries named(const Entries& all, const std::string& name) {
  Entries entries;
  std::vector<std::string> names;
  for (const PolicyEntry* entry : all) {
    names.push_back(entry->info.name);
    if (entry->info.name == name) entries.push_back(entry);
  }
  if (entries.empty()) throw_input_error("unknown policy '{}'{}", name, allowed_hint(name, names));
  return entries;
}

int print_policies(const Values& values) {
  policy::Registry registry = *policy::built_ins();
  for (const std::string& plugin : values.texts("plugin")) policy::load_plugin(registry, policy::find_plugin(plugin));
  const std::vector<const PolicyEntry*> all = registry.list();
  const Arguments& names = values.arguments();
  const Entries entries = names.empty() ? all : named(all, names.front());
  if (values.given("as-bpf")) {
    if (names.empty()) throw_input_error("--as-bpf: no policy given; such as `uvmsim policies slru --as-bpf`");
    fmt::print("{}", as_bpf(*entries.front()));
  } else if (values.given("json")) {
    print_as_json(entries);
  } else if (names.empty()) {
    print_overview(entries);
  } else {
    for (const PolicyEntry* entry : entries) print_policy(*entry);
  }
  return 0;
}

}  // namespace

CommandLine policies_command() {
  return {.usage = kPoliciesUsage,
          .options = {kPlugins, {"json", "", "print JSON"}, {"as-bpf", "", "print a source for gpu_ext"}, kHelp},
          .most_arguments = 1,
          .run = print_policies,
          .width = 80};
}

}  // namespace uvmsim::cli
