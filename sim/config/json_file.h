// JSON files, read strictly.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace uvmsim::config {

inline constexpr std::size_t kLargestJsonFile = std::size_t{4} << 20;

// Throws InputError naming the file when it cannot be read, is larger than `largest_bytes`, is not JSON (with line and
// column) or has a key twice in one object (with its JSON pointer). Key order is that of the file.
nlohmann::ordered_json read_json_file(const std::filesystem::path& path, std::size_t largest_bytes = kLargestJsonFile);

// What a value is, for messages: "a string", "an array".
std::string json_kind(const nlohmann::ordered_json& value);

// The value itself for messages, on one line and cut when long.
std::string json_excerpt(const nlohmann::ordered_json& value);

}  // namespace uvmsim::config
