// SPDX-License-Identifier: Apache-2.0
// Kernel time without late wake-ups of the driver's service thread.
//
// After a replay the thread polls for further faults for about 2 us, and it stops after 20 batches in any case; the
// next fault must then wake it. On the machine of the shipped measurements this took 10 to 80 us in some experiments
// and 150 to 550 us in others that do the same thing, with hardly any values in between, and in the latter not every
// time: it depends on the state of the machine, not on the GPU or the driver's rules. (Late wake-ups fall on every 20th
// batch where faults follow at once: seq_s32_r_host; and on batches after a pause of more than 2 us:
// rand4k_seed21_r_host.)
//
// One rule applies to every experiment and to both sides, since the model has late wake-ups too. The lead of a batch is
// the time from its begin (its first fault, or the replay before it if that is later) until its first migration, or
// until its replay if nothing migrates. A lead is a stall when it exceeds both 120 us and four times the lower quartile
// of the leads; a stall is replaced by the median of the other leads. The first batch, which includes the driver's
// start-up, is left unchanged.
#pragma once

#include <cstdint>

#include "sim/validate/observation.h"

namespace uvmsim::validate {

// Returns the sum of the kernels' durations without the stalls: a second measure in addition to the raw one.
std::int64_t quiet_kernel_ns(const Observation& seen);

}  // namespace uvmsim::validate
