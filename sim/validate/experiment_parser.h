// One line of an experiment file. Used by experiment.cpp only.
#pragma once

#include <set>
#include <string>

#include "sim/trace/json_value.h"
#include "sim/validate/experiment.h"

namespace uvmsim::validate {

// Throws InputError without file and line (the caller adds them). What the formats do not know is skipped and named in
// `unknown`.
Experiment parse_experiment(const trace::JsonValue& line, std::set<std::string>& unknown);

// The number behind "_g" in a name such as "stream_rd_8m_g132"; 0 when there is none.
std::uint32_t grid_in_name(std::string_view name);

}  // namespace uvmsim::validate
