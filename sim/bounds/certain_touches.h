// What a kernel touches and computes at least, however its faults are served.
#pragma once

#include <cstdint>

#include "sim/engine/kernel_work.h"

namespace uvmsim::bounds {

// Whether the units of the section together touch every page of the operand. The patterns leave pages out of some
// outputs: step_pages.h writes only the last part of a small result, tile_pages.h only rows of very large tiles.
bool touches_every_page(const engine::KernelWork& work, const engine::Section& section, const engine::Operand& operand);

// Time of the kernel when every access passes at once. A kernel that faults is played in steps of whole nanoseconds,
// which may add up to a little less than its duration.
std::int64_t least_duration_ns(const engine::KernelWork& work, std::int64_t duration_ns);

}  // namespace uvmsim::bounds
