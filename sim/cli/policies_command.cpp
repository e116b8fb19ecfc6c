// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/cli/options.h"
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
namespace options = boost::program_options;

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

void print_json(const Entries& entries) {
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
  const nlohmann::ordered_json document{{"schema_version", 1}, {"policies", std::move(policies)}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Entries named(const Entries& all, const std::string& name) {
  Entries entries;
  std::vector<std::string> names;
  for (const PolicyEntry* entry : all) {
    names.push_back(entry->info.name);
    if (entry->info.name == name) entries.push_back(entry);
  }
  if (entries.empty()) {
    throw_input_error("unknown policy '{}'{}; allowed: {}", name, did_you_mean(name, names), fmt::join(names, ", "));
  }
  return entries;
}

}  // namespace

int policies_command(const std::vector<std::string>& arguments) {
  options::options_description visible("Options");
  auto add = visible.add_options();
  add("plugin", options::value<std::vector<std::string>>()->composing()->value_name("FILE"),
      "load policies from a shared library, a file or a name in the search path; may be repeated");
  add("json", options::bool_switch(), "print JSON");
  add("help,h", options::bool_switch(), "print this text");
  const options::variables_map values = parse_options("uvmsim policies", arguments, visible, 1);
  if (values["help"].as<bool>()) {
    std::ostringstream text;
    text << visible;
    fmt::print("{}\n{}", kPoliciesUsage, text.str());
    return 0;
  }

  policy::Registry registry = *policy::built_ins();
  if (values.count("plugin") != 0) {
    for (const std::string& plugin : values["plugin"].as<std::vector<std::string>>()) {
      policy::load_plugin(registry, policy::find_plugin(plugin));
    }
  }
  const std::vector<std::string> names = positional_arguments(values);
  const Entries entries = names.empty() ? registry.list() : named(registry.list(), names.front());
  if (values["json"].as<bool>()) {
    print_json(entries);
  } else if (names.empty()) {
    print_overview(entries);
  } else {
    for (const PolicyEntry* entry : entries) print_policy(*entry);
  }
  return 0;
}

}  // namespace uvmsim::cli
