// SPDX-License-Identifier: Apache-2.0
// What a finished scenario found, as columns: for the database and the CSV file of a sweep of scenarios.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sim/sweep/cells.h"
#include "sim/sweep/plan.h"

namespace uvmsim::sweep {

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
