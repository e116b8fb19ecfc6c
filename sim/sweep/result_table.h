// SPDX-License-Identifier: Apache-2.0
// What a finished point or scenario found, as columns: for the database and the CSV file of a sweep.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/cells.h"
#include "sim/sweep/plan.h"

namespace uvmsim::sweep {

// Getters that both have. A member of the result, by its path; of the point, absent where it is 0.
inline auto of_result(const std::string& pointer) {
  return [path = nlohmann::ordered_json::json_pointer(pointer)](const auto& s) { return cell(s.result.at(path)); };
}
inline auto unless_zero(std::uint64_t Point::*chosen) {
  return [chosen](const auto& s) {
    const std::uint64_t value = s.planned.point.*chosen;
    return value == 0 ? Cell{} : cell(value);
  };
}

// The point's baseline (baseline_of), to compare with.
struct Unlimited {
  std::string id;
  std::uint64_t settled_ns = 0;
};

// Duration of the settled iteration; of the whole run when no iterations are marked.
std::uint64_t settled_ns(const nlohmann::ordered_json& result);

std::vector<Column> point_columns();
std::vector<Column> iteration_columns();
std::vector<Column> settled_columns();
// The columns that `uvmsim run --csv` has, too, mean the same here.
std::vector<Column> csv_columns();

struct ResultRows {
  Row point;
  std::vector<Row> iterations;
  std::optional<Row> settled;  // nothing without iterations
  std::vector<Row> csv;        // one per iteration, then one for the whole run
};
// `result` is a parsed result (schema uvmsim.result/2); json::exception when it is none.
ResultRows result_rows(const PlannedPoint& planned, std::uint64_t position, const nlohmann::ordered_json& result,
                       const std::optional<Unlimited>& unlimited);

// scenario_table.cpp: of a sweep of scenarios.
std::vector<Column> scenario_columns();  // of all programs together
std::vector<Column> program_columns();
std::vector<Column> eviction_columns();      // who took whose memory
std::vector<Column> scenario_csv_columns();  // a row per program, then one of all together

struct ScenarioRows {
  Row scenario;
  std::vector<Row> programs, evictions, csv;
};
// `result` is a parsed one (schema uvmsim.scenario/1); json::exception when it is none.
ScenarioRows scenario_rows(const PlannedPoint& planned, std::uint64_t position, const nlohmann::ordered_json& result);

}  // namespace uvmsim::sweep
