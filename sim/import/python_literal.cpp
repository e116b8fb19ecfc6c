// SPDX-License-Identifier: Apache-2.0
#include "sim/import/python_literal.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

#include "sim/common/error.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"

namespace uvmsim::trace {

namespace {

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view rest) : rest_(rest) {}

  nlohmann::json whole() {
    nlohmann::json out = value(0);
    skip();
    if (!rest_.empty()) refuse();
    return out;
  }

 private:
  [[noreturn]] void refuse() const { throw_input_error("'{}' is no value of Python", printable(rest_.substr(0, 40))); }
  void skip() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  bool take(char wanted) {
    skip();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  nlohmann::json value(std::size_t depth) {
    if (depth > kMaxJsonDepth) throw_input_error("nested too deep");
    if (take('[')) return items(']', depth);
    if (take('(')) return items(')', depth);
    if (take('\'')) return text('\'');
    if (take('"')) return text('"');
    return word();
  }

  nlohmann::json items(char end, std::size_t depth) {
    nlohmann::json list = nlohmann::json::array();
    while (!take(end)) {
      if (!list.empty() && !take(',')) refuse();
      if (take(end)) break;  // a comma after the last item
      list.push_back(value(depth + 1));
    }
    return list;
  }

  std::string text(char quote) {
    std::string out;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return out;
      }
      if (rest_[i] == '\\' && ++i == rest_.size()) break;
      out += rest_[i];
    }
    refuse();
  }

  nlohmann::json word() {
    const std::size_t length = std::min(rest_.find_first_of(" \n\t,[]()'\""), rest_.size());
    const std::string_view text = rest_.substr(0, length);
    if (text.empty()) refuse();
    rest_.remove_prefix(length);
    if (text == "None") return nullptr;
    if (text == "True") return true;
    if (text == "False") return false;
    const char* end = text.data() + text.size();
    std::uint64_t natural = 0;
    if (const auto [at, error] = std::from_chars(text.data(), end, natural); error == std::errc() && at == end) {
      return natural;
    }
    std::int64_t integer = 0;
    if (const auto [at, error] = std::from_chars(text.data(), end, integer); error == std::errc() && at == end) {
      return integer;
    }
    double real = 0;
    if (const auto [at, error] = std::from_chars(text.data(), end, real); error == std::errc() && at == end) {
      return real;
    }
    return std::string(text);
  }

  std::string_view rest_;
};

}  // namespace

nlohmann::json read_python_literal(std::string_view text) { return LiteralReader(text).whole(); }

}  // namespace uvmsim::trace
