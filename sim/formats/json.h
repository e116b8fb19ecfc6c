// SPDX-License-Identifier: Apache-2.0
// Reads JSON files strictly, and parses JSON text from untrusted sources.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace uvmsim {

// The deepest nesting of JSON from untrusted sources. Walking, copying or freeing a tree of values recurses once per
// level, so the depth is checked before a tree is built. The deepest file of this project, a result, has 8.
inline constexpr std::size_t kMaxJsonDepth = 64;

// Returns whether brackets outside of strings are ever nested deeper than kMaxJsonDepth; correct for all valid JSON.
bool nested_too_deep(std::string_view json);

inline constexpr std::size_t kLargestJsonFile = std::size_t{4} << 20;

// Throws InputError naming the file when it cannot be read, is larger than `largest_bytes`, is not JSON (with line and
// column) or has a key twice in one object (with its JSON pointer). The order of keys is kept.
nlohmann::ordered_json read_json_file(const std::filesystem::path& path, std::size_t largest_bytes = kLargestJsonFile);

// Parses one line of a file of JSON lines, whose lists may be long. Throws InputError (without the place; the caller
// adds it) for text that is not one JSON value, for a repeated key, and beyond these limits. No record is nested that
// deeply, and values (numbers, texts, lists, objects) take far more memory than their text. The order of keys is kept;
// integers of 64 bits are exact, larger ones become fractions.
inline constexpr std::size_t kMaxJsonLineDepth = 16;
inline constexpr std::size_t kMaxJsonLineValues = 12000000;
nlohmann::ordered_json parse_json_line(std::string_view text);

// Returns a discarded value for text that is not JSON or is nested deeper than kMaxJsonDepth.
template <class Json>
Json parse_or_discard(std::string_view text) {
  return nested_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

// Throws InputError "WHERE: is not JSON" for text that parse_or_discard() discards.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& where);

// Names the kind of a value for messages: "a string", "an array".
std::string json_kind(const nlohmann::ordered_json& value);

// Formats the value itself for messages, on one line and cut when long.
std::string json_excerpt(const nlohmann::ordered_json& value);

// Formats one string as JSON, quoted and escaped. Bytes that are not UTF-8 become U+FFFD, so that output is JSON
// whatever names a trace holds.
std::string json_text(std::string_view text);
// Returns the same text as UTF-8.
std::string as_utf8(std::string_view text);

}  // namespace uvmsim
