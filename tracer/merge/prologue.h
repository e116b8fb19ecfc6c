// SPDX-License-Identifier: Apache-2.0
// Finds the common beginning when the two passes differ at first: programs warm up, compile and choose kernels by
// timing, and only the part after that is of interest.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tracer/merge/event.h"

namespace uvmtrace {

// One stream of both passes.
struct StreamPair {
  std::uint32_t number = 0;                                // in the timing pass, or in the access pass alone
  std::vector<std::size_t> timing, access;                 // launches, in program order
  std::size_t timing_end = 0, access_end = 0;              // the numbers of launches that count
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // places in the two lists, both ascending
};

// A place in both logs; everything before it is left out.
struct Cut {
  std::size_t timing = 0, access = 0;      // events
  std::optional<std::uint64_t> iteration;  // the iteration that begins there
};

// Positions of the log's launches among its events, by launch.
std::vector<std::size_t> event_of_launch(const PassLog& log);

// The first place from which on at least `thousandths` of the launches are pairs: the beginning of an iteration where
// both logs mark iterations. Where they do not, right behind a launch, and only if most of what follows repeats itself:
// a program's steady part does. `keys`: of the timing pass' launches, equal for launches that match.
std::optional<Cut> find_cut(const PassLog& timing, const PassLog& access, const std::vector<StreamPair>& streams,
                            const std::vector<std::uint64_t>& keys, std::uint32_t thousandths);

}  // namespace uvmtrace
