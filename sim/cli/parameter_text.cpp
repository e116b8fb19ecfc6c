// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/parameter_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/formats/wrapped.h"

namespace uvmsim::cli {

using policy::Parameter;
using policy::ParameterType;

namespace {

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
    case ParameterType::kText:
      json["default"] = defaults.text(parameter.name);
      break;
    case ParameterType::kPath:
      json["default"] = nullptr;
      break;
    case ParameterType::kChoice:
      json["default"] = parameter.default_value;
      json["choices"] = parameter.choices;
      break;
  }
  json["doc"] = parameter.doc;
  return json;
}

}  // namespace

void print_table(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    std::size_t hang = indent.size();
    for (std::size_t i = 0; i + 1 < row.size(); ++i) hang += widths[i] + 2;
    fmt::print("{}\n", wrapped_line(line, hang < line_width() / 2 ? hang : indent.size() + 4));
  }
}

void print_parameters(const policy::ParameterTable& table) {
  if (table.empty()) {
    fmt::print("  no parameters\n");
    return;
  }
  std::vector<std::vector<std::string>> rows{{"PARAMETER", "TYPE", "DEFAULT", "ALLOWED", "MEANING"}};
  for (const Parameter& parameter : table) {
    rows.push_back({parameter.name, std::string(type_name(parameter.type)), parameter.default_value,
                    allowed_values(parameter), parameter.doc});
  }
  fmt::print("\n");
  print_table(rows, "  ");
}

nlohmann::ordered_json parameters_json(const policy::ParameterTable& table) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const Parameter& parameter : table) parameters.push_back(json_of(parameter));
  return parameters;
}

void print_json(std::string_view name, nlohmann::ordered_json list) {
  const nlohmann::ordered_json document{{"schema_version", 1}, {name, std::move(list)}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace uvmsim::cli
