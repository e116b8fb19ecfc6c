// SPDX-License-Identifier: Apache-2.0
// Builds one line of an event log: {"t":"alloc","va":4096}. No dependencies, no floating point.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace uvmtrace {

class JsonLine {
 public:
  explicit JsonLine(std::string_view type) {
    line_.reserve(kTypicalBytes);
    line_ += '{';
    text("t", type);
  }

  JsonLine& text(std::string_view key, std::string_view value) {
    put_key(key);
    put_text(value);
    return *this;
  }
  template <typename Integer>
  JsonLine& number(std::string_view key, Integer value) {
    static_assert(std::is_integral_v<Integer>);
    put_key(key);
    put_number(value);
    return *this;
  }
  JsonLine& boolean(std::string_view key, bool value) {
    put_key(key);
    line_ += value ? "true" : "false";
    return *this;
  }

  // Begins a list, which may be nested: begin_list("grid").item(1).item(2).end_list(); inner lists: begin_list().
  JsonLine& begin_list(std::string_view key) {
    put_key(key);
    line_ += '[';
    return *this;
  }
  JsonLine& begin_list() {
    put_comma();
    line_ += '[';
    return *this;
  }
  JsonLine& end_list() {
    line_ += ']';
    return *this;
  }
  template <typename Integer>
  JsonLine& item(Integer value) {
    static_assert(std::is_integral_v<Integer>);
    put_comma();
    put_number(value);
    return *this;
  }
  JsonLine& text_item(std::string_view value) {
    put_comma();
    put_text(value);
    return *this;
  }

  // Returns the finished line with its newline. The builder must not be used afterwards.
  std::string finish() {
    line_ += "}\n";
    return std::move(line_);
  }

 private:
  void put_comma() {
    const char last = line_.back();
    if (last != '[' && last != '{') line_ += ',';
  }
  void put_key(std::string_view key) {
    put_comma();
    line_ += '"';
    line_ += key;
    line_ += "\":";
  }
  template <typename Integer>
  void put_number(Integer value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    line_.append(digits, end);
  }
  // Bytes above 0x7f are kept: names are UTF-8 or other bytes of the program.
  void put_text(std::string_view value) {
    static constexpr char kHex[] = "0123456789abcdef";
    line_ += '"';
    std::size_t plain = 0;  // begin of the text that needs no escape; kernel names are long and usually need none
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto byte = static_cast<unsigned char>(value[i]);
      if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
      line_.append(value, plain, i - plain);
      plain = i + 1;
      line_ += '\\';
      if (byte >= 0x20) {
        line_ += value[i];
      } else {
        line_ += "u00";
        line_ += kHex[byte >> 4];
        line_ += kHex[byte & 15];
      }
    }
    line_.append(value, plain);
    line_ += '"';
  }

  static constexpr std::size_t kTypicalBytes = 384;  // one allocation is enough for nearly every line
  std::string line_;
};

}  // namespace uvmtrace
