// SPDX-License-Identifier: Apache-2.0
// Moves pages of one process into spare memory of a peer, on to the host, and back: the process's part of Harvest.
#pragma once

#include "sim/driver/harvest.h"
#include "sim/driver/residency.h"

namespace uvmsim::driver {

class HarvestMoves {
 public:
  // Takes part in all moves from now on. Keeps references to all arguments.
  HarvestMoves(Harvest& harvest, DriverContext& context, Residency& residency);
  HarvestMoves(const HarvestMoves&) = delete;
  HarvestMoves& operator=(const HarvestMoves&) = delete;

  Harvest& harvest() { return harvest_; }

  // Copies the GPU's pages of the block to the host as well, from `start` on, for Harvest. Returns when that is done.
  Nanoseconds write_back(BlockIndex block, unsigned spare, Nanoseconds start);
  // Drops pages from spare memory that the host holds too; the chunk is free when the copy to the host is done. The
  // operation that needs the chunk spends the time of one eviction, because the driver locks, clears and pins the
  // chunk.
  void drop_spare_copy(Work& work, BlockIndex block, unsigned spare);

  // Returns the route of a block that is prefetched. If only the host holds the block, it may go to spare memory of a
  // peer on its way to the GPU, as a whole, and the host keeps its copy. `full` is that of choose_route().
  policy::Route way_ahead(Work& helper, BlockIndex block, unsigned gpu, TransferCause cause, std::uint32_t full = 0);
  void fetch_to_spare(Work& helper, BlockIndex block, unsigned gpu, unsigned spare, TransferCause cause);

  // Moves the pages `gone` of a victim to spare memory of a peer, `copied` of them over the link.
  void take(Work& work, BlockIndex block, unsigned gpu, unsigned spare, const PageMask& gone, const PageMask& copied);
  // Evicts ahead of need until the reserve is free, after pages of the block arrived on the GPU.
  void after_arrival(Work& work, BlockIndex served, unsigned gpu, std::span<const BlockIndex> spared, Moved& moved);
  // Fetches a block of a fault batch that was evicted before over the links of peers; other blocks stay on the host.
  // Returns whether it was fetched.
  bool fetch_far_block(Work& helper, unsigned gpu, BlockIndex block);

 private:
  bool may_go_to_spare(BlockIndex block) const;
  Nanoseconds push_to_spare(Work& work, BlockIndex block, ProcessorId from, unsigned spare, Nanoseconds start,
                            const Load& load);

  Harvest& harvest_;
  DriverContext& context_;
  Residency& residency_;
};

}  // namespace uvmsim::driver
