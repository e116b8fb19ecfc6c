// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/policy/registry.h"
#include "sim/sweep/result_table.h"

namespace uvmsim::sweep {
namespace scenario_table {
namespace {

using nlohmann::ordered_json;

// The source of a row: a scenario, and a program in tables with several rows per scenario.
struct ScenarioSource {
  const PlannedPoint& planned;
  std::uint64_t position;
  const ordered_json& result;
  const ordered_json& sums;  // {"counters": ...} of all programs
  const ordered_json* program = nullptr;
  std::uint64_t place = 0;  // the program's place
  const ordered_json& first() const { return result.at("programs").at(0).at("together"); }
};
using Getter = GetterOf<ScenarioSource>;
using Columns = ColumnsOf<ScenarioSource>;

Getter of_first(const char* pointer) {
  return [path = ordered_json::json_pointer(pointer)](const ScenarioSource& s) { return cell(s.first().at(path)); };
}
// A value of the program; absent in a row of all programs.
Getter of_program(const char* pointer) {
  return [path = ordered_json::json_pointer(pointer)](const ScenarioSource& s) {
    return s.program == nullptr ? Cell{} : cell(s.program->at(path));
  };
}

bool is_concurrent(const ScenarioSource& s) { return s.result.at("sharing") == "concurrent"; }

// Returns the run that the row describes: the program's, or the first one of the scenario.
const ordered_json& run_of(const ScenarioSource& s) {
  return s.program == nullptr ? s.first() : s.program->at("together");
}

constexpr policy::Slot kServerSlots[] = {policy::Slot::kEvict, policy::Slot::kMigrate, policy::Slot::kRoute};

Cell schedule(const ScenarioSource& s) {
  return is_concurrent(s) ? Cell{} : Cell(chosen_text(policy_of(s.first(), policy::Slot::kSchedule)));
}

// The prefetcher if all programs have the same one; programs may have different ones.
Cell prefetch(const ScenarioSource& s) {
  const std::string name = chosen_text(policy_of(run_of(s), policy::Slot::kPrefetch));
  for (const ordered_json& program : s.result.at("programs")) {
    const bool other = chosen_text(policy_of(program.at("together"), policy::Slot::kPrefetch)) != name;
    if (s.program == nullptr && other) return {};
  }
  return name;
}

Columns identity() {
  return {
      number("position", [](const ScenarioSource& s) { return cell(s.position); }),
      text("id", [](const ScenarioSource& s) { return Cell(s.planned.id); }),
  };
}

// Returns the columns that describe the scenario: programs, GPUs, policies and limits.
Columns circumstances() {
  Columns all = {
      text("scenario",
           [](const ScenarioSource& s) {
             return Cell(std::filesystem::path(s.planned.scenario->file).filename().string());
           }),
      text("system", of_result("/system/name")),
      text("system_sha256", of_first("/system_sha256")),
      text("settings", [](const ScenarioSource& s) { return Cell(ordered_json(s.planned.point.settings).dump()); }),
      text("sharing", of_result("/sharing")),
      number("shared_osf_thousandths", unless_zero(&Point::osf_thousandths)),
      number("shared_capacity_bytes", unless_zero(&Point::capacity_bytes)),
      text("schedule", schedule),
  };
  for (const policy::Slot slot : kServerSlots) {
    all.push_back(text(std::string(policy::slot_name(slot)),
                       [slot](const ScenarioSource& s) { return Cell(chosen_text(policy_of(s.first(), slot))); }));
  }
  append(all, {
                  text("prefetch", prefetch),
                  number("seed", [](const ScenarioSource& s) { return cell(s.planned.point.seed); }),
                  number("include_host_gaps", of_first("/include_host_gaps")),
              });
  return all;
}

Columns together() {
  Columns all;
  add_numbers(all, {"last_end_ns", "last_end_bound_ns", "unfairness_thousandths", "weighted_speedup_thousandths"},
              [](const char* name) { return of_result(fmt::format("/{}", name)); });
  return all;
}

Columns program() {
  return {
      number("program", [](const ScenarioSource& s) { return s.program == nullptr ? Cell{} : cell(s.place); }),
      text("name", of_program("/name")),
      text("gpus", of_program("/gpus")),
      number("start_ns", of_program("/start_ns")),
      number("repeat", of_program("/repeat")),
      text("trace", of_program("/together/trace/file")),
      text("trace_sha256", of_program("/together/trace/sha256")),
      text("layout", of_program("/together/layout")),
      number("footprint_bytes", of_program("/together/footprint_bytes")),
      number("capacity_bytes", of_program("/together/capacity_bytes")),
      number("iterations",
             [](const ScenarioSource& s) {
               return s.program == nullptr ? Cell{}
                                           : cell(std::uint64_t{s.program->at("together").at("iterations").size()});
             }),
      text("compared", of_program("/compared")),
      number("together_ns", of_program("/together_ns")),
      number("alone_ns", of_program("/alone_ns")),
      number("slowdown_thousandths", of_program("/slowdown_thousandths")),
      number("total_ns", of_program("/together/total_ns")),
      number("ideal_ns", of_program("/together/ideal_ns")),
  };
}

const ordered_json& counted(const ScenarioSource& s) {
  return s.program == nullptr ? s.sums : s.program->at("together");
}

const Columns& scenarios() {
  static const Columns columns = [] {
    Columns all = identity();
    append(all, circumstances());
    append(all, {text("description", of_result("/description")),
                 number("programs",
                        [](const ScenarioSource& s) { return cell(std::uint64_t{s.result.at("programs").size()}); }),
                 text("plugins", [](const ScenarioSource& s) {
                   ordered_json files = ordered_json::array();
                   for (const ordered_json& one : s.result.at("programs")) {
                     for (const ordered_json& plugin : one.at("together").at("plugins")) {
                       const ordered_json& file = plugin.at("file");
                       if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
                     }
                   }
                   return Cell(files.dump());
                 })});
    append(all, together());
    add_counters(all, counted);
    // The result without the parts that another table holds.
    all.push_back(text("result", [](const ScenarioSource& s) {
      ordered_json result = s.result;
      result.erase("system");
      return Cell(result.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    }));
    return all;
  }();
  return columns;
}

const Columns& programs() {
  static const Columns columns = [] {
    Columns all = identity();
    append(all, program());
    all.push_back(text("prefetch", prefetch));
    add_counters(all, counted);
    return all;
  }();
  return columns;
}

const Columns& csv_rows() {
  static const Columns columns = [] {
    Columns all = identity();
    append(all, circumstances());
    all.push_back(
        text("scope", [](const ScenarioSource& s) { return Cell(s.program == nullptr ? "all" : "program"); }));
    append(all, program());
    // Only the row of all programs has these columns.
    for (auto& column : together()) {
      all.push_back(
          {column.column, [get = column.get](const ScenarioSource& s) { return s.program ? Cell{} : get(s); }});
    }
    add_counters(all, counted);
    return all;
  }();
  return columns;
}

ordered_json sums_of(const ordered_json& result) {
  ordered_json sums = ordered_json::object();
  constexpr Counters kNames;  // only its names matter
  for_each_counter(kNames, [&](const char* name, std::uint64_t) {
    std::uint64_t sum = 0;
    for (const ordered_json& program : result.at("programs")) {
      const auto value = program.at("together").at("counters").at(name).get<std::uint64_t>();
      sum += std::min(UINT64_MAX - sum, value);
    }
    sums[name] = sum;
  });
  return {{"counters", std::move(sums)}};
}

// Returns a row for each pair of programs on one GPU.
std::vector<Row> evictions(const ScenarioSource& s) {
  std::vector<Row> rows;
  for (const ordered_json& by : s.result.at("programs")) {
    const ordered_json& taken = by.at("evicted_from");
    if (taken.is_null()) continue;
    for (const auto& [of, chunks] : taken.items()) {
      rows.push_back({s.planned.id, cell(by.at("name")), of, cell(chunks)});
    }
  }
  return rows;
}

}  // namespace
}  // namespace scenario_table

std::vector<Column> scenario_columns() { return names_of(scenario_table::scenarios()); }
std::vector<Column> program_columns() { return names_of(scenario_table::programs()); }
std::vector<Column> eviction_columns() { return {{"id", true}, {"by", true}, {"of", true}, {"chunks", false}}; }
std::vector<Column> scenario_csv_columns() { return names_of(scenario_table::csv_rows()); }

ScenarioRows scenario_rows(const PlannedPoint& planned, std::uint64_t position, const nlohmann::ordered_json& result) {
  const nlohmann::ordered_json sums = scenario_table::sums_of(result);
  scenario_table::ScenarioSource source{planned, position, result, sums};
  ScenarioRows rows{row_of(scenario_table::scenarios(), source), {}, scenario_table::evictions(source), {}};
  for (const nlohmann::ordered_json& program : result.at("programs")) {
    source.program = &program;
    rows.programs.push_back(row_of(scenario_table::programs(), source));
    rows.csv.push_back(row_of(scenario_table::csv_rows(), source));
    ++source.place;
  }
  source.program = nullptr;
  rows.csv.push_back(row_of(scenario_table::csv_rows(), source));
  return rows;
}

}  // namespace uvmsim::sweep
