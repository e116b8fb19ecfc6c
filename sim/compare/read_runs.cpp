#include "sim/compare/read_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/compare/read_database.h"
#include "sim/formats/did_you_mean.h"
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

void read_result_lines(const std::string& path, RunSet& set) {
  for_each_line(path, set.name, [&](std::string_view line, const std::string& where) {
    set.runs.push_back(view_of_result_text(line, where));
  });
  if (set.runs.empty()) throw_input_error("{}: holds no result", set.name);
}

void read_sweep_folder(const std::string& folder, RunSet& set) {
  const sweep::Plan plan = sweep::read_plan(folder);
  const sweep::PointFiles files(folder);
  for (const sweep::PlannedPoint& planned : plan.points) {
    if (!planned.asked) continue;
    if (const auto result = files.result(planned.id)) {
      set.runs.push_back(view_of_result_text(*result, fmt::format("{}: point {}", folder, planned.id.substr(0, 12))));
    } else if (const auto error = files.error(planned.id)) {
      set.missing.push_back(fmt::format("{}: failed: {}", sweep::label(planned.point), *error));
    } else {
      set.missing.push_back(sweep::label(planned.point) + ": not run");
    }
  }
  if (set.runs.empty()) throw_input_error("{}: no point of this sweep has a result", folder);
}

}  // namespace

RunSet read_runs(const std::string& path) {
  RunSet set;
  set.name = path == "-" ? "standard input" : path;
  std::error_code ignored;
  if (path != "-" && fs::is_directory(path, ignored)) {
    read_sweep_folder(path, set);
  } else if (path != "-" && is_database(path)) {
    read_database(path, set);
  } else {
    read_result_lines(path, set);
  }
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
