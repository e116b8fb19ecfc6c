// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/point_files.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sim/common/atomic_file.h"
#include "sim/common/sha256.h"
#include "sim/formats/json.h"

namespace uvmsim::sweep {
namespace {

using nlohmann::json;

constexpr std::size_t kHashDigits = 64;

bool is_id(std::string_view text) {
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Returns nothing when there is no such file, or no regular file of that name.
std::optional<std::string> read_if_there(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

}  // namespace

PointFiles::PointFiles(const std::string& folder) : folder_(std::filesystem::path(folder) / "points") {}

std::string PointFiles::result_path(const std::string& id) const { return (folder_ / (id + ".json")).string(); }
std::string PointFiles::error_path(const std::string& id) const { return (folder_ / (id + ".error.json")).string(); }

std::optional<std::string> PointFiles::result(const std::string& id) const {
  const auto text = read_if_there(result_path(id));
  if (!text) return std::nullopt;
  // Compared byte by byte, so that a foreign file does not reach the JSON parser.
  const std::string before = fmt::format(R"({{"id":"{}","sha256":")", id);
  constexpr std::string_view kBetween = R"(","result":)", kAfter = "}\n";
  const std::size_t begin = before.size() + kHashDigits + kBetween.size();
  if (text->size() < begin + kAfter.size() || !text->starts_with(before) || !text->ends_with(kAfter) ||
      text->compare(before.size() + kHashDigits, kBetween.size(), kBetween) != 0) {
    return std::nullopt;
  }
  if (nested_too_deep(*text)) return std::nullopt;  // callers parse it
  std::string result = text->substr(begin, text->size() - begin - kAfter.size());
  if (text->compare(before.size(), kHashDigits, sha256(result)) != 0) return std::nullopt;
  return result;
}

std::optional<std::string> PointFiles::error(const std::string& id) const {
  const auto text = read_if_there(error_path(id));
  if (!text) return std::nullopt;
  const json object = parse_or_discard<json>(*text);
  if (!object.is_object() || object.value("id", json()) != id || !object.value("error", json()).is_string()) {
    return "unknown: its error file is damaged";
  }
  return object["error"].get<std::string>();
}

void PointFiles::write_result(const std::string& id, const std::string& result_line) const {
  const std::string_view result = std::string_view(result_line).substr(0, result_line.find('\n'));
  write_file(result_path(id),
             fmt::format("{{\"id\":\"{}\",\"sha256\":\"{}\",\"result\":{}}}\n", id, sha256(result), result), kInFolder);
  std::error_code ignored;
  std::filesystem::remove(error_path(id), ignored);
}

void PointFiles::write_error(const std::string& id, const std::string& label, const std::string& message) const {
  const json object = {{"id", id}, {"point", label}, {"error", message}};
  write_file(error_path(id), object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", kInFolder);
}

void PointFiles::remove_leftovers(PointLocks& locks) const {
  std::vector<std::filesystem::path> leftovers;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder_, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.find(".json.tmp-") != std::string::npos && is_id(name.substr(0, kHashDigits))) {
      leftovers.push_back(entry->path());
    }
  }
  for (const auto& path : leftovers) {
    const std::string id = path.filename().string().substr(0, kHashDigits);
    if (!locks.lock(id, false)) continue;
    std::filesystem::remove(path, ignored);
    locks.unlock(id);
  }
}

void PointFiles::remove_leftovers(const std::string& id, long pid) const {
  std::error_code ignored;
  for (const std::string& path : {result_path(id), error_path(id)}) {
    std::filesystem::remove(fmt::format("{}.tmp-{}-0", path, pid), ignored);
  }
}

}  // namespace uvmsim::sweep
