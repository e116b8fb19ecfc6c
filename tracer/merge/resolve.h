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
  std::vector<trace::Extent> extents;  // quanta from the thing's start: ascending, apart, within its size
};
struct SlotPhase {
  std::uint64_t first_block = 0, block_count = 0;
  std::vector<trace::PhaseAccess> accesses;  // slots ascending; subsets of the slot's extents, mode by mode
};

struct ResolvedLaunch {
  bool patched = false;
  std::vector<Slot> slots;        // by thing, ascending
  std::vector<SlotPhase> phases;  // ascending, together the whole grid; empty when they say nothing
  bool linear = false;            // there were phases, which said no more than an even split of the grid
  std::vector<trace::FirstTouch> order;
  std::vector<trace::UnitCount> counts;
  std::uint64_t unknown = 0;   // accesses, and quanta beyond every live thing
  std::vector<Slot> operands;  // the operands that the framework's operator around it names, if any
};

// Sorts, joins and where they overlap unites the modes.
void normalize(std::vector<trace::Extent>& extents);

// Both lists ascend and do not overlap in themselves; neither does the result, in the modes of both.
std::vector<trace::Extent> unite(const std::vector<trace::Extent>& a, const std::vector<trace::Extent>& b);

// Everything of the launch at the present moment of its pass.
ResolvedLaunch resolve(const Launch& launch, const World& world);

// The things that the ranges lie in, as extents; ranges of no thing are left out, and in memory that a framework cuts
// into tensors those of no live tensor. By thing, ascending.
std::vector<Slot> resolve_ranges(const std::vector<AddressRange>& ranges, const World& world);

}  // namespace uvmtrace
