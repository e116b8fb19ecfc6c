// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/common/error.h"
#include "sim/config/system_file.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"

namespace uvmsim::config {
namespace {

using nlohmann::ordered_json;

// Describes the forms of an integer parameter, for messages.
std::string integer_forms(const Parameter& parameter) {
  const std::string spellings = unit_spellings(parameter.unit);
  return spellings.empty() ? allowed_text(parameter)
                           : fmt::format("{}, as an integer or as text in {}", allowed_text(parameter), spellings);
}

std::uint64_t integer_of(const Parameter& parameter, const ordered_json& value, const std::string& where) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_string()) {
    const ParsedQuantity parsed = parse_quantity(value.get_ref<const std::string&>(), parameter.unit);
    if (!parsed.value) throw_input_error("{}: {}; allowed: {}", where, parsed.problem, integer_forms(parameter));
    return *parsed.value;
  }
  if (value.is_number() && value < 0) {
    throw_input_error("{}: {} is negative; allowed: {}", where, json_excerpt(value), integer_forms(parameter));
  }
  throw_input_error("{}: {} is {}; allowed: {}", where, json_excerpt(value), json_kind(value),
                    integer_forms(parameter));
}

void assign_integer(const Parameter& parameter, const ordered_json& value, const std::string& where) {
  const std::uint64_t integer = integer_of(parameter, value, where);
  if (integer < parameter.minimum || integer > parameter.maximum) {
    throw_input_error("{}: {} is out of range; allowed: {}", where, json_excerpt(value), allowed_text(parameter));
  }
  store(parameter, integer);
}

void assign_word(const Parameter& parameter, const ordered_json& value, const std::string& where) {
  if (!value.is_string()) {
    throw_input_error("{}: {} is {}; allowed: {}", where, json_excerpt(value), json_kind(value),
                      allowed_text(parameter));
  }
  const auto& word = value.get_ref<const std::string&>();
  const auto& choices = parameter.choices;
  const bool known = std::find(choices.begin(), choices.end(), word) != choices.end();
  if (choices.empty() ? !is_one_line(word) : !known) {
    throw_input_error("{}: {} is not allowed; allowed: {}", where, json_excerpt(value), allowed_text(parameter));
  }
  store(parameter, word);
}

}  // namespace

void assign(const Parameter& parameter, const ordered_json& value, const std::string& where) {
  if (parameter.is_integer()) {
    assign_integer(parameter, value, where);
  } else if (!parameter.is_boolean()) {
    assign_word(parameter, value, where);
  } else if (value.is_boolean()) {
    store(parameter, value.get<bool>());
  } else {
    throw_input_error("{}: {} is {}; allowed: {}", where, json_excerpt(value), json_kind(value),
                      allowed_text(parameter));
  }
}

}  // namespace uvmsim::config
