// SPDX-License-Identifier: Apache-2.0
// A value of a JSON file with its place, read strictly: an unexpected value throws InputError, one line with file, JSON
// pointer and allowed values: "FILE: /tables/rows/0: "six" is not allowed; allowed: 1 to 4096".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "sim/formats/json.h"

namespace uvmsim {

class JsonValue {
 public:
  using Json = nlohmann::ordered_json;

  // `json` must outlive this value and all values derived from it. `origin` starts messages: the file, as the user
  // named it.
  JsonValue(const Json& json, std::string origin, std::string pointer = "")
      : json_(&json), origin_(std::move(origin)), pointer_(std::move(pointer)) {}

  const Json& json() const { return *json_; }
  const std::string& origin() const { return origin_; }
  const std::string& pointer() const { return pointer_; }
  // The folder that paths in the file are relative to.
  std::filesystem::path folder() const { return std::filesystem::path(origin_).parent_path(); }
  // Returns "FILE: /tables/rows", and "FILE: /" for the whole; with a key the place of a member, present or not.
  std::string where() const;
  std::string where(std::string_view key) const;

  // Throws "WHERE: VALUE is not allowed; allowed: ...".
  [[noreturn]] void refuse(std::string_view allowed) const;
  // Throws "WHERE: ...".
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw_input_error("{}: {}", where(), fmt::format(format, std::forward<Args>(args)...));
  }

  // For objects.
  void check_object() const;
  // Refuses an object with other keys than these.
  void check_keys(const std::vector<std::string>& allowed) const;
  bool has(std::string_view key) const { return json_->is_object() && json_->contains(key); }
  std::optional<JsonValue> find(std::string_view key) const;  // nothing when absent
  JsonValue at(std::string_view key) const;                   // refuses an object without it
  std::vector<std::pair<std::string, JsonValue>> members() const;

  // Returns the items of a list, which must not be empty unless `least` is 0. `allowed` describes it in messages.
  std::vector<JsonValue> items(std::string_view allowed, std::size_t least = 1, std::size_t most = SIZE_MAX) const;
  // Returns the elements of a list, or the value itself if it is not a list.
  std::vector<JsonValue> one_or_items() const;

  bool boolean() const;
  std::uint64_t integer(std::uint64_t least = 0, std::uint64_t most = UINT64_MAX) const;
  // Returns a number with up to three decimals in thousandths.
  std::uint32_t thousandths(std::uint32_t most) const;
  std::string text() const;
  std::string filled_text(std::string_view allowed) const;  // not empty
  std::string line() const;                                 // no control characters; may be empty
  // Returns its index among `words`.
  std::size_t word(const std::vector<std::string>& words) const;

 private:
  const Json* json_;
  std::string origin_;
  std::string pointer_;
};

}  // namespace uvmsim
