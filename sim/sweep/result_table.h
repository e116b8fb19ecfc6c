// SPDX-License-Identifier: Apache-2.0
// What a finished point found, as columns: for the database and the CSV file of a sweep.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/cells.h"
#include "sim/sweep/plan.h"

namespace uvmsim::sweep {

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

}  // namespace uvmsim::sweep
