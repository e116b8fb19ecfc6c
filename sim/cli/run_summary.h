// SPDX-License-Identifier: Apache-2.0
// Texts that `uvmsim run` and `uvmsim bounds` print for people.
#pragma once

#include <string>
#include <vector>

#include "sim/report/run_record.h"

namespace uvmsim::cli {

// Shows one run: settled iteration and whole run side by side.
std::string run_summary(const report::RunRecord& record);

// Shows several runs of one trace: a line for each group of `seeds` consecutive runs, which differ only in their seed.
// Numbers are of settled iterations if the trace marks some; several seeds show the mean and the time's range.
std::string runs_table(const std::vector<report::RunRecord>& records, std::size_t seeds = 1);

// Shows lower bounds, as `uvmsim bounds` does: one row per record. All records have bounds and are of one program.
std::string bounds_summary(const std::vector<report::RunRecord>& records);
// Shows how far runs are from their lower bounds, for `uvmsim run --bounds`: one row per record with bounds.
std::string distances_table(const std::vector<report::RunRecord>& records);

// Returns a line for each policy, with its parameters: "prefetch tree (D0) threshold=51".
std::string policies_text(const report::RunRecord& record);

// Says how kernel durations were scaled to this GPU; empty for a trace that names no GPU.
std::string time_scale_text(const report::RunRecord& record);

}  // namespace uvmsim::cli
