// SPDX-License-Identifier: Apache-2.0
// One line of JSON as a small tree that keeps what a strict reader needs: exact integers, the order of keys, and an
// error for keys given twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace uvmsim::trace {

// 24 bytes for a number: lists of extents are long.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { kNull, kBoolean, kInteger, kFraction, kString, kArray, kObject };
  using Member = std::pair<std::string, JsonValue>;

  JsonValue() = default;
  static JsonValue of_boolean(bool value) { return {Kind::kBoolean, false, value ? 1u : 0u}; }
  static JsonValue of_integer(bool negative, std::uint64_t magnitude) { return {Kind::kInteger, negative, magnitude}; }
  static JsonValue of_text(Kind kind, std::string text);  // kString, or kFraction as written
  static JsonValue of_parts(Kind kind);                   // kArray or kObject, empty

  Kind kind() const { return kind_; }
  std::string_view kind_name() const;  // "an integer", "text", ... for messages

  bool boolean() const { return magnitude_ != 0; }
  bool negative() const { return negative_; }  // of an integer
  std::uint64_t magnitude() const { return magnitude_; }
  const std::string& text() const { return parts_->text; }  // kString, kFraction
  // kArray and kObject
  const std::vector<JsonValue>& items() const { return parts_->items; }
  const std::vector<Member>& members() const { return parts_->members; }
  std::vector<JsonValue>& items() { return parts_->items; }
  std::vector<Member>& members() { return parts_->members; }

 private:
  struct Parts {
    std::string text;
    std::vector<JsonValue> items;
    std::vector<Member> members;
  };

  JsonValue(Kind kind, bool negative, std::uint64_t magnitude)
      : kind_(kind), negative_(negative), magnitude_(magnitude) {}

  Kind kind_ = Kind::kNull;
  bool negative_ = false;
  std::uint64_t magnitude_ = 0;
  std::unique_ptr<Parts> parts_;
};

// Throws InputError (without the place; the caller adds it) for text that is not one JSON value, for a key given twice,
// and for nesting deeper than any record has.
JsonValue parse_json(std::string_view text);

// The members of one JSON object, read by key. Every key must be asked for: finish() refuses the others.
class JsonFields {
 public:
  // `context` names the object in messages, such as "kernel".
  JsonFields(const JsonValue& object, std::string_view context);

  const JsonValue* find(std::string_view key);     // null when absent
  const JsonValue& require(std::string_view key);  // throws InputError when absent

  std::uint64_t integer(std::string_view key, std::uint64_t otherwise, std::uint64_t max = UINT64_MAX);
  std::uint64_t required_integer(std::string_view key, std::uint64_t max = UINT64_MAX);
  std::int64_t signed_integer(std::string_view key, std::int64_t otherwise, std::int64_t min, std::int64_t max);
  bool boolean(std::string_view key, bool otherwise);
  std::string text(std::string_view key);  // empty when absent

  // Throws InputError naming the first key that was not asked for, and the allowed ones.
  void finish() const;

  const std::string& context() const { return context_; }

 private:
  std::string misspelt_hint(std::string_view key) const;

  const JsonValue& object_;
  std::string context_;
  std::vector<std::string_view> asked_;
};

// `value` as an integer of [0, max]; `what` names it in messages.
std::uint64_t json_integer(const JsonValue& value, std::string_view what, std::uint64_t max = UINT64_MAX);
std::int64_t json_signed_integer(const JsonValue& value, std::string_view what, std::int64_t min, std::int64_t max);
const std::string& json_text(const JsonValue& value, std::string_view what);
// `value` as an array; of exactly `size` items when size is not 0.
const std::vector<JsonValue>& json_array(const JsonValue& value, std::string_view what, std::size_t size = 0);

}  // namespace uvmsim::trace
