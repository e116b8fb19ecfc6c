// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/common/sha256.h"
#include "sim/formats/did_you_mean.h"

namespace uvmsim::policy {
namespace {

// Returns the whole text as a number, or nothing.
template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

bool is_lower_case_name(std::string_view name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' && std::all_of(name.begin(), name.end(), allowed);
}

// Returns the content of the file; `refuse` throws with what is wrong with it.
template <class Refuse>
std::string contents_of(const std::string& path, Refuse&& refuse) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) refuse("cannot be read: no such file");
  if (!std::filesystem::is_regular_file(status)) refuse("is no regular file");
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse("cannot be read");
  std::string contents;
  char part[1 << 16];
  while (in.read(part, sizeof part) || in.gcount() != 0) {
    contents.append(part, static_cast<std::size_t>(in.gcount()));
    if (contents.size() > kMostFileBytes) refuse("is larger than 64 MiB");
  }
  if (in.bad()) refuse("cannot be read");
  return contents;
}

std::vector<std::string> names_of(const ParameterTable& table) {
  std::vector<std::string> names;
  for (const Parameter& parameter : table) names.push_back(parameter.name);
  return names;
}

[[noreturn]] void refuse(const std::string& policy, const Parameter& parameter, const std::string& text,
                         std::string_view problem) {
  throw_input_error("{}: parameter '{}': '{}' {}; allowed: {} (default {})", policy, parameter.name, text, problem,
                    allowed_values(parameter), parameter.default_value);
}

}  // namespace

Parameter integer(std::string name, std::int64_t default_value, ParameterRange<std::int64_t> range, std::string doc) {
  return {std::move(name), ParameterType::kInteger, fmt::format("{}", default_value), range, {}, {}, std::move(doc)};
}

Parameter real(std::string name, double default_value, ParameterRange<double> range, std::string doc) {
  return {std::move(name), ParameterType::kReal, fmt::format("{}", default_value), {}, range, {}, std::move(doc)};
}

Parameter boolean(std::string name, bool default_value, std::string doc) {
  return {std::move(name), ParameterType::kBoolean, default_value ? "true" : "false", {}, {}, {}, std::move(doc)};
}

Parameter choice(std::string name, std::string default_value, std::vector<std::string> choices, std::string doc) {
  return {std::move(name),    ParameterType::kChoice, std::move(default_value), {}, {},
          std::move(choices), std::move(doc)};
}

Parameter text(std::string name, std::string default_value, std::string doc) {
  return {std::move(name), ParameterType::kText, std::move(default_value), {}, {}, {}, std::move(doc)};
}

Parameter path(std::string name, std::string doc) {
  return {std::move(name), ParameterType::kPath, "", {}, {}, {}, std::move(doc)};
}

std::string_view type_name(ParameterType type) {
  constexpr std::string_view kNames[] = {"integer", "real", "boolean", "choice", "text", "path"};
  return kNames[static_cast<unsigned>(type)];
}

std::string allowed_values(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::kInteger:
      return fmt::format("{} to {}", parameter.integer_range.minimum, parameter.integer_range.maximum);
    case ParameterType::kReal:
      return fmt::format("{} to {}", parameter.real_range.minimum, parameter.real_range.maximum);
    case ParameterType::kBoolean:
      return "true or false";
    case ParameterType::kText:
      return fmt::format("printable text of up to {} bytes", kMostTextBytes);
    case ParameterType::kPath:
      return "a file of up to 64 MiB, or nothing";
    case ParameterType::kChoice:
      break;
  }
  std::string text;
  for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
    text += i == 0 ? "" : i + 1 == parameter.choices.size() ? " or " : ", ";
    text += parameter.choices[i];
  }
  return text;
}

