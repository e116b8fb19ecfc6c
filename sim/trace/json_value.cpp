// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"

namespace uvmsim::trace {

namespace {

constexpr std::size_t kMaxDepth = 16;

// Builds the tree from nlohmann's events; that parser checks the syntax and UTF-8.
class TreeBuilder {
 public:
  bool null() { return add({}); }
  bool boolean(bool value) { return add(JsonValue::of_boolean(value)); }
  bool number_integer(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return add(JsonValue::of_integer(value < 0, value < 0 ? ~bits + 1 : bits));
  }
  bool number_unsigned(std::uint64_t value) { return add(JsonValue::of_integer(false, value)); }
  bool number_float(double, const std::string& text) {
    return add(JsonValue::of_text(JsonValue::Kind::kFraction, text));
  }
  bool string(std::string& value) { return add(JsonValue::of_text(JsonValue::Kind::kString, std::move(value))); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return open(JsonValue::Kind::kObject); }
  bool start_array(std::size_t) { return open(JsonValue::Kind::kArray); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    auto& members = open_.back()->members();
    const auto same = [&name](const auto& member) { return member.first == name; };
    if (std::any_of(members.begin(), members.end(), same)) {
      throw_input_error("key '{}' is given twice", printable(name));
    }
    members.emplace_back(std::move(name), JsonValue{});
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    throw_input_error("not valid JSON at character {}", position);
  }

  JsonValue take() { return std::move(root_); }

