// SPDX-License-Identifier: Apache-2.0
// Determines a launch's reads and writes through its tensor maps.
//
// - The kernel's code says which copies use which map: loads read, stores write, reductions do both. A copy that may
//   use one of several maps counts for all of them. If the alternatives are uncertain, maps that are only known to be
//   loaded are excluded for a store, and the reverse, as long as one map is left.
// - A copy whose map is not found in the code (it is in device memory) may use any map that no other copy uses.
// - If a copy's map was not found in the launch, the copy is unexplained: its map may be of a kind that is not read, or
//   this launch does not reach the copy. In this case, and if the code was not read at all, the launch is not complete:
//   its other operands are determined from other sources.
// - If one map loads the memory that another map of the same content stores, it stays open whether that memory is read,
//   because kernels that can add to their output get it twice. An operator decides it; without one it counts as read.
// - A map's bytes are those of its dimensions; the part of a box beyond them is not touched. A kernel covers a whole
//   map unless its copies are in no loop and too few. Then each thread copies a box at most once, and the number of
//   boxes is the number of possible copies, the innermost dimension first (the number is right, the place is a guess).
#pragma once

#include <cstdint>
#include <vector>

#include "tracer/merge/event.h"

namespace uvmtrace {

struct MapOperands {
  std::vector<AddressRange> ranges;
  std::vector<AddressRange> undirected;  // memory of maps for which it is not known whether they are read or written
  bool complete = false;                 // these are all accesses of the launch's tensor copies
  bool empty() const { return ranges.empty() && undirected.empty(); }
};

// `copies` is null if the kernel's code was not read.
MapOperands operands_of_maps(const Launch& launch, const std::vector<CopyCode>* copies);

}  // namespace uvmtrace
