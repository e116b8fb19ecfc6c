// SPDX-License-Identifier: Apache-2.0
// The text of a source file as the compiler sees it: without comments, without white space that has no effect, and
// without `#include` and `#pragma once` (an included file is a file of its own).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace uvmsim::sweep {

class Meaning {
 public:
  static std::string of(std::string_view source) { return Meaning(source).read(); }

 private:
  explicit Meaning(std::string_view source) : source_(source) {}

  std::string read() {
    while (at_ < source_.size()) {
      if (starts_with("//")) {
        at_ = std::min(source_.find('\n', at_), source_.size());
        space_ = true;
      } else if (starts_with("/*")) {
        const std::size_t end = source_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? source_.size() : end + 2;
        space_ = true;
      } else if (source_[at_] == '\n') {
        end_line();
      } else if (is_space(source_[at_]) || starts_with("\\\n")) {
        at_ += source_[at_] == '\\' ? 2 : 1;
        space_ = true;
      } else {
        read_token();
      }
    }
    end_line();
    return std::move(out_);
  }

  void end_line() {
    if (in_directive_) {
      const std::string_view line = std::string_view(out_).substr(directive_);
      if (line.starts_with("#include") || line == "#pragma once") {
        out_.resize(directive_);
      } else {
        out_ += '\n';
      }
    }
    in_directive_ = false;
    line_begins_ = true;
    space_ = true;
    ++at_;
  }

  void read_token() {
    const char c = source_[at_];
    if (c == '#' && line_begins_) {
      if (!out_.empty() && out_.back() != '\n') out_ += '\n';
      in_directive_ = true;
      directive_ = out_.size();
      space_ = false;
    }
    line_begins_ = false;
    if (space_ && space_matters(c)) out_ += ' ';
    space_ = false;
    if (c == '"') return copy_text();
    if (c == '\'') return copy_to_end('\'');
    if (!is_word(c)) {
      out_ += c;
      ++at_;
      return;
    }
    // A word or a number, which may have digit separators: 1'000.
    const bool number = c >= '0' && c <= '9';
    for (; at_ < source_.size(); ++at_) {
      const char next = source_[at_];
      const bool apart = number && next == '\'' && at_ + 1 < source_.size() && is_word(source_[at_ + 1]);
      if (!is_word(next) && !apart) break;
      out_ += next;
    }
  }

  // Copies a literal: "text", or R"x(text)x".
  void copy_text() {
    if (out_.empty() || out_.back() != 'R') return copy_to_end('"');
    const std::size_t open = source_.find('(', at_);
    if (open == std::string_view::npos) return copy_to_end('"');
    const std::string close = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t end = source_.find(close, open);
    const std::size_t behind = end == std::string_view::npos ? source_.size() : end + close.size();
    out_ += source_.substr(at_, behind - at_);
    at_ = behind;
  }

  void copy_to_end(char quote) {
    out_ += source_[at_++];
    while (at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n') {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) out_ += source_[at_++];
      out_ += source_[at_++];
    }
    if (at_ < source_.size() && source_[at_] == quote) out_ += source_[at_++];
  }

  // Returns whether space before `next` matters: always within a directive, otherwise if two tokens would become one.
  bool space_matters(char next) const {
    if (out_.empty() || out_.back() == '\n') return false;
    if (in_directive_) return true;
    const char last = out_.back();
    return (is_word(last) && is_word(next)) || (is_operator(last) && is_operator(next));
  }

  bool starts_with(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  }
  static bool is_operator(char c) { return std::string_view("+-*/%&|^<>=!:.?~").find(c) != std::string_view::npos; }

  std::string_view source_;
  std::size_t at_ = 0;
  std::string out_;
  bool space_ = false, line_begins_ = true, in_directive_ = false;
  std::size_t directive_ = 0;  // its begin in out_
};

}  // namespace uvmsim::sweep
