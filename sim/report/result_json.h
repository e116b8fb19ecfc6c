// SPDX-License-Identifier: Apache-2.0
// A result as one JSON object on one line, schema "uvmsim.result/2" (README.md lists its keys).
#pragma once

#include <string>

#include "sim/report/run_record.h"

namespace uvmsim::report {

inline constexpr const char* kResultSchema = "uvmsim.result/2";
inline constexpr const char* kBoundsSchema = "uvmsim.bounds/1";

// Ends in a newline, so that several runs in one file are JSON lines. Integers only, keys in a fixed order: the same
// run gives the same bytes everywhere. `system_json` of the record must be JSON.
std::string result_json(const RunRecord& record);

// Bounds without a run (schema "uvmsim.bounds/1"): of the record's result only records, footprint and capacity count,
// and `bounds` must be there.
std::string bounds_json(const RunRecord& record);

}  // namespace uvmsim::report
