// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/json.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
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

// Follows the parser through the document to find keys that an object has twice, of which a plain parse would silently
// keep the last.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(const std::string& file) : file_(file) {}

  void see(ordered_json::parse_event_t event, const ordered_json& parsed) {
    switch (event) {
      case ordered_json::parse_event_t::object_start:
        open_.push_back({{}, "", -1});
        break;
      case ordered_json::parse_event_t::array_start:
        open_.push_back({{}, "", 0});
        break;
      case ordered_json::parse_event_t::object_end:
      case ordered_json::parse_event_t::array_end:
        open_.pop_back();
        finish_value();
        break;
      case ordered_json::parse_event_t::value:
        finish_value();
        break;
      case ordered_json::parse_event_t::key:
        open_.back().key = parsed.get<std::string>();
        if (!open_.back().keys.insert(open_.back().key).second) {
          throw_input_error("{}: {}: the key is there twice", file_, pointer());
        }
        break;
    }
  }

 private:
  struct Container {
    std::set<std::string> keys;
    std::string key;  // the current one
    int index;        // of the current element; -1 in objects
  };

  void finish_value() {
    if (!open_.empty() && open_.back().index >= 0) ++open_.back().index;
  }
  std::string pointer() const {
    std::string path;
    for (const Container& container : open_) {
      path += "/" + (container.index < 0 ? printable(container.key) : std::to_string(container.index));
    }
    return path;
  }

  const std::string& file_;
  std::vector<Container> open_;
};

// The library's messages start with "[json.exception.parse_error.101] parse error at line 1, column 2: ".
std::string without_exception_id(const std::string& message) {
  const std::size_t end = message.find("] ");
  return end == std::string::npos ? message : message.substr(end + 2);
}

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
  DuplicateKeys duplicates(name);
  try {
    return ordered_json::parse(text, [&](int, ordered_json::parse_event_t event, ordered_json& parsed) {
      duplicates.see(event, parsed);
      return true;
    });
  } catch (const ordered_json::exception& error) {
    throw_input_error("{}: is not JSON: {}", name, without_exception_id(error.what()));
  }
}

nlohmann::ordered_json parse_json(std::string_view text, const std::string& where) {
  auto json = parse_or_discard<nlohmann::ordered_json>(text);
  if (json.is_discarded()) throw_input_error("{}: is not JSON", where);
  return json;
}

std::string json_kind(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::null:
      return "null";
    case ordered_json::value_t::object:
      return "an object";
    case ordered_json::value_t::array:
      return "an array";
    case ordered_json::value_t::string:
      return "a string";
    case ordered_json::value_t::boolean:
      return "true or false";
    case ordered_json::value_t::number_float:
      return "a number with a fraction or exponent";
    default:
      return "an integer";
  }
}

std::string json_excerpt(const ordered_json& value) {
  return printable(value.dump(-1, ' ', true, ordered_json::error_handler_t::replace));
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace uvmsim