Parameters::Value Parameters::parse(const std::string& policy, const Parameter& parameter, const std::string& text) {
  const auto in_range = [](auto value, auto range) { return value >= range.minimum && value <= range.maximum; };
  switch (parameter.type) {
    case ParameterType::kInteger: {
      const auto value = parse_number<std::int64_t>(text);
      if (!value) refuse(policy, parameter, text, "is not an integer");
      if (!in_range(*value, parameter.integer_range)) refuse(policy, parameter, text, "is out of range");
      return *value;
    }
    case ParameterType::kReal: {
      const auto value = parse_number<double>(text);
      if (!value) refuse(policy, parameter, text, "is not a number");
      if (!in_range(*value, parameter.real_range)) refuse(policy, parameter, text, "is out of range");
      return *value;
    }
    case ParameterType::kBoolean:
      if (text != "true" && text != "false") refuse(policy, parameter, text, "is not a boolean");
      return text == "true";
    case ParameterType::kText: {
      const auto printable = [](unsigned char c) { return c >= 0x20 && c != 0x7f; };
      if (text.size() > kMostTextBytes || !std::all_of(text.begin(), text.end(), printable)) {
        refuse(policy, parameter, text.substr(0, 80), "is no such text");
      }
      return text;
    }
    case ParameterType::kPath: {
      File file;
      if (text.empty()) return file;
      file.name = std::filesystem::path(text).filename().string();
      file.contents = contents_of(text, [&](std::string_view problem) { refuse(policy, parameter, text, problem); });
      file.sha256 = sha256(file.contents);
      return file;
    }
    case ParameterType::kChoice:
      break;
  }
  if (std::find(parameter.choices.begin(), parameter.choices.end(), text) == parameter.choices.end()) {
    refuse(policy, parameter, text, "is not a choice");
  }
  return text;
}

void check_parameter_table(const std::string& policy, const ParameterTable& table) {
  std::set<std::string> seen;
  for (const Parameter& parameter : table) {
    // Unlike a policy's name, a parameter's may begin with a digit: quota:0=50.
    if (parameter.name.empty() || !is_lower_case_name("p" + parameter.name)) {
      throw_input_error("{} declares a parameter '{}'; allowed: lower-case letters, digits and underscores", policy,
                        parameter.name);
    }
    if (!seen.insert(parameter.name).second) {
      throw_input_error("{} declares parameter '{}' twice", policy, parameter.name);
    }
    if (parameter.doc.empty()) {
      throw_input_error("{} declares parameter '{}' without documentation", policy, parameter.name);
    }
  }
  Parameters(policy, table, {});  // refuses invalid defaults
}

Parameters::Parameters(std::string policy, const ParameterTable& table, const GivenParameters& given)
    : policy_(std::move(policy)) {
  for (const Parameter& parameter : table) {
    values_.emplace_back(parameter.name, parse(policy_, parameter, parameter.default_value));
  }
  std::set<std::string> seen;
  for (const auto& [key, text] : given) {
    const auto found = std::ranges::find(table, key, &Parameter::name);
    if (found == table.end()) {
      const std::vector<std::string> names = names_of(table);
      throw_input_error("{}: unknown parameter '{}'{}; {}", policy_, key, did_you_mean(key, names),
                        names.empty() ? "it has no parameters" : fmt::format("allowed: {}", fmt::join(names, ", ")));
    }
    if (!seen.insert(key).second) throw_input_error("{}: parameter '{}' is given twice; allowed: once", policy_, key);
    values_[static_cast<std::size_t>(found - table.begin())].second = parse(policy_, *found, text);
  }
}

template <class Type>
const Type& Parameters::get(std::string_view name, ParameterType type) const {
  for (const auto& [key, value] : values_) {
    if (key == name && std::holds_alternative<Type>(value)) return std::get<Type>(value);
  }
  throw ModelError(
      fmt::format("{} reads parameter '{}' as {} but does not declare it so", policy_, name, type_name(type)));
}

std::int64_t Parameters::integer(std::string_view name) const {
  return get<std::int64_t>(name, ParameterType::kInteger);
}
double Parameters::real(std::string_view name) const { return get<double>(name, ParameterType::kReal); }
bool Parameters::boolean(std::string_view name) const { return get<bool>(name, ParameterType::kBoolean); }
const std::string& Parameters::choice(std::string_view name) const {
  return get<std::string>(name, ParameterType::kChoice);
}

const std::string& Parameters::text(std::string_view name) const {
  return get<std::string>(name, ParameterType::kText);
}
const std::string* Parameters::file(std::string_view name) const {
  const File& file = get<File>(name, ParameterType::kPath);
  return file.sha256.empty() ? nullptr : &file.contents;
}

std::string with_parameters(const std::string& name, const GivenParameters& parameters) {
  std::string text = name;
  char separator = ':';
  for (const auto& [key, value] : parameters) {
    text += fmt::format("{}{}={}", separator, key, value);
    separator = ',';
  }
  return text;
}

GivenParameters Parameters::resolved() const {
  GivenParameters result;
  for (const auto& [name, value] : values_) {
    const std::string text = std::visit(
        []<class Value>(const Value& v) {
          if constexpr (std::is_same_v<Value, File>) {
            return v.sha256.empty() ? std::string() : fmt::format("{} sha256:{}", v.name, v.sha256);
          } else {
            return fmt::format("{}", v);
          }
        },
        value);
    result.emplace_back(name, text);
  }
  return result;
}

}  // namespace uvmsim::policy
