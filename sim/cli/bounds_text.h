// SPDX-License-Identifier: Apache-2.0
// Lower bounds, and the distance of results from them, as text for people.
#pragma once

#include <string>
#include <vector>

#include "sim/report/run_record.h"

namespace uvmsim::cli {

// One row per record, each with bounds and all of one program: what `uvmsim bounds` prints.
std::string bounds_summary(const std::vector<report::RunRecord>& records);

// One row per record with bounds and a result: what `uvmsim run --bounds` adds.
std::string distances_table(const std::vector<report::RunRecord>& records);

}  // namespace uvmsim::cli
