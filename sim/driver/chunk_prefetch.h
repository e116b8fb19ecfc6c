// SPDX-License-Identifier: Apache-2.0
// Blocks beyond a fault batch come ahead of need, until the next batch: HUVM's prefetch (Choi et al., USENIX ATC '22).
//
// After a batch the helper looks at so many blocks, a stride apart: above the batch's last address if the batch lies
// above the one before, else below its first. Those in spare memory come over NVLink by a thread of their own. Those on
// the host come over the GPU's own link, or over those of peers into their spare memory, as the route policy says. A
// new batch drops what has not begun. Reference: the released driver, as told in its source.
//
// At most two copies are on their way over one path: links do not idle, and a batch waits for two blocks at most. Pages
// are resident when their copy begins, for the books, and mapped when it is done; a fault on them waits for it.
#pragma once

#include <array>
#include <vector>

#include "sim/driver/harvest_moves.h"
#include "sim/driver/thrashing.h"

namespace uvmsim::driver {

class ChunkPrefetch {
 public:
  // All must outlive it.
  ChunkPrefetch(DriverContext& context, Residency& residency, Thrashing& thrashing, HarvestMoves& moves);

  // The GPU's next batch is being fetched.
  void stop(unsigned gpu);
  // A batch with faults from the first to the last page was served; the helper is free from `start` on.
  void plan(unsigned gpu, PageIndex first, PageIndex last, Nanoseconds start);

  // Begins what can begin now, maps what has come. Kernels have computed up to `now`.
  void step(unsigned gpu, Nanoseconds now);
  // When to call it next; the end of time: there is nothing to do.
  Nanoseconds next_step(unsigned gpu) const;

  // When the block, on its way to the GPU, is there; 0 if it is not on its way.
  Nanoseconds arrival(unsigned gpu, BlockIndex block) const;

 private:
  static constexpr unsigned kMostCopies = 2;  // over one path
  struct Thread {
    std::vector<BlockIndex> waiting;  // the next one last
    Nanoseconds free_at{};
  };
  struct Copy {
    Nanoseconds done{};
    BlockIndex block;
    PageMask pages;      // to be mapped; none of a copy into spare memory
    ProcessorId from{};  // its path
    ProcessorId to{};
  };
  struct Helper {
    Thread from_peers, from_host;
    std::vector<Copy> copies;  // on their way
    PageIndex last{};          // fault of the batch before
    bool began = false;
    Nanoseconds now{};
  };
  enum class Outcome : std::uint8_t { kBegan, kNotNeeded, kPathBusy };

  bool path_busy(const Helper& helper, ProcessorId from, ProcessorId to) const;
  void run(unsigned gpu, Thread& thread, Outcome (ChunkPrefetch::*begin)(Work&, unsigned, BlockIndex));
  Outcome begin_from_peer(Work& work, unsigned gpu, BlockIndex block);
  Outcome begin_from_host(Work& work, unsigned gpu, BlockIndex block);
  Outcome bring(Work& work, unsigned gpu, BlockIndex block, ProcessorId from, std::uint64_t& counter,
                const policy::Route* way);

  DriverContext& context_;
  Residency& residency_;
  Thrashing& thrashing_;
  HarvestMoves& moves_;
  std::vector<Helper> helpers_;  // by GPU
};

}  // namespace uvmsim::driver
