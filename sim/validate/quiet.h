// Measured kernel time without the stalls of the measuring machine.
#pragma once

#include <cstdint>

#include "sim/validate/experiment.h"

namespace uvmsim::validate {

// The sum of the kernels' durations, less the time by which the driver's service thread started late: see quiet.cpp for
// the rule. A second measure beside the raw one, never instead of it.
std::int64_t quiet_kernel_ns(const Experiment& experiment);

}  // namespace uvmsim::validate
