// SPDX-License-Identifier: Apache-2.0
// What `uvmsim run` and `uvmsim bounds` print for people.
#pragma once

#include <string>
#include <vector>

#include "sim/report/run_record.h"

namespace uvmsim::cli {

// One run: settled iteration and whole run side by side.
std::string run_summary(const report::RunRecord& record);

// Several runs of one trace: a line for each group of `seeds` consecutive ones, which differ in their seed only;
// settled iterations where the trace marks some. Of several seeds the mean, and the shortest and the longest time.
std::string runs_table(const std::vector<report::RunRecord>& records, std::size_t seeds = 1);

// Lower bounds. One row per record, each with bounds and all of one program: what `uvmsim bounds` prints.
std::string bounds_summary(const std::vector<report::RunRecord>& records);
// One row per record with bounds and a result: what `uvmsim run --bounds` adds.
std::string distances_table(const std::vector<report::RunRecord>& records);

// A line for each policy, with the parameters that the user gave or it has: "prefetch tree (D0) threshold=51".
std::string policies_text(const report::RunRecord& record);

// How kernel durations became those of this GPU; nothing for a trace that names no GPU.
std::string time_scale_text(const report::RunRecord& record);

}  // namespace uvmsim::cli
