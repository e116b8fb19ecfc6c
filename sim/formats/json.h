// SPDX-License-Identifier: Apache-2.0
// JSON of files, read strictly, and JSON text from elsewhere.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace uvmsim {

// How deep JSON from elsewhere may be nested. Whoever walks, copies or frees a tree of values calls itself once a
// level, so that the depth is known before there is a tree. The deepest file of ours, a result, has 8.
inline constexpr std::size_t kMaxJsonDepth = 64;

// Whether brackets outside of strings are ever more than kMaxJsonDepth deep; right for all text that is JSON.
bool nested_too_deep(std::string_view json);

inline constexpr std::size_t kLargestJsonFile = std::size_t{4} << 20;

// Throws InputError naming the file when it cannot be read, is larger than `largest_bytes`, is not JSON (with line and
// column) or has a key twice in one object (with its JSON pointer). Key order is that of the file.
nlohmann::ordered_json read_json_file(const std::filesystem::path& path, std::size_t largest_bytes = kLargestJsonFile);

// One line of a file of JSON lines, where lists are long. Throws InputError (without the place; the caller adds it) for
// text that is not one JSON value, for a key given twice, and beyond these bounds: of records none is as deep, and
// values (numbers, texts, lists, objects) take far more memory than their text. Key order is that of the text; integers
// of 64 bits are exact, larger ones are fractions.
inline constexpr std::size_t kMaxJsonLineDepth = 16;
inline constexpr std::size_t kMaxJsonLineValues = 12000000;
nlohmann::ordered_json parse_json_line(std::string_view text);

// A discarded value for what is not JSON or is nested deeper than kMaxJsonDepth.
template <class Json>
Json parse_or_discard(std::string_view text) {
  return nested_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

// Throws InputError "WHERE: is not JSON" for what parse_or_discard() discards.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& where);

// What a value is, for messages: "a string", "an array".
std::string json_kind(const nlohmann::ordered_json& value);

// The value itself for messages, on one line and cut when long.
std::string json_excerpt(const nlohmann::ordered_json& value);

// One string as JSON, quoted and escaped. Bytes that are not UTF-8 become U+FFFD: names in a trace may hold anything,
// output is always JSON.
std::string json_text(std::string_view text);
// The same text, all of it UTF-8.
std::string as_utf8(std::string_view text);

}  // namespace uvmsim
