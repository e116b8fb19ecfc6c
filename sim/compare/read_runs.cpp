// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/read_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/compare/read_database.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/point_files.h"
#include "sim/trace/input.h"
#include "sim/trace/line_reader.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::compare {
namespace {

namespace fs = std::filesystem;

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

using Json = nlohmann::ordered_json;

Json parsed_result(std::string_view text, const std::string& where) {
  Json result = parse_or_discard<Json>(text);
  if (result.is_discarded()) throw_input_error("{}: is not JSON", where);
  return result;
}

std::string side_name(const std::string& path) { return path == "-" ? "standard input" : path; }

void read_result_lines(const std::string& path, const ResultVisitor& visit) {
  bool any = false;
  for_each_line(path, side_name(path), [&](std::string_view line, const std::string& where) {
    visit(parsed_result(line, where), where);
    any = true;
  });
  if (!any) throw_input_error("{}: holds no result", side_name(path));
}

std::vector<std::string> read_sweep_folder(const std::string& folder, const ResultVisitor& visit) {
  std::vector<std::string> missing;
  bool any = false;
  const sweep::Plan plan = sweep::read_plan(folder);
  sweep::refuse_scenarios(plan, folder);
  const sweep::PointFiles files(folder);
  for (const sweep::PlannedPoint& planned : plan.points) {
    if (!planned.asked) continue;
    if (const auto result = files.result(planned.id)) {
      const std::string where = fmt::format("{}: point {}", folder, planned.id.substr(0, 12));
      visit(parsed_result(*result, where), where);
      any = true;
    } else if (const auto error = files.error(planned.id)) {
      missing.push_back(fmt::format("{}: failed: {}", sweep::label(planned.point), *error));
    } else {
      missing.push_back(sweep::label(planned.point) + ": not run");
    }
  }
  if (!any) throw_input_error("{}: no point of this sweep has a result", folder);
  return missing;
}

}  // namespace

std::vector<std::string> read_results(const std::string& path, const ResultVisitor& visit) {
  std::error_code ignored;
  if (path != "-" && fs::is_directory(path, ignored)) return read_sweep_folder(path, visit);
  if (path != "-" && is_database(path)) return read_database(path, visit);
  read_result_lines(path, visit);
  return {};
}

RunSet read_runs(const std::string& path) {
  RunSet set;
  set.name = side_name(path);
  set.missing = read_results(
      path, [&](const Json& result, const std::string& where) { set.runs.push_back(view_of_result(result, where)); });
  return set;
}

void keep_runs(RunSet& set, const std::string& condition, const std::string& where) {
  const std::size_t equals = condition.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw_input_error("{}: '{}' is no condition; allowed: KEY=VALUE, such as evict=lru", where, printable(condition));
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
    throw_input_error("{}: no run of {} has '{}'{}; allowed: {}, system.<key>", where, set.name, printable(key),
                      did_you_mean(key, keys), fmt::join(keys, ", "));
  }
  const auto unwanted = [&](const RunView& run) { return !matches(pattern, shown_text(run, key)); };
  set.runs.erase(std::remove_if(set.runs.begin(), set.runs.end(), unwanted), set.runs.end());
  if (set.runs.empty()) {
    throw_input_error("{}: no run of {} has {} '{}'; allowed: {}", where, set.name, key, printable(pattern),
                      fmt::join(values, ", "));
  }
}

}  // namespace uvmsim::compare
