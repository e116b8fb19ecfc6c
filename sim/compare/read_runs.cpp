#include "sim/compare/read_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/config/json_file.h"
#include "sim/config/printable.h"
#include "sim/policy/name_suggestion.h"
#include "sim/sweep/point.h"
#include "sim/trace/input.h"
#include "sim/trace/line_reader.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::compare {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Calls visit(line, where) for every line that is not empty.
template <class Visitor>
void for_each_line(const std::string& path, const std::string& name, Visitor&& visit) {
  trace::Input input = trace::Input::from_file(path);
  try {
    trace::LineReader lines(input);
    std::string_view line;
    while (lines.next(line)) {
      if (!line.empty()) visit(line, fmt::format("{}: line {}", name, lines.line_number()));
    }
  } catch (const trace::DamageError& damage) {
    throw_input_error("{}: {}", name, damage.what());
  }
}

void read_result_lines(const std::string& path, RunSet& set) {
  for_each_line(path, set.name, [&](std::string_view line, const std::string& where) {
    set.runs.push_back(view_of_result_text(line, where));
  });
  if (set.runs.empty()) throw_input_error("{}: holds no result", set.name);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string text_member(const Json& object, const char* key, const std::string& where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_string()) throw_input_error("{}: /{}: is not a string", where, key);
  return found->get<std::string>();
}

// File names are made of ids: only what the planner writes may become one.
std::string id_member(const Json& object, const std::string& where) {
  const std::string id = text_member(object, "id", where);
  if (id.empty() || id.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw_input_error("{}: /id: '{}' is no id of a point", where, config::printable(id));
  }
  return id;
}

void read_point(const fs::path& folder, const Json& line, const std::string& where, RunSet& set) {
  const std::string id = id_member(line, where);
  const auto point = line.find("point");
  if (point == line.end()) throw_input_error("{}: /point: is missing", where);
  const std::string label = sweep::label(sweep::point_from_json(nlohmann::json::parse(point->dump()), where));
  const fs::path result = folder / "points" / (id + ".json"), error = folder / "points" / (id + ".error.json");
  if (is_there(result)) {
    const Json content = config::read_json_file(result);
    const auto found = content.find("result");
    if (id_member(content, result.string()) != id || found == content.end()) {
      throw_input_error("{}: is not the result of point {}", result.string(), id);
    }
    set.runs.push_back(view_of_result(*found, result.string() + ": /result"));
  } else if (is_there(error)) {
    const Json content = config::read_json_file(error);
    set.missing.push_back(
        fmt::format("{}: failed: {}", label, config::printable(text_member(content, "error", error.string()))));
  } else {
    set.missing.push_back(label + ": not run");
  }
}

void read_sweep_folder(const fs::path& folder, RunSet& set) {
  const fs::path points = folder / "points.jsonl";
  if (!is_there(points)) {
    throw_input_error("{}: is a folder without points.jsonl, so it is no sweep; allowed: a file of results, a sweep",
                      set.name);
  }
  for_each_line(points.string(), points.string(), [&](std::string_view text, const std::string& where) {
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) throw_input_error("{}: is no point", where);
    read_point(folder, line, where, set);
  });
  if (set.runs.empty()) throw_input_error("{}: no point of this sweep has a result", set.name);
}

}  // namespace

RunSet read_runs(const std::string& path) {
  RunSet set;
  set.name = path == "-" ? "standard input" : path;
  std::error_code ignored;
  if (path != "-" && fs::is_directory(path, ignored)) {
    read_sweep_folder(path, set);
  } else {
    read_result_lines(path, set);
  }
  return set;
}

void keep_runs(RunSet& set, const std::string& condition, const std::string& where) {
  const std::size_t equals = condition.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw_input_error("{}: '{}' is no condition; allowed: KEY=VALUE, such as evict=lru", where,
                      config::printable(condition));
  }
  const std::string key = condition.substr(0, equals), pattern = condition.substr(equals + 1);
  std::set<std::string> values;
  for (const RunView& run : set.runs) {
    if (find_text(run.identity, key) != nullptr) values.insert(shown_text(run, key));
  }
  if (values.empty()) {
    std::vector<std::string> keys;
    for (const auto& [known, text] : set.runs.front().identity) {
      if (!known.starts_with("system.")) keys.push_back(known);
    }
    throw_input_error("{}: no run of {} has '{}'{}; allowed: {}, system.<key>", where, set.name, config::printable(key),
                      policy::suggestion(key, keys), fmt::join(keys, ", "));
  }
  const auto unwanted = [&](const RunView& run) { return !matches(pattern, shown_text(run, key)); };
  set.runs.erase(std::remove_if(set.runs.begin(), set.runs.end(), unwanted), set.runs.end());
  if (set.runs.empty()) {
    throw_input_error("{}: no run of {} has {} '{}'; allowed: {}", where, set.name, key, config::printable(pattern),
                      fmt::join(values, ", "));
  }
}

}  // namespace uvmsim::compare
