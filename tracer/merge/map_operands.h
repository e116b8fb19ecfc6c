// SPDX-License-Identifier: Apache-2.0
// Determines a launch's reads and writes through its tensor maps.
//
// - The kernel's code says which copies take which map: loads read, stores write, reductions do both. A copy that may
//   take one of several takes all of them; where that is not sure, a map that only loads are known to take is none of a
//   store's, and the other way round, if one is left.
// - A copy whose map is not found in the code (it lies in device memory) may take any map that no other copy takes.
// - A copy whose map was not found in the launch is not explained: its map may be of a kind that is not read, or this
//   launch does not come to the copy. Then, and where the code was not read at all, the launch is not complete: its
//   other operands are looked for elsewhere.
// - Where one map loads what another map of the same content stores, it stays open whether that is read: kernels that
//   can add to their output get it twice. An operator says it; without one it counts as read.
// - A map's bytes are those of its dimensions; what a box has beyond them is not touched. A kernel goes over all of a
//   map, unless its copies stand in no loop and are too few: each thread copies a box at most once then, and as many
//   boxes count as there can be copies, the innermost dimension first (their number is right, their place is a guess).
#pragma once

#include <cstdint>
#include <vector>

#include "tracer/merge/event.h"

namespace uvmtrace {

struct MapOperands {
  std::vector<AddressRange> ranges;
  std::vector<AddressRange> undirected;  // by maps of which it is not known whether they are read or written
  bool complete = false;                 // these are all that the launch's tensor copies touch
  bool empty() const { return ranges.empty() && undirected.empty(); }
};

// `copies` is null where the kernel's code was not read.
MapOperands operands_of_maps(const Launch& launch, const std::vector<CopyCode>* copies);

}  // namespace uvmtrace
