// SPDX-License-Identifier: Apache-2.0
// A model of PyTorch's caching allocator (c10/cuda/CUDACachingAllocator): the placement of tensors in segments.
//
// Requests are rounded up to 512 bytes. Up to 1 MiB they come from segments of 2 MiB, below 10 MiB from segments of 20
// MiB, larger ones from segments of their own size rounded up to 2 MiB. The smallest free block of the stream that is
// large enough is taken, at equal size the one at the lowest address; the remainder is split off if it has at least 512
// bytes (small blocks) or more than 1 MiB (large blocks). Freed blocks are merged with free neighbours in their
// segment. With a maximal split size, larger blocks are neither split nor given to smaller requests. Only whole free
// segments are returned to the driver: by empty_cache(), and if there is a limit. When it is reached, first those of
// the maximal split size and larger that make room are returned, then all; and earlier, once more than the threshold is
// in use, large ones that were free for at least as many searches as the mean of all. Not modelled: private pools of
// CUDA graphs, several GPUs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sim/layout/tensor_allocator.h"

namespace uvmsim::layout {

class CachingAllocator final : public TensorAllocator {
 public:
  explicit CachingAllocator(const AllocatorSettings& settings = {}) : TensorAllocator(settings) {}

  void add_state(StateDigest& digest) const override;

 protected:
  Placed place(std::uint64_t bytes, std::uint32_t stream, std::uint64_t segment_address) override;
  std::uint64_t free_block(const Place& place) override;
  void give_back_unused() override;

 private:
  struct Block {
    std::uint64_t bytes = 0;
    bool free = true;
    std::uint64_t free_since = 0;  // number of searches of its pool when it was put there
  };
  struct Segment {
    std::uint64_t address = 0, bytes = 0;
    std::uint32_t stream = 0;
    bool small = false;
    std::map<std::uint64_t, Block> blocks;  // by offset; they cover the segment; none when it was returned
  };
  // Free blocks are sorted by these members, in the order in which a search prefers them.
  struct FreeBlock {
    std::uint32_t stream = 0;
    std::uint64_t bytes = 0, address = 0;
    Place place;
    auto operator<=>(const FreeBlock&) const = default;
  };
  struct Pool {
    std::set<FreeBlock> blocks;
    std::uint64_t searches = 0;
  };

  FreeBlock entry(const Place& place) const;
  Pool& pool_of(const Segment& segment) { return segment.small ? small_ : large_; }
  void put(const Place& place);
  bool too_large_to_split(std::uint64_t bytes) const {
    return settings_.max_split_size_bytes != 0 && bytes >= settings_.max_split_size_bytes;
  }
  std::optional<FreeBlock> find(Pool& pool, std::uint32_t stream, std::uint64_t size);
  std::uint64_t open_segment(std::uint64_t size, std::uint32_t stream, std::uint64_t address);
  bool is_whole(const FreeBlock& block) const;
  void give_back(const FreeBlock& block);
  void give_back_whole(const Pool& pool);
  bool give_back_oversize(const Pool& pool, std::uint32_t stream, std::uint64_t size);
  void collect_garbage();

  std::vector<Segment> segments_;
  Pool small_, large_;
  std::uint64_t end_address_ = 0;  // above all segments
};

}  // namespace uvmsim::layout
