// SPDX-License-Identifier: Apache-2.0
// Consistency checks of the whole model: where every page is, what backs it, which processors map it, and what the
// counters say.
//
// UVMSIM_CHECK guards single steps; an audit compares all live blocks with the memory behind them and with running
// sums. In builds with model checks the engine calls it between operations, when no copy or eviction is half done.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/driver/context.h"

namespace uvmsim::engine {

// Pages that left GPUs without a transfer in the counters.
struct Ledger {
  std::uint64_t released_pages = 0;  // resident on a GPU when the program freed them
  bool copies_dropped = false;       // with read duplication, discards, plans or harvesting pages move without a copy
};

// Checks residency against backing, mappings, duplicates and the sums over all blocks:
//   - a dead block holds, maps and owns nothing; pages lie inside their allocation
//   - a page on a GPU has memory behind it, and every chunk in use belongs to the blocks that name it
//   - a page has more than one copy if and only if it is read-duplicated, and then it is mapped for writing nowhere
//   - a page that a processor maps is resident there or elsewhere; the host maps only its own memory
//   - the resident pages of each processor sum up to the driver's count
// Throws ModelError that names the block. Time: proportional to the blocks that have state.
void audit_memory(const AddressSpace& space, const std::vector<driver::GpuState>& gpus,
                  std::uint64_t host_resident_pages);
// Checks that the pages that the host holds in that region sum up to the count of the program's driver.
void audit_program(const AddressSpace& space, unsigned region, std::uint64_t host_resident_pages);

// Checks host memory of limited size, and the SSD below it:
//   - pages in memory are the host's; the host's pages lie in memory or on the SSD; freed blocks hold nothing
//   - the sums over all blocks are the counts of the tier, and neither exceeds its capacity
void audit_host(const AddressSpace& space, const HostMemory& memory, std::uint64_t ssd_bytes);

// Checks conservation by the counters alone:
//   - pages copied to GPUs + pages populated there = resident there + copied to the host + released
//   - raw faults = duplicates + stale + serviced (+ throttled, which come again)
//   - every fault batch is a read or a write batch; no more evictions without a copy than evictions
// Throws ModelError with both sides of the equation.
void audit_counters(const Counters& counters, const std::vector<driver::GpuState>& gpus, const Ledger& ledger);

}  // namespace uvmsim::engine
