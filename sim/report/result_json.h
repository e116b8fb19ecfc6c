// SPDX-License-Identifier: Apache-2.0
// A result as one JSON object on one line, schema "uvmsim.result/3" (README.md lists its keys).
#pragma once

#include <string>

#include "sim/report/run_record.h"

namespace uvmsim::report {

inline constexpr const char* kResultSchema = "uvmsim.result/3";
inline constexpr const char* kBoundsSchema = "uvmsim.bounds/1";

// Ends in a newline, so that several runs in one file are JSON lines. Only integers and a fixed order of keys are used:
// the same run gives the same bytes everywhere. `system_json` of the record must be JSON.
std::string result_json(const RunRecord& record);

// Returns the line that result_json() would make of the same run with bounds. `result` is the line without bounds. Uses
// only the command, the bounds and the time of `bounded`.
std::string result_json_with_bounds(const std::string& result, const RunRecord& bounded);

// Formats bounds without a run (schema "uvmsim.bounds/1"). Of the record's result it uses only records, footprint and
// capacity; `bounds` must be present.
std::string bounds_json(const RunRecord& record);

}  // namespace uvmsim::report
