// SPDX-License-Identifier: Apache-2.0
// Counts the pages that must cross the links between the end of one step and the end of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/bounds/steps.h"

namespace uvmsim::bounds {

// The least numbers of pages to the GPU and back to the host from the end of step `base` - 1 (the start of the program
// for 0) to the end of step `base` + i.
struct Window {
  std::size_t base = 0;
  std::vector<std::uint64_t> pages_in, pages_out;
};

// Counts a window. At the start of the program the GPU holds nothing. Later windows may begin with any content of
// memory, the best one for the window.
Window count_window(const Steps& steps, std::size_t base, std::uint64_t capacity_pages);

}  // namespace uvmsim::bounds
