// SPDX-License-Identifier: Apache-2.0
// Columns of the results of finished points and scenarios, for the database and the CSV file of a sweep.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/cells.h"
#include "sim/sweep/plan.h"

namespace uvmsim::sweep {

// Getters for both kinds of results: a member of the result by its path, and a member of the point that is absent when
// 0.
inline auto of_result(const std::string& pointer) {
  return [path = nlohmann::ordered_json::json_pointer(pointer)](const auto& s) { return cell(s.result.at(path)); };
}
inline auto unless_zero(std::uint64_t Point::*chosen) {
  return [chosen](const auto& s) {
    const std::uint64_t value = s.planned.point.*chosen;
    return value == 0 ? Cell{} : cell(value);
  };
}

// The run of the point's baseline (baseline_of), for comparison.
struct Unlimited {
  std::string id;
  std::uint64_t settled_ns = 0;
  bool hypothetical = false;  // the program does not fit into the GPU: the baseline had as much memory as it needed
};

// The duration of the settled iteration, or of the whole run when no iterations are marked.
std::uint64_t settled_ns(const nlohmann::ordered_json& result);

std::vector<Column> point_columns();
std::vector<Column> iteration_columns();
std::vector<Column> settled_columns();
// The columns of the CSV file. Columns that `uvmsim run --csv` also has mean the same here.
std::vector<Column> csv_columns();

struct ResultRows {
  Row point;
  std::vector<Row> iterations;
  std::optional<Row> settled;  // absent without iterations
  std::vector<Row> csv;        // one per iteration, then one for the whole run
};
// `result` is a parsed result (schema uvmsim.result/3); throws json::exception when it is not one.
ResultRows result_rows(const PlannedPoint& planned, std::uint64_t position, const nlohmann::ordered_json& result,
                       const std::optional<Unlimited>& unlimited);

// The functions below (scenario_table.cpp) are for sweeps of scenarios.
std::vector<Column> scenario_columns();  // of all programs together
std::vector<Column> program_columns();
std::vector<Column> eviction_columns();      // evictions by pair of programs
std::vector<Column> scenario_csv_columns();  // one row per program, then one of all together

struct ScenarioRows {
  Row scenario;
  std::vector<Row> programs, evictions, csv;
};
// `result` is a parsed result (schema uvmsim.scenario/1); throws json::exception when it is not one.
ScenarioRows scenario_rows(const PlannedPoint& planned, std::uint64_t position, const nlohmann::ordered_json& result);

}  // namespace uvmsim::sweep
