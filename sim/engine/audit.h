// SPDX-License-Identifier: Apache-2.0
// The books of the model, checked as a whole: where every page is, what backs it, who maps it, what the counters say.
//
// UVMSIM_CHECK guards single steps; this compares all live blocks with the memory behind them and with the sums kept on
// the way. The engine calls it between operations in checked builds, so that no copy or eviction is half done.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/driver/context.h"

namespace uvmsim::engine {

// What left GPUs without a transfer that the counters show.
struct Ledger {
  std::uint64_t released_pages = 0;  // resident on a GPU when the program freed them
  bool copies_dropped = false;       // read duplication or discards happened: pages come and go without a copy
};

// Residency against backing, mappings, duplicates and the sums over all blocks:
//   - a dead block holds, maps and owns nothing; pages lie inside their allocation
//   - a page on a GPU has memory behind it, and every chunk in use belongs to the blocks that name it
//   - a page has more than one copy if and only if it is read-duplicated, and then it is mapped for writing nowhere
//   - what a processor maps is resident there or elsewhere; the host maps only its own memory
//   - pages resident, per processor, sum up to what the driver believes
// Throws ModelError that names the block. Time: proportional to the blocks of the address space.
void audit_memory(const AddressSpace& space, const std::vector<driver::GpuState>& gpus,
                  std::uint64_t host_resident_pages);
// Of the program with that region alone: pages that the host holds sum up to what its driver believes.
void audit_program(const AddressSpace& space, unsigned region, std::uint64_t host_resident_pages);

// Host memory of limited size, and the SSD below:
//   - what lies in memory, the host holds; what it holds lies in memory or on the SSD; freed blocks hold nothing
//   - the sums over all blocks are what the tier believes, and neither exceeds its capacity
void audit_host(const AddressSpace& space, const HostMemory& memory, std::uint64_t ssd_bytes);

// Conservation by the counters alone:
//   - pages copied to GPUs + pages populated there = resident there + copied to the host + released
//   - raw faults = duplicates + stale + serviced (+ throttled, which come again)
//   - one replay and one of read or write per fault batch
// Throws ModelError with both sides of the equation.
void audit_counters(const Counters& counters, const std::vector<driver::GpuState>& gpus, const Ledger& ledger);

}  // namespace uvmsim::engine
