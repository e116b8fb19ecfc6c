// SPDX-License-Identifier: Apache-2.0
// Reads values of JSON lines strictly: an unexpected value throws InputError (without the place; the caller adds it)
// that names the value and the allowed ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/json.h"

namespace uvmsim {

// Names the kind of a value for messages: "text", "a list".
std::string_view json_line_kind(const nlohmann::ordered_json& value);

// Returns `value` as an integer of [0, max]; `what` names it in messages.
std::uint64_t json_integer(const nlohmann::ordered_json& value, std::string_view what, std::uint64_t max = UINT64_MAX);
std::int64_t json_signed_integer(const nlohmann::ordered_json& value, std::string_view what, std::int64_t min,
                                 std::int64_t max);
const std::string& json_text(const nlohmann::ordered_json& value, std::string_view what);
// Returns `value` as an array; of exactly `size` items if size is not 0.
const std::vector<nlohmann::ordered_json>& json_array(const nlohmann::ordered_json& value, std::string_view what,
                                                      std::size_t size = 0);

// The members of one JSON object, read by key. Every key must be read: finish() refuses the others.
class JsonFields {
 public:
  using Json = nlohmann::ordered_json;

  // `context` names the object in messages, such as "kernel".
  JsonFields(const Json& object, std::string_view context);

  const Json* find(std::string_view key);     // null when absent
  const Json& require(std::string_view key);  // throws InputError when absent

  std::uint64_t integer(std::string_view key, std::uint64_t otherwise, std::uint64_t max = UINT64_MAX);
  std::uint64_t required_integer(std::string_view key, std::uint64_t max = UINT64_MAX);
  std::int64_t signed_integer(std::string_view key, std::int64_t otherwise, std::int64_t min, std::int64_t max);
  bool boolean(std::string_view key, bool otherwise);
  std::string text(std::string_view key);  // empty when absent

  // Returns the keys that were not read, in the order of the object.
  std::vector<std::string_view> unasked() const;
  // Throws InputError naming the first unread key, and the allowed ones.
  void finish() const;

  const std::string& context() const { return context_; }
  std::string place_of(std::string_view key) const;  // "kernel: 'grid'", for messages

 private:
  std::string misspelt_hint(std::string_view key) const;

  const Json::object_t& members_;
  std::string context_;
  std::vector<std::string_view> asked_;
};

}  // namespace uvmsim
