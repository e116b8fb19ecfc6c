// SPDX-License-Identifier: Apache-2.0
// The answer to whether a recorded program can be made longer (repeat_iterations.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/trace/record.h"

namespace uvmsim::trace {

struct Repeatable {
  std::uint64_t marked = 0;    // iterations
  std::uint64_t repeated = 0;  // which of them is repeated, counted from 0
  std::string obstacle;        // why no iteration can be repeated, in one line; empty: one can
};

// Reads the program to its end.
Repeatable find_repeatable(const std::function<bool(Record&)>& source);

}  // namespace uvmsim::trace