 private:
  bool add(JsonValue node) {
    count();
    place(std::move(node));
    return true;
  }
  void count() {
    // Values take far more memory than their text.
    if (++values_ > kMaxLineValues) throw_input_error("more than {} values in one line", kMaxLineValues);
  }
  JsonValue& place(JsonValue node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return root_;
    }
    JsonValue& parent = *open_.back();
    if (parent.kind() == JsonValue::Kind::kArray) return parent.items().emplace_back(std::move(node));
    return parent.members().back().second = std::move(node);
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() == kMaxDepth) throw_input_error("JSON nested deeper than {} levels", kMaxDepth);
    count();
    // The pointer stays valid while the value is open: siblings are only added after it is closed.
    open_.push_back(&place(JsonValue::of_parts(kind)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonValue root_;
  std::size_t values_ = 0;
  std::vector<JsonValue*> open_;
};

}  // namespace

JsonValue JsonValue::of_text(Kind kind, std::string text) {
  JsonValue value = of_parts(kind);
  value.parts_->text = std::move(text);
  return value;
}

JsonValue JsonValue::of_parts(Kind kind) {
  JsonValue value(kind, false, 0);
  value.parts_ = std::make_unique<Parts>();
  return value;
}

std::string_view JsonValue::kind_name() const {
  switch (kind_) {
    case Kind::kNull:
      return "null";
    case Kind::kBoolean:
      return "true or false";
    case Kind::kInteger:
      return "an integer";
    case Kind::kFraction:
      return "a number that is no integer";
    case Kind::kString:
      return "text";
    case Kind::kArray:
      return "a list";
    case Kind::kObject:
      return "an object";
  }
  return "?";
}

JsonValue parse_json(std::string_view text) {
  TreeBuilder builder;
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

std::uint64_t json_integer(const JsonValue& value, std::string_view what, std::uint64_t max) {
  if (value.kind() != JsonValue::Kind::kInteger) {
    throw_input_error("{} must be an integer from 0 to {}, not {}", what, max, value.kind_name());
  }
  if (value.negative() || value.magnitude() > max) {
    throw_input_error("{} is {}{}; allowed: 0 to {}", what, value.negative() ? "-" : "", value.magnitude(), max);
  }
  return value.magnitude();
}

std::int64_t json_signed_integer(const JsonValue& value, std::string_view what, std::int64_t min, std::int64_t max) {
  if (value.kind() != JsonValue::Kind::kInteger) {
    throw_input_error("{} must be an integer from {} to {}, not {}", what, min, max, value.kind_name());
  }
  const bool fits = value.magnitude() <= static_cast<std::uint64_t>(INT64_MAX);
  const auto magnitude = fits ? static_cast<std::int64_t>(value.magnitude()) : 0;
  const std::int64_t number = value.negative() ? -magnitude : magnitude;
  if (!fits || number < min || number > max) {
    throw_input_error("{} is {}{}; allowed: {} to {}", what, value.negative() ? "-" : "", value.magnitude(), min, max);
  }
  return number;
}

const std::string& json_text(const JsonValue& value, std::string_view what) {
  if (value.kind() != JsonValue::Kind::kString) throw_input_error("{} must be text, not {}", what, value.kind_name());
  return value.text();
}

const std::vector<JsonValue>& json_array(const JsonValue& value, std::string_view what, std::size_t size) {
  if (value.kind() != JsonValue::Kind::kArray) throw_input_error("{} must be a list, not {}", what, value.kind_name());
  if (size != 0 && value.items().size() != size) {
    throw_input_error("{} must be a list of {} items, not of {}", what, size, value.items().size());
  }
  return value.items();
}

JsonFields::JsonFields(const JsonValue& object, std::string_view context) : object_(object), context_(context) {
  if (object.kind() != JsonValue::Kind::kObject) {
    throw_input_error("{} must be an object, not {}", context_, object.kind_name());
  }
}

const JsonValue* JsonFields::find(std::string_view key) {
  asked_.push_back(key);
  for (const auto& [name, value] : object_.members()) {
    if (name == key) return &value;
  }
  return nullptr;
}

// A key that looks like the missing one and was not asked for.
std::string JsonFields::misspelt_hint(std::string_view key) const {
  std::vector<std::string_view> others;
  for (const auto& [name, value] : object_.members()) {
    if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) others.emplace_back(name);
  }
  const std::string_view nearest = uvmsim::nearest_name(key, others);
  return nearest.empty() ? "" : fmt::format("; is '{}' meant to be it?", printable(nearest));
}

const JsonValue& JsonFields::require(std::string_view key) {
  const JsonValue* value = find(key);
  if (value == nullptr) throw_input_error("{}: key '{}' is missing{}", context_, key, misspelt_hint(key));
  return *value;
}

namespace {

// Names the value only when it is wrong.
std::uint64_t checked_integer(const JsonValue& value, const std::string& context, std::string_view key,
                              std::uint64_t max) {
  if (value.kind() == JsonValue::Kind::kInteger && !value.negative() && value.magnitude() <= max) {
    return value.magnitude();
  }
  return json_integer(value, fmt::format("{}: '{}'", context, key), max);
}

}  // namespace

std::uint64_t JsonFields::integer(std::string_view key, std::uint64_t otherwise, std::uint64_t max) {
  const JsonValue* value = find(key);
  return value == nullptr ? otherwise : checked_integer(*value, context_, key, max);
}

std::uint64_t JsonFields::required_integer(std::string_view key, std::uint64_t max) {
  return checked_integer(require(key), context_, key, max);
}

std::int64_t JsonFields::signed_integer(std::string_view key, std::int64_t otherwise, std::int64_t min,
                                        std::int64_t max) {
  const JsonValue* value = find(key);
  return value == nullptr ? otherwise : json_signed_integer(*value, fmt::format("{}: '{}'", context_, key), min, max);
}

bool JsonFields::boolean(std::string_view key, bool otherwise) {
  const JsonValue* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->kind() != JsonValue::Kind::kBoolean) {
    throw_input_error("{}: '{}' must be true or false, not {}", context_, key, value->kind_name());
  }
  return value->boolean();
}

std::string JsonFields::text(std::string_view key) {
  const JsonValue* value = find(key);
  return value == nullptr ? std::string() : json_text(*value, fmt::format("{}: '{}'", context_, key));
}

void JsonFields::finish() const {
  for (const auto& [name, value] : object_.members()) {
    if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
      throw_input_error("{}: unknown key '{}'{}", context_, printable(name), allowed_hint(name, asked_));
    }
  }
}

}  // namespace uvmsim::trace
