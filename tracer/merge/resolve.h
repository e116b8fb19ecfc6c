// SPDX-License-Identifier: Apache-2.0
// Converts a launch's absolute quanta and pages to its accesses to each thing.
#pragma once

#include <cstdint>
#include <vector>

#include "tracer/merge/event.h"
#include "tracer/merge/world.h"

namespace uvmtrace {

struct Slot {
  ThingIndex thing = kNothing;
  std::vector<trace::Extent> extents;  // quanta from the thing's start: ascending, disjoint, within its size
};
struct SlotPhase {
  std::uint64_t first_block = 0, block_count = 0;
  std::vector<trace::PhaseAccess> accesses;  // slots ascending; subsets of the slot's extents, mode by mode
};

struct ResolvedLaunch {
  bool patched = false;
  std::vector<Slot> slots;        // by thing, ascending
  std::vector<SlotPhase> phases;  // ascending, covering the whole grid; empty if they give no information
  bool linear = false;            // there were phases, but they only described an even split of the grid
  std::vector<trace::FirstTouch> order;
  std::vector<trace::UnitCount> counts;
  std::uint64_t unknown = 0;   // accesses, and quanta outside of every live thing
  std::vector<Slot> operands;  // the operands that the framework's operator around it names, if any
};

// Sorts and joins extents; where they overlap, combines the modes.
void normalize(std::vector<trace::Extent>& extents);

// Returns the union of two lists, which are ascending and disjoint, as is the result; modes are combined.
std::vector<trace::Extent> unite(const std::vector<trace::Extent>& a, const std::vector<trace::Extent>& b);

// Resolves all accesses of the launch at the current point of its pass.
ResolvedLaunch resolve(const Launch& launch, const World& world);

// Returns the parts of things that the ranges cover, as extents by thing, ascending. Left out are ranges outside of any
// thing, and in memory that a framework divides into tensors ranges outside of live tensors.
std::vector<Slot> resolve_ranges(const std::vector<AddressRange>& ranges, const World& world);

}  // namespace uvmtrace
