// SPDX-License-Identifier: Apache-2.0
// Finds the point from which on the two passes agree, if they differ at the start: programs warm up, compile and choose
// kernels by timing, and only the part after that is of interest.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tracer/merge/event.h"

namespace uvmtrace {

// One stream of both passes.
struct StreamPair {
  std::uint32_t number = 0;                    // of the timing pass, or if only the access pass has the stream, of that
  std::vector<std::size_t> timing, access;     // launches, in program order
  std::size_t timing_end = 0, access_end = 0;  // numbers of launches that are compared
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // positions in the two lists, both ascending
};

// A position in both logs; everything before it is left out.
struct Cut {
  std::size_t timing = 0, access = 0;      // events
  std::optional<std::uint64_t> iteration;  // the iteration that begins there
};

// Returns by launch its position among the log's events.
std::vector<std::size_t> event_of_launch(const PassLog& log);

// Returns the first cut from which on at least `thousandths` of the launches are pairs. If both logs mark iterations,
// it is the beginning of an iteration. Otherwise it is directly after a launch, and exists only if most of the later
// launches repeat, as in a program's steady state. `keys`: of the timing pass's launches, equal for launches that
// match.
std::optional<Cut> find_cut(const PassLog& timing, const PassLog& access, const std::vector<StreamPair>& streams,
                            const std::vector<std::uint64_t>& keys, std::uint32_t thousandths);

}  // namespace uvmtrace
