// SPDX-License-Identifier: Apache-2.0
// Access counters of GPUs with a coherent link to the host: the GPUs count accesses to host memory in place, and the
// driver's thread migrates the pages that the notifications name, while kernels run.
//
// Follows NVIDIA UVM 595 uvm_gpu_access_counters.c. The GPU has 256 counters, each for a region of 2 MB (a VA block)
// with a bit per 64 KB; with more regions, the least recently used counter is reused. A counter that reaches the
// threshold sends a notification with the current page and restarts from 0. The driver serves notifications in order,
// on the thread that serves faults. A notification migrates:
//   system memory   the named page of the host and the prefetcher's additions within the 2 MB; they are used in place
//                   until they have arrived
//   managed memory  all flagged 64 KB units if the host's memory is one page of 2 MB, else the named page
//   with a policy in the slot `migrate`, the pages that the policy fetches
// The delay of a notification and the cost of serving it were fitted to five programs
// (configs/systems/gh200-96gb.json).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/driver/fault_service.h"
#include "sim/driver/system_memory.h"

namespace uvmsim::driver {

class CoherentCounters {
 public:
  CoherentCounters(DriverContext& context, FaultService& service, SystemMemory& system);

  // Returns whether the GPU's accesses to the block in place can migrate it.
  bool counts(unsigned gpu, BlockIndex block) const;
  // Counts bytes that the GPU read and wrote in place in one page of the host, around the time `at`.
  void count(unsigned gpu, BlockIndex block, unsigned page, std::uint64_t read_bytes, std::uint64_t written_bytes,
             Nanoseconds at);
  // Serves the notifications that the driver's thread can begin by `now`; moves that end by then have arrived.
  void advance(unsigned gpu, Nanoseconds now);
  void advance_all(Nanoseconds now) {
    for (unsigned gpu = 0; gpu < gpus_.size(); ++gpu) advance(gpu, now);
  }
  // Returns until when the driver's thread is busy with faults or notifications; faults call occupy().
  Nanoseconds busy_until(unsigned gpu) const { return gpus_[gpu].busy_until; }
  void occupy(unsigned gpu, Nanoseconds until) { gpus_[gpu].busy_until = until; }

  // Clears the counters and notifications of a block that was freed.
  void forget(BlockIndex block);
  void add_state(StateDigest& digest) const;

 private:
  struct Region {
    BlockIndex block;
    std::uint64_t accesses = 0;  // below the threshold
    PageMask touched;            // since the counter last reached the threshold
  };
  struct Notification {
    Nanoseconds due{};
    BlockIndex block;
    unsigned page = 0;
    PageMask touched;
  };
  struct Move {
    BlockIndex block;
    PageMask pages;
    Nanoseconds start{}, end{};
  };
  struct Gpu {
    std::vector<Region> regions;  // the most recently used one comes last
    std::deque<Notification> queue;
    std::vector<Move> move;  // under way: one or none
    Nanoseconds busy_until{};
  };
  Region& region_of(Gpu& state, BlockIndex block) const;
  void serve(unsigned gpu, const Notification& notification, Nanoseconds start);
  PageMask fetched_by_policy(unsigned gpu, const Notification& notification) const;

  DriverContext& context_;
  FaultService& service_;
  SystemMemory& system_;
  const bool moves_system_, moves_managed_;
  std::vector<Gpu> gpus_;
};

}  // namespace uvmsim::driver
