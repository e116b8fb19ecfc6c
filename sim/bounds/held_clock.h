// SPDX-License-Identifier: Apache-2.0
// The ideal clock of a program, delayed where pages have to arrive first.
#pragma once

#include <cstddef>
#include <functional>

#include "sim/bounds/program.h"
#include "sim/bounds/steps.h"
#include "sim/common/units.h"

namespace uvmsim::bounds {

// Called for each step in order with the time at which its operations end if only computing counts. Returns the time
// before which not all of them can be over, even if nothing is left to compute.
using Hold = std::function<Nanoseconds(std::size_t step, Nanoseconds computed)>;

// The least time of the whole program. Work after a step still takes its own time, and waits where the program waits
// (engine/ideal_clock.h).
Nanoseconds held_time(const Program& program, const Steps& steps, const Hold& hold);

}  // namespace uvmsim::bounds
