// Measured kernel time without the stalls of the measuring machine.
//
// On the machine of the shipped measurements the driver's service thread sometimes needed 150 to 550 us instead of 10
// to 80 us to take up a batch. In `ordered` experiments, where every batch is one page, the two groups are far apart
// (1 of 1880 batches lies between 80 and 150 us); the slow ones come in clusters and differ between experiments that do
// the same thing, so they say nothing about the GPU or the driver's rules.
//
// The rule, the same for every experiment: the lead of a batch is the time from its begin (its first fault, or the
// replay before it if that is later) until its first migration, or until its replay where nothing migrates. A lead is a
// stall when it exceeds both 120 us and four times the lower quartile of the experiment's leads; a stall is replaced by
// the median of the leads that are none. The first batch, which carries the driver's start-up, is left as it is.
#pragma once

#include <cstdint>

#include "sim/validate/experiment.h"

namespace uvmsim::validate {

// The sum of the kernels' durations without the stalls: a second measure beside the raw one, never instead of it.
std::int64_t quiet_kernel_ns(const Experiment& experiment);

}  // namespace uvmsim::validate
