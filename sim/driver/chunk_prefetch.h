// SPDX-License-Identifier: Apache-2.0
// Prefetch of blocks beyond a fault batch, until the next batch: HUVM's prefetch (Choi et al., USENIX ATC '22).
//
// After a batch a helper thread visits `prefetch_chunks` blocks, `prefetch_stride` apart: above the batch's last
// address if the batch lies above the previous one, else below its first. Blocks in spare memory of a peer (harvest.h)
// are copied over NVLink by a separate thread. Blocks on the host are copied over the GPU's own link, or over links of
// peers into their spare memory, as the route policy says. A new batch cancels prefetches that have not begun.
// Reference: HUVM's source.
//
// At most two copies are in progress on one path: links do not idle, and a batch waits for two blocks at most. Pages
// are booked as resident when their copy begins, and mapped when it is done; a fault on them waits for it.
#pragma once

#include <array>
#include <vector>

#include "sim/driver/harvest_moves.h"
#include "sim/driver/thrashing.h"

namespace uvmsim::driver {

class ChunkPrefetch {
 public:
  // Keeps references to all arguments.
  ChunkPrefetch(DriverContext& context, Residency& residency, Thrashing& thrashing, HarvestMoves& moves);

  // Drops all prefetches that have not begun, as the GPU's next batch is being fetched.
  void stop(unsigned gpu);
  // Queues prefetches after a batch with faults from the first to the last page; the helper is free from `start` on.
  void plan(unsigned gpu, PageIndex first, PageIndex last, Nanoseconds start);

  // Maps the blocks that have arrived and begins the copies that can begin. Kernels have computed up to `now`.
  void step(unsigned gpu, Nanoseconds now);
  // Returns the time of the next call of step(); INT64_MAX if there is nothing to do.
  Nanoseconds next_step(unsigned gpu) const;

  // Returns when a block that is on its way to the GPU arrives; 0 if it is not on its way.
  Nanoseconds arrival(unsigned gpu, BlockIndex block) const;
  // Lets a batch wait until the block has arrived, because the prefetching thread holds the block's lock until then.
  void await(Work& work, unsigned gpu, BlockIndex block);

 private:
  static constexpr unsigned kMostCopies = 2;  // over one path
  struct Thread {
    std::vector<BlockIndex> waiting;  // the next one is at the back
    Nanoseconds free_at{};
  };
  struct Copy {
    Nanoseconds done{};
    BlockIndex block;
    PageMask pages;  // to be mapped; empty for a copy into spare memory
    ProcessorId from{};
    ProcessorId to{};
  };
  struct Helper {
    Thread from_peers, from_host;
    std::vector<Copy> copies;  // to be mapped after the copy; empty for a copy into spare memory
    PageIndex last{};          // last fault of the previous batch
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
