// SPDX-License-Identifier: Apache-2.0
// Kernel time without late wake-ups of the driver's service thread.
//
// After a replay the thread looks for further faults for about 2 us, and it leaves after 20 batches in any case; the
// next fault must then wake it. On the machine of the shipped measurements that took 10 to 80 us in some experiments
// and 150 to 550 us in others that do the same thing, with next to nothing in between, and in the latter not every
// time: the state of the machine, neither the GPU nor the driver's rules. (Late wake-ups fall on every 20th batch where
// faults follow at once: seq_s32_r_host; and on batches after a pause of more than 2 us: rand4k_seed21_r_host.)
//
// The rule, the same for every experiment and for both sides, since the model has late wake-ups too: the lead of a
// batch is the time from its begin (its first fault, or the replay before it if that is later) until its first
// migration, or until its replay where nothing migrates. A lead is a stall when it exceeds both 120 us and four times
// the lower quartile of the leads; a stall is replaced by the median of the leads that are none. The first batch, which
// carries the driver's start-up, is left as it is.
#pragma once

#include <cstdint>

#include "sim/validate/observation.h"

namespace uvmsim::validate {

// The sum of the kernels' durations without the stalls: a second measure beside the raw one, never instead of it.
std::int64_t quiet_kernel_ns(const Observation& seen);

}  // namespace uvmsim::validate
