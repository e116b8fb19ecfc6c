// SPDX-License-Identifier: Apache-2.0
// Access counters of GPUs with a coherent link to the host: they count accesses to memory of the host in place, and the
// driver's thread moves what they name, while kernels run.
//
// Follows NVIDIA UVM 595 uvm_gpu_access_counters.c. The GPU has 256 counters, each for a region of 2 MB (a VA block)
// with a bit per 64 KB; of more regions it forgets those used longest ago. A counter that reaches the threshold sends a
// notification with the page at hand and counts on from 0. The driver serves notifications in order, on the thread that
// serves faults:
//   system memory   the page of the host that was named, and what the prefetcher adds within the 2 MB; used in place
//                   until it has arrived
//   managed memory  all 64 KB that were flagged where the host's memory is one page of 2 MB, else the named one
//   with a policy in the slot `migrate`, what that fetches
// How long a notification waits and what serving it costs was fitted to five programs
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

  // Whether accesses to the block in place can move it.
  bool counts(unsigned gpu, BlockIndex block) const;
  // The GPU read and wrote so many bytes of one page of the host in place, around `at`.
  void count(unsigned gpu, BlockIndex block, unsigned page, std::uint64_t read_bytes, std::uint64_t written_bytes,
             Nanoseconds at);
  // The driver's thread serves what it can begin by `now`; what has arrived by then is on the GPU.
  void advance(unsigned gpu, Nanoseconds now);
  void advance_all(Nanoseconds now) {
    for (unsigned gpu = 0; gpu < gpus_.size(); ++gpu) advance(gpu, now);
  }
  // Until when the thread is busy; it serves faults until then.
  Nanoseconds busy_until(unsigned gpu) const { return gpus_[gpu].busy_until; }
  void occupy(unsigned gpu, Nanoseconds until) { gpus_[gpu].busy_until = until; }

  // The block was freed: its counters and notifications are void.
  void forget(BlockIndex block);
  void add_state(StateDigest& digest) const;

 private:
  struct Region {
    BlockIndex block;
    std::uint64_t accesses = 0;  // below the threshold
    PageMask touched;            // since it last reached that
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
    std::vector<Region> regions;  // the one used last comes last
    std::deque<Notification> queue;
    std::vector<Move> move;  // in hand: one or none
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
