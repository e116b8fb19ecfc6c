// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/json.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/file_roles.h"
#include "sim/formats/printable.h"

namespace uvmsim {
namespace {

using nlohmann::ordered_json;

std::string read_text(const std::string& name, std::size_t largest) {
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored)) throw_input_error("{}: is a directory, not a JSON file", name);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "rb"), &std::fclose);
  if (!file) throw_input_error("{}: cannot be opened: {}", name, std::generic_category().message(errno));
  note_input(name, fileno(file.get()));
  std::string text;
  char chunk[1 << 16];
  while (text.size() <= largest) {
    const std::size_t got = std::fread(chunk, 1, sizeof chunk, file.get());
    if (got == 0) break;
    text.append(chunk, got);
  }
  if (std::ferror(file.get()) != 0) {
    throw_input_error("{}: cannot be read: {}", name, std::generic_category().message(errno));
  }
  if (text.size() > largest) throw_input_error("{}: is larger than {} MiB", name, largest >> 20);
  return text;
}

// The library's messages start with "[json.exception.parse_error.101] parse error at line 1, column 2: ".
std::string without_exception_id(const std::string& message) {
  const std::size_t end = message.find("] ");
  return end == std::string::npos ? message : message.substr(end + 2);
}

// Builds the tree from the parser's events; a plain parse would silently keep one of the values of a repeated key.
class StrictTree {
 public:
  // `file` is null for a line, which has limits of its own.
  explicit StrictTree(const std::string* file) : file_(file) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return value < 0 ? add(value) : add(static_cast<std::uint64_t>(value)); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(ordered_json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(ordered_json::value_t::object); }
  bool start_array(std::size_t) { return open(ordered_json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(const std::string& name) {
    if (!members(*open_.back()).emplace(name, nullptr).second) refuse_second(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    if (file_ == nullptr) throw_input_error("not valid JSON at character {}", position);
    throw_input_error("{}: is not JSON: {}", *file_, without_exception_id(error.what()));
  }

  ordered_json parsed(std::string_view text) {
    ordered_json::sax_parse(text.begin(), text.end(), this);
    return std::move(root_);
  }

 private:
  template <class Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }
  template <class Value>
  ordered_json& place(Value&& value) {
    // Values take far more memory than their text.
    if (file_ == nullptr && ++values_ > kMaxJsonLineValues) {
      throw_input_error("more than {} values in one line", kMaxJsonLineValues);
    }
    if (open_.empty()) return root_ = std::forward<Value>(value);
    ordered_json& parent = *open_.back();
    if (parent.is_array()) return parent.get_ref<ordered_json::array_t&>().emplace_back(std::forward<Value>(value));
    return members(parent).back().second = std::forward<Value>(value);
  }
  bool open(ordered_json::value_t kind) {
    if (file_ == nullptr && open_.size() == kMaxJsonLineDepth) {
      throw_input_error("JSON nested deeper than {} levels", kMaxJsonLineDepth);
    }
    // The pointer is valid while the value is open: siblings are only added after it is closed.
    open_.push_back(&place(kind));
    ordered_json& opened = *open_.back();
    if (auto* items = opened.get_ptr<ordered_json::array_t*>()) items->reserve(kUsualItems);
    // A growing list of members copies their values, and the values of a line's own object are long.
    if (open_.size() == 1 && opened.is_object()) members(opened).reserve(kUsualMembers);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  [[noreturn]] void refuse_second(const std::string& key) const {
    if (file_ == nullptr) throw_input_error("key '{}' is given twice", printable(key));
    std::string pointer;
    for (auto* parent : std::span(open_).first(open_.size() - 1)) {
      pointer +=
          "/" + (parent->is_array() ? std::to_string(parent->size() - 1) : printable(members(*parent).back().first));
    }
    throw_input_error("{}: {}/{}: the key is there twice", *file_, pointer, printable(key));
  }
  static ordered_json::object_t& members(ordered_json& object) { return object.get_ref<ordered_json::object_t&>(); }

  static constexpr std::size_t kUsualMembers = 24, kUsualItems = 3;

  const std::string* file_;
  ordered_json root_;
  std::size_t values_ = 0;
  std::vector<ordered_json*> open_;
};

}  // namespace

bool nested_too_deep(std::string_view json) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if ((c == ']' || c == '}') && depth != 0) {
      --depth;
    }
  }
  return false;
}

ordered_json read_json_file(const std::filesystem::path& path, std::size_t largest_bytes) {
  const std::string name = path.string();
  const std::string text = read_text(name, largest_bytes);
  if (nested_too_deep(text)) throw_input_error("{}: is nested deeper than {} levels", name, kMaxJsonDepth);
  return StrictTree(&name).parsed(text);
}

ordered_json parse_json_line(std::string_view text) { return StrictTree(nullptr).parsed(text); }

nlohmann::ordered_json parse_json(std::string_view text, const std::string& where) {
  auto json = parse_or_discard<nlohmann::ordered_json>(text);
  if (json.is_discarded()) throw_input_error("{}: is not JSON", where);
  return json;
}

std::string json_kind(const ordered_json& value) {
  if (value.is_null()) return "null";
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return "a string";
  if (value.is_boolean()) return "true or false";
  return value.is_number_float() ? "a number with a fraction or exponent" : "an integer";
}

std::string json_excerpt(const ordered_json& value) {
  return printable(value.dump(-1, ' ', true, ordered_json::error_handler_t::replace));
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string as_utf8(std::string_view text) { return nlohmann::json::parse(json_text(text)).get<std::string>(); }

}  // namespace uvmsim
