// SPDX-License-Identifier: Apache-2.0
// A model of the allocator of TensorFlow and XLA (JAX), best fit with coalescing (xla/tsl/framework/bfc_allocator.cc):
// the placement of tensors in the arena that was reserved at the start.
//
// Requests are rounded up to 256 bytes. The smallest free chunk that is large enough is taken, at equal size the one at
// the lowest address, for any stream. A chunk of twice the request, or 128 MiB more, is split: the request gets its low
// end. Freed chunks are merged with free neighbours. Nothing is returned to the driver. Without growth the first
// request reserves the whole arena; with growth (TensorFlow's allow_growth) regions of 2 MiB, 4 MiB, 8 MiB and so on,
// or more if a request needs it, until together they are as large as the arena. Not modelled: chunks with time stamps,
// partitions, returning free regions when growth has ended, waiting for other threads to free something.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "sim/layout/tensor_allocator.h"

namespace uvmsim::layout {

class BestFitAllocator final : public TensorAllocator {
 public:
  // `arena_bytes` is the size of all regions, a multiple of 2 MiB above 0.
  BestFitAllocator(std::uint64_t arena_bytes, bool allow_growth);

  void add_state(StateDigest& digest) const override;

 protected:
  // A segment is a region. Regions are placed in the order in which they were opened, independently of their recorded
  // address.
  Placed place(std::uint64_t bytes, std::uint32_t stream, std::uint64_t segment_address) override;
  std::uint64_t free_block(const Place& place) override;

 private:
  struct Chunk {
    std::uint64_t bytes = 0;
    bool free = true;
  };
  using Chunks = std::map<std::uint64_t, Chunk>;  // by offset; they cover the region; no two neighbours are free
  struct FreeChunk {
    std::uint64_t bytes = 0;
    Place place;  // region, offset
    auto operator<=>(const FreeChunk&) const = default;
  };

  bool extend(std::uint64_t size);
  bool has_chunk_for(std::uint64_t size) const { return free_.lower_bound({size, {}}) != free_.end(); }
  void make_room(std::uint64_t bytes, std::uint64_t size);

  std::uint64_t next_region_bytes_;
  std::vector<Chunks> regions_;
  std::set<FreeChunk> free_;
};

}  // namespace uvmsim::layout
