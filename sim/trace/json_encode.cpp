// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/common/error.h"
#include "sim/trace/json_codec.h"
#include "sim/trace/names.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

namespace {

void append_text(std::string_view text, std::string& out) {
  if (!is_utf8(text)) throw_input_error("'{}' is not UTF-8", printable(text));
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

// Writes [a, b, ...]: one item of a list.
class PartWriter {
 public:
  static constexpr bool kConstant = true;

  explicit PartWriter(std::string& out) : out_(out) { out_ += '['; }
  ~PartWriter() { out_ += ']'; }
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  void number(std::string_view, std::uint64_t value) { fmt::format_to(next(), "{}", value); }
  void quantum(std::string_view what, std::uint64_t value) { number(what, value); }
  void mode(AccessMode mode) { fmt::format_to(next(), "\"{}\"", kAccessModeNames.at(static_cast<std::size_t>(mode))); }
  void text(std::string_view, std::string_view value) {
    next();
    append_text(value, out_);
  }
  template <class Items>
  void list(std::string_view, const Items& items) {
    next();
    append_list(items, out_);
  }

  template <class Items>
  static void append_list(const Items& items, std::string& out) {
    out += '[';
    bool first = true;
    for (const auto& item : items) {
      if (!first) out += ',';
      first = false;
      PartWriter part(out);
      parts(part, item);
    }
    out += ']';
  }

 private:
  std::back_insert_iterator<std::string> next() {
    if (!first_) out_ += ',';
    first_ = false;
    return std::back_inserter(out_);
  }

  std::string& out_;
  bool first_ = true;
};

// Writes one record.
class FieldWriter {
 public:
  static constexpr bool kConstant = true;

  FieldWriter(std::string& out, std::string_view type) : out_(out) {
    fmt::format_to(std::back_inserter(out_), "{{\"t\":\"{}\"", type);
  }
  ~FieldWriter() { out_ += "}\n"; }
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;

  template <class Integer>
  void number(std::string_view key, Integer value, Presence presence, std::string_view) {
    if (presence != Presence::kOptional || value != 0) fmt::format_to(begin(key), "{}", value);
  }
  void stream(std::uint32_t value) { number("stream", value, Presence::kOptional, ""); }
  void time(std::string_view key, std::int64_t value, Presence presence, std::string_view meaning) {
    number(key, value, presence, meaning);
  }
  void signed_time(std::string_view key, std::int64_t value, std::string_view meaning) {
    number(key, value, Presence::kOptional, meaning);
  }
  void device(std::string_view key, std::int32_t value, std::int32_t, Presence presence, std::string_view meaning) {
    number(key, value, presence, meaning);
  }
  void flag(std::string_view key, bool value, bool usual, std::string_view) {
    if (value != usual) fmt::format_to(begin(key), "{}", value);
  }
  template <class Enum>
  void name(std::string_view key, Enum value, Presence presence, std::string_view meaning) {
    if (presence != Presence::kOptional || static_cast<std::size_t>(value) != 0) {
      text(key, names_of(value).at(static_cast<std::size_t>(value)), Presence::kWritten, meaning);
    }
  }
  void text(std::string_view key, std::string_view value, Presence presence, std::string_view) {
    if (presence != Presence::kOptional || !value.empty()) {
      begin(key);
      append_text(value, out_);
    }
  }
  void dimensions(std::string_view key, const Dim3& d, std::string_view) {
    fmt::format_to(begin(key), "[{},{},{}]", d.x, d.y, d.z);
  }
  void place(std::string_view key, std::string_view, const CopyEnd& end, std::string_view) {
    if (end.object != kNoObject || end.offset != 0) fmt::format_to(begin(key), "[{},{}]", end.object, end.offset);
  }
  template <class Items>
  void list(std::string_view key, const Items& items, Presence presence, std::string_view) {
    if (presence != Presence::kOptional || !items.empty()) {
      begin(key);
      PartWriter::append_list(items, out_);
    }
  }
  void end_of_version(const Header&) {}

 private:
  std::back_insert_iterator<std::string> begin(std::string_view key) {
    return fmt::format_to(std::back_inserter(out_), ",\"{}\":", key);
  }

  std::string& out_;
};

}  // namespace

void append_json(const Header& header, std::string& out) {
  FieldWriter writer(out, "header");
  fields(writer, header);
}

void append_json(const Record& record, std::string& out) {
  FieldWriter writer(out, record_type_name(record));
  std::visit([&writer](const auto& alternative) { fields(writer, alternative); }, record);
}

}  // namespace uvmsim::trace
