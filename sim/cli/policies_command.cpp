#include "sim/cli/policies_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/cli/options.h"
#include "sim/common/error.h"
#include "sim/policy/name_suggestion.h"
#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"

namespace uvmsim::cli {
namespace {

using policy::Parameter;
using policy::ParameterType;
using policy::PolicyEntry;
using Entries = std::vector<const PolicyEntry*>;
namespace options = boost::program_options;

constexpr const char* kUsage = R"(uvmsim policies [NAME] [options]

Without NAME: every policy, its slot, its information class and what it does.
With NAME: also its source and its parameters, each with type, default and allowed values.

Policies fill slots: a run takes one prefetch and one evict policy. The information class says what a policy may know:
  D0  faults and migrations, what today's driver sees     D3  kernel boundaries and tensor hints
  D1  access-counter notifications                        D4  the future
  D2  access bits, what a kernel touched

Examples:
  uvmsim policies
  uvmsim policies tree
  uvmsim policies --plugin ./mine.so mine --json
)";

// Rows with the columns padded to the widest cell, except the last column.
void print_table(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    fmt::print("{}\n", line);
  }
}

void print_overview(const Entries& entries) {
  std::vector<std::vector<std::string>> rows{{"SLOT", "NAME", "CLASS", "DESCRIPTION"}};
  for (const PolicyEntry* entry : entries) {
    std::string description = entry->info.description;
    if (entry->origin != "built-in") {
      description += fmt::format(" [{}]", entry->origin);
    }
    rows.push_back({std::string(slot_name(entry->slot)), entry->info.name,
                    std::string(information_class_name(entry->info.information)), description});
  }
  print_table(rows, "");
  fmt::print("\nuvmsim policies NAME shows the parameters of a policy and the source that it follows.\n");
}

void print_policy(const PolicyEntry& entry) {
  const policy::PolicyInfo& info = entry.info;
  fmt::print("{}: {}\n", entry.label(), info.description);
  print_table({{"source", info.source},
               {"class", fmt::format("{}, {}", information_class_name(info.information),
                                     information_class_meaning(info.information))},
               {"decision cost", fmt::format("{} ns", info.decision_cost.value)},
               {"origin", entry.origin}},
              "  ");
  if (entry.parameters.empty()) {
    fmt::print("  no parameters\n");
    return;
  }
  std::vector<std::vector<std::string>> rows{{"PARAMETER", "TYPE", "DEFAULT", "ALLOWED", "MEANING"}};
  for (const Parameter& parameter : entry.parameters) {
    rows.push_back({parameter.name, std::string(type_name(parameter.type)), parameter.default_value,
                    allowed_values(parameter), parameter.doc});
  }
  fmt::print("\n");
  print_table(rows, "  ");
}

// Numbers stay numbers.
nlohmann::ordered_json json_of(const Parameter& parameter) {
  nlohmann::ordered_json json{{"name", parameter.name}, {"type", type_name(parameter.type)}};
  const policy::Parameters defaults("", {parameter}, {});
  switch (parameter.type) {
    case ParameterType::kInteger:
      json["default"] = defaults.integer(parameter.name);
      json["minimum"] = parameter.integer_range.minimum;
      json["maximum"] = parameter.integer_range.maximum;
      break;
    case ParameterType::kReal:
      json["default"] = defaults.real(parameter.name);
      json["minimum"] = parameter.real_range.minimum;
      json["maximum"] = parameter.real_range.maximum;
      break;
    case ParameterType::kBoolean:
      json["default"] = defaults.boolean(parameter.name);
      break;
    case ParameterType::kChoice:
      json["default"] = parameter.default_value;
      json["choices"] = parameter.choices;
      break;
  }
  json["doc"] = parameter.doc;
  return json;
}

void print_json(const Entries& entries) {
  nlohmann::ordered_json policies = nlohmann::ordered_json::array();
  for (const PolicyEntry* entry : entries) {
    nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
    for (const Parameter& parameter : entry->parameters) {
      parameters.push_back(json_of(parameter));
    }
    policies.push_back({{"slot", slot_name(entry->slot)},
                        {"name", entry->info.name},
                        {"description", entry->info.description},
                        {"source", entry->info.source},
                        {"information_class", information_class_name(entry->info.information)},
                        {"decision_cost_ns", entry->info.decision_cost.value},
                        {"origin", entry->origin},
                        {"parameters", std::move(parameters)}});
  }
  const nlohmann::ordered_json document{{"schema_version", 1}, {"policies", std::move(policies)}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Entries named(const Entries& all, const std::string& name) {
  Entries entries;
  std::vector<std::string> names;
  for (const PolicyEntry* entry : all) {
    names.push_back(entry->info.name);
    if (entry->info.name == name) {
      entries.push_back(entry);
    }
  }
  if (entries.empty()) {
    throw_input_error("unknown policy '{}'{}; allowed: {}", name, policy::suggestion(name, names),
                      fmt::join(names, ", "));
  }
  return entries;
}

}  // namespace

int policies_command(const std::vector<std::string>& arguments) {
  options::options_description visible("Options");
  auto add = visible.add_options();
  add("plugin", options::value<std::vector<std::string>>()->composing()->value_name("FILE"),
      "load policies from a shared library; may be repeated");
  add("json", options::bool_switch(), "print JSON");
  add("help,h", options::bool_switch(), "print this text");
  const options::variables_map values = parse_options("uvmsim policies", arguments, visible, 1);
  if (values["help"].as<bool>()) {
    std::ostringstream text;
    text << visible;
    fmt::print("{}\n{}", kUsage, text.str());
    return 0;
  }

  policy::Registry& registry = policy::default_registry();
  if (values.count("plugin") != 0) {
    for (const std::string& path : values["plugin"].as<std::vector<std::string>>()) {
      policy::load_plugin(registry, path);
    }
  }
  const std::vector<std::string> names = positional_arguments(values);
  const Entries entries = names.empty() ? registry.list() : named(registry.list(), names.front());
  if (values["json"].as<bool>()) {
    print_json(entries);
  } else if (names.empty()) {
    print_overview(entries);
  } else {
    for (const PolicyEntry* entry : entries) {
      print_policy(*entry);
    }
  }
  return 0;
}

}  // namespace uvmsim::cli
