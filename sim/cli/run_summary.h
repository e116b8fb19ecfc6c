// What `uvmsim run` prints for people.
#pragma once

#include <string>
#include <vector>

#include "sim/report/run_record.h"

namespace uvmsim::cli {

// One run: settled iteration and whole run side by side.
std::string run_summary(const report::RunRecord& record);

// Several runs of one trace: a line each, settled iterations where the trace marks some.
std::string runs_table(const std::vector<report::RunRecord>& records);

// How kernel durations became those of this GPU; nothing for a trace that names no GPU.
std::string time_scale_text(const report::RunRecord& record);

}  // namespace uvmsim::cli
