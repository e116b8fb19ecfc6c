// SPDX-License-Identifier: Apache-2.0
// GPU memory for pages that arrive: a free chunk if there is one, else the eviction policy's victim.
#pragma once

#include <span>
#include <vector>

#include "sim/driver/departures.h"

namespace uvmsim::driver {

// A block that needs memory of a GPU. Evictions for it do not take memory of the blocks in `spared`, which are
// ascending.
struct Demand {
  BlockIndex block;
  unsigned gpu = 0;
  std::span<const BlockIndex> spared = {};
};

class ChunkSupply {
 public:
  ChunkSupply(DriverContext& context, Backing& backing, Departures& departures)
      : context_(context), backing_(backing), departures_(departures) {}

  // Makes sure that every page has GPU memory behind it, which cannot be evicted until settle(). Adds evictions to
  // `moved`.
  void back(Work& work, const Demand& demand, const PageMask& pages, Moved& moved);
  // Ends an operation: the memory that it allocated can be evicted again. serve_early_victims() comes next.
  void settle(unsigned gpu);
  Moved serve_early_victims(Work& work, const Demand& demand);

  // Returns whether back() finds memory for the pages without evicting spared blocks.
  bool has_room(const Demand& demand, const PageMask& pages) const;
  // Evicts the block's own root chunk, which must be evictable; the chunk becomes the free one that is reused last. No
  // operation waits for the copy. With `drop` the contents are not copied, and the next touch populates the pages.
  void evict_early(Work& work, unsigned gpu, BlockIndex block, bool drop);
  // Evicts the next victim ahead of need. Returns false if there is none.
  bool pre_evict(Work& work, const Demand& demand, Moved& moved);
  // Takes a root chunk away from managed memory until return_unmanaged(), evicting if none is free. Returns an invalid
  // id if nothing can be evicted. Sets `pages_left` if pages left the GPU for it.
  ChunkId take_unmanaged(Work& work, unsigned gpu, bool& pages_left);
  void return_unmanaged(unsigned gpu, ChunkId chunk);

 private:
  class Question;

  ChunkId take(unsigned gpu, ChunkId victim);
  ChunkId select_victim(Work& work, const Question& question);
  ChunkId select_early_victim(Work& work, const Question& question);
  ChunkId checked(const Question& question, ChunkId victim);
  bool take_back_lent(Work& work, unsigned gpu);
  ChunkId allocate_root(Work& work, const Demand& demand, Moved& moved);
  void reclaim_batch(Work& work, const Demand& demand, Moved& moved);
  void back_small(Work& work, const Demand& demand, const PageMask& pages, Moved& moved);
  void empty_root(Work& work, unsigned gpu, ChunkId victim, Moved& moved);
  void empty_small(Work& work, unsigned gpu, Moved& moved);
  void count_eviction(Work& work, unsigned gpu, std::uint64_t address, std::uint64_t copied_bytes);
  void spend_page_tables(Work& work, BlockIndex block, unsigned gpu);
  void tell_allocated(unsigned gpu, ChunkId chunk, policy::ContentIndex content, BlockIndex block);
  [[noreturn]] void nothing_to_evict(unsigned gpu) const;

  DriverContext& context_;
  Backing& backing_;
  Departures& departures_;
  std::vector<ChunkId> leaving_;  // victims of one operation that are emptied together
  std::vector<ChunkId> pinned_;   // chunks taken by the operation in progress
};

}  // namespace uvmsim::driver
