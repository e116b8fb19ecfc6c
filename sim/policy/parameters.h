// SPDX-License-Identifier: Apache-2.0
// Parameters of a policy: each is declared in one line, checked once, and read by name in the policy's constructor.
//
//   static ParameterTable parameters() {
//     return {integer("threshold", 51, {1, 100}, "percent of a node that must be present before the rest follows"),
//             choice("granularity", "4k", {"4k", "64k", "2m"}, "what one fault brings in")};
//   }
//
// The arguments are name, default, allowed range or values, and one line of documentation with the unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace uvmsim::policy {

enum class ParameterType : std::uint8_t { kInteger, kReal, kBoolean, kChoice, kText, kPath };

// Largest text, and largest file behind a path, in bytes.
inline constexpr std::size_t kMostTextBytes = 4096;
inline constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;

// Both ends are allowed values.
template <class Number>
struct ParameterRange {
  Number minimum{};
  Number maximum{};
};

// The declaration of one parameter.
struct Parameter {
  std::string name;  // lower_case, unique within the policy
  ParameterType type = ParameterType::kInteger;
  std::string default_value;                   // as a user would write it
  ParameterRange<std::int64_t> integer_range;  // kInteger only
  ParameterRange<double> real_range;           // kReal only
  std::vector<std::string> choices;            // kChoice only
  std::string doc;                             // one line, with the unit
};
using ParameterTable = std::vector<Parameter>;

Parameter integer(std::string name, std::int64_t default_value, ParameterRange<std::int64_t> range, std::string doc);
Parameter real(std::string name, double default_value, ParameterRange<double> range, std::string doc);
Parameter boolean(std::string name, bool default_value, std::string doc);
Parameter choice(std::string name, std::string default_value, std::vector<std::string> choices, std::string doc);
// Any printable text without a comma, which would end it.
Parameter text(std::string name, std::string default_value, std::string doc);
// A file, such as trained weights; the default is no file. Its content is part of the run: results, points of a sweep
// and baselines hold its SHA-256.
Parameter path(std::string name, std::string doc);

// "integer", "real", "boolean", "choice", "text" or "path".
std::string_view type_name(ParameterType type);
// Lists the allowed values for messages and tables: "1 to 100", "true or false", "4k, 64k or 2m".
std::string allowed_values(const Parameter& parameter);

// Key and value as the user gave them, in the order given.
using GivenParameters = std::vector<std::pair<std::string, std::string>>;
// Formats a policy as the command line takes it: "tree:threshold=75,min_faults=1".
std::string with_parameters(const std::string& name, const GivenParameters& parameters);

// Throws InputError when the table itself is wrong: a bad or repeated name, no documentation, a default that is not
// allowed. `policy` names the policy in the message.
void check_parameter_table(const std::string& policy, const ParameterTable& table);

// The values of one policy instance: the given ones, defaults for the rest.
class Parameters {
 public:
  // Throws InputError for an unknown or repeated key, a value of the wrong type and a value out of range; the message
  // names the policy, the parameter, what is allowed, and for an unknown key the nearest known one.
  Parameters(std::string policy, const ParameterTable& table, const GivenParameters& given);

  // Each throws ModelError when the policy asks for a parameter that it has not declared with that type.
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  bool boolean(std::string_view name) const;
  const std::string& choice(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  // The content of a path's file, read when the values were checked; null if none is given.
  const std::string* file(std::string_view name) const;

  // Every parameter with its value in force, in the order of the table, for results. A path is written as its last name
  // and the SHA-256 of its content: "weights.txt sha256:<64 digits>".
  GivenParameters resolved() const;

 private:
  struct File {
    std::string name, contents, sha256;  // all empty: none
  };
  using Value = std::variant<std::int64_t, double, bool, std::string, File>;
  static Value parse(const std::string& policy, const Parameter& parameter, const std::string& text);
  template <class Type>
  const Type& get(std::string_view name, ParameterType type) const;

  std::string policy_;
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace uvmsim::policy
