// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/read_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"
#include "sim/formats/sqlite_reader.h"
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
using Row = SqliteReader::Row;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string side_name(const std::string& path) { return path == "-" ? "standard input" : path; }

void read_result_lines(const std::string& path, const ResultVisitor& visit) {
  bool any = false;
  for_each_line(path, side_name(path), [&](std::string_view line, const std::string& where) {
    visit(parse_json(line, where), where);
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
      visit(parse_json(*result, where), where);
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

// Each point has its result as `uvmsim run --json` writes it, except for the system, which is in another table.
class DatabaseReader {
 public:
  DatabaseReader(const std::string& path, const ResultVisitor& visit) : path_(path), visit_(visit), database_(path) {}

  std::vector<std::string> read() {
    if (!database_.has_table("sweep") || !database_.has_table("points")) {
      throw_input_error("{}: is not the database of a sweep: table 'sweep' or 'points' is missing", path_);
    }
    read_sweep();
    read_systems();
    read_points();
    read_failures();
    if (!any_) throw_input_error("{}: no point of this sweep has a result", path_);
    return std::move(missing_);
  }

 private:
  void read_sweep() {
    database_.each("sweep", {"planned", "finished", "failed"}, 3, [&](const Row& row) {
      const std::int64_t planned = row.required(0, 0, kMost), finished = row.required(1, 0, kMost),
                         failed = row.required(2, 0, kMost);
      if (finished <= planned && failed < planned - finished) not_run_ = planned - finished - failed;
    });
  }

  void read_systems() {
    database_.each("systems", {"sha256", "json"}, 2, [&](const Row& row) {
      systems_[row.text(0)] = parse_json(row.text(1), path_ + ": table 'systems'");
    });
  }

  void read_points() {
    if (database_.has_table("scenarios")) {
      throw_input_error("{}: is of a sweep of scenarios; allowed: one of programs alone", path_);
    }
    if (!database_.has_column("points", "result")) {
      throw_input_error("{}: table points has no column result: an earlier version wrote it; collect the sweep again",
                        path_);
    }
    database_.each("points",
                   {"id", "asked", "system_sha256", "result", "slowdown_thousandths", "baseline_hypothetical"}, 4,
                   [&](const Row& row) {
                     if (row.required(1, 0, 1) == 0) return;
                     const std::string where = fmt::format("{}: point {}", path_, row.text(0).substr(0, 12));
                     const auto system = systems_.find(row.text(2));
                     if (system == systems_.end()) throw_input_error("{}: its system is not in table 'systems'", where);
                     Json result = parse_json(row.whole_text(3), where);
                     if (!result.is_object()) throw_input_error("{}: its result is no object", where);
                     result["system"] = system->second;
                     // Computed from the baseline of the point.
                     if (row.has(4)) {
                       result["slowdown_thousandths"] = row.required(4, 0, kMost);
                       result["unlimited"] = {{"hypothetical", row.has(5) && row.required(5, 0, 1) == 1}};
                     }
                     visit_(result, where);
                     any_ = true;
                   });
  }

  void read_failures() {
    database_.each("failures", {"label", "error"}, 2, [&](const Row& row) {
      missing_.push_back(fmt::format("{}: failed: {}", row.text(0), row.text(1)));
    });
    if (not_run_ != 0) missing_.push_back(fmt::format("{} points: not run", not_run_));
  }

  const std::string& path_;
  const ResultVisitor& visit_;
  SqliteReader database_;
  bool any_ = false;
  std::vector<std::string> missing_;
  std::int64_t not_run_ = 0;
  std::map<std::string, Json> systems_;  // by hash
};

}  // namespace

std::vector<std::string> read_results(const std::string& path, const ResultVisitor& visit) {
  std::error_code ignored;
  if (path != "-" && fs::is_directory(path, ignored)) return read_sweep_folder(path, visit);
  if (path != "-" && is_database(path)) return DatabaseReader(path, visit).read();
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
    if (find_named(run.identity, key) != nullptr) values.insert(shown_text(run, key));
  }
  if (values.empty()) {
    std::vector<std::string> keys;
    for (const auto& [known, text] : set.runs.front().identity) {
      if (!known.starts_with("system.")) keys.push_back(known);
    }
    throw_input_error("{}: no run of {} has '{}'{}; allowed: {}, system.<key>", where, set.name, printable(key),
                      did_you_mean(key, keys), fmt::join(keys, ", "));
  }
  std::erase_if(set.runs, [&](const RunView& run) { return !matches(pattern, shown_text(run, key)); });
  if (set.runs.empty()) {
    throw_input_error("{}: no run of {} has {} '{}'; allowed: {}", where, set.name, key, printable(pattern),
                      fmt::join(values, ", "));
  }
}

}  // namespace uvmsim::compare
