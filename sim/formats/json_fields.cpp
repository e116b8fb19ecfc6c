// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/json_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/common/error.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/printable.h"

namespace uvmsim {

using nlohmann::ordered_json;

std::string_view json_line_kind(const ordered_json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "true or false";
  if (value.is_number_integer()) return "an integer";
  if (value.is_number()) return "a number that is no integer";
  if (value.is_string()) return "text";
  return value.is_array() ? "a list" : "an object";
}

std::uint64_t json_integer(const ordered_json& value, std::string_view what, std::uint64_t max) {
  const auto* number = value.get_ptr<const ordered_json::number_unsigned_t*>();
  if (number != nullptr && *number <= max) return *number;
  if (!value.is_number_integer()) {
    throw_input_error("{} must be an integer from 0 to {}, not {}", what, max, json_line_kind(value));
  }
  throw_input_error("{} is {}; allowed: 0 to {}", what, value.dump(), max);
}

std::int64_t json_signed_integer(const ordered_json& value, std::string_view what, std::int64_t min, std::int64_t max) {
  if (!value.is_number_integer()) {
    throw_input_error("{} must be an integer from {} to {}, not {}", what, min, max, json_line_kind(value));
  }
  const bool fits = !value.is_number_unsigned() || value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
  const auto number = value.get<std::int64_t>();
  if (!fits || number < min || number > max) {
    throw_input_error("{} is {}; allowed: {} to {}", what, value.dump(), min, max);
  }
  return number;
}

const std::string& json_text(const ordered_json& value, std::string_view what) {
  if (!value.is_string()) throw_input_error("{} must be text, not {}", what, json_line_kind(value));
  return value.get_ref<const std::string&>();
}

const std::vector<ordered_json>& json_array(const ordered_json& value, std::string_view what, std::size_t size) {
  if (!value.is_array()) throw_input_error("{} must be a list, not {}", what, json_line_kind(value));
  if (size != 0 && value.size() != size) {
    throw_input_error("{} must be a list of {} items, not of {}", what, size, value.size());
  }
  return value.get_ref<const ordered_json::array_t&>();
}

namespace {

const ordered_json::object_t& members_of(const ordered_json& object, std::string_view context) {
  if (!object.is_object()) throw_input_error("{} must be an object, not {}", context, json_line_kind(object));
  return object.get_ref<const ordered_json::object_t&>();
}

}  // namespace

JsonFields::JsonFields(const Json& object, std::string_view context)
    : members_(members_of(object, context)), context_(context) {
  asked_.reserve(members_.size() + 8);
}

const JsonFields::Json* JsonFields::find(std::string_view key) {
  asked_.push_back(key);
  for (const auto& [name, value] : members_) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string JsonFields::place_of(std::string_view key) const { return fmt::format("{}: '{}'", context_, key); }

std::vector<std::string_view> JsonFields::unasked() const {
  std::vector<std::string_view> others;
  for (const auto& [name, value] : members_) {
    if (std::ranges::find(asked_, name) == asked_.end()) others.emplace_back(name);
  }
  return others;
}

// Suggests an unread key that resembles the missing one.
std::string JsonFields::misspelt_hint(std::string_view key) const {
  const std::string_view nearest = nearest_name(key, unasked());
  return nearest.empty() ? "" : fmt::format("; is '{}' meant to be it?", printable(nearest));
}

const JsonFields::Json& JsonFields::require(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) throw_input_error("{}: key '{}' is missing{}", context_, key, misspelt_hint(key));
  return *value;
}

namespace {

// Builds the message only when the value is wrong.
std::uint64_t checked_integer(const ordered_json& value, const JsonFields& fields, std::string_view key,
                              std::uint64_t max) {
  const auto* number = value.get_ptr<const ordered_json::number_unsigned_t*>();
  return number != nullptr && *number <= max ? *number : json_integer(value, fields.place_of(key), max);
}

}  // namespace

std::uint64_t JsonFields::integer(std::string_view key, std::uint64_t otherwise, std::uint64_t max) {
  const Json* value = find(key);
  return value == nullptr ? otherwise : checked_integer(*value, *this, key, max);
}

std::uint64_t JsonFields::required_integer(std::string_view key, std::uint64_t max) {
  return checked_integer(require(key), *this, key, max);
}

std::int64_t JsonFields::signed_integer(std::string_view key, std::int64_t otherwise, std::int64_t min,
                                        std::int64_t max) {
  const Json* value = find(key);
  return value == nullptr ? otherwise : json_signed_integer(*value, place_of(key), min, max);
}

bool JsonFields::boolean(std::string_view key, bool otherwise) {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) {
    throw_input_error("{} must be true or false, not {}", place_of(key), json_line_kind(*value));
  }
  return value->get<bool>();
}

std::string JsonFields::text(std::string_view key) {
  const Json* value = find(key);
  return value == nullptr ? std::string() : json_text(*value, place_of(key));
}

void JsonFields::finish() const {
  for (const std::string_view name : unasked()) {
    throw_input_error("{}: unknown key '{}'{}", context_, printable(name), allowed_hint(name, asked_));
  }
}

}  // namespace uvmsim
