// SPDX-License-Identifier: Apache-2.0
// A model of PyTorch's caching allocator with expandable segments (c10/cuda/CUDACachingAllocator).
//
// Each stream has one segment for small requests and one for large ones. A segment is a reservation of addresses in
// which memory is mapped in handles of 2 MiB (small) or 20 MiB (large), as many as a request needs, at the lowest
// address that has room for it together with adjacent free blocks. The best block is the smallest one that is large
// enough; a block before unmapped addresses counts together with them, so that the end of a segment is used last.
// Remainders of at least 512 bytes are split off. empty_cache(), and reaching the limit, unmap all handles that no
// block in use shares. When a segment has no room left, another is opened.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/layout/tensor_allocator.h"

namespace uvmsim::layout {

class ExpandableAllocator final : public TensorAllocator {
 public:
  explicit ExpandableAllocator(const AllocatorSettings& settings = {}) : TensorAllocator(settings) {}

  void add_state(StateDigest& digest) const override;

 protected:
  // Segments are placed in the order in which they were opened, independently of their recorded address.
  Placed place(std::uint64_t bytes, std::uint32_t stream, std::uint64_t segment_address) override;
  std::uint64_t free_block(const Place& place) override;
  void give_back_unused() override;

 private:
  enum class State : std::uint8_t { kInUse, kFree, kUnmapped };  // kUnmapped: addresses without memory
  struct Block {
    std::uint64_t bytes = 0;
    State state = State::kUnmapped;
  };
  // Blocks by offset. They cover the segment; neighbours that are both free or both unmapped are joined into one block.
  using Blocks = std::map<std::uint64_t, Block>;
  struct Segment {
    std::uint64_t bytes = 0, handle_bytes = 0;
    std::uint32_t stream = 0;
    Blocks blocks;  // empty after it was returned
  };
  using FreeBlock = std::tuple<std::uint32_t, std::uint64_t, Place>;  // stream, bytes
  struct Pool {
    std::set<FreeBlock> free;
    std::set<std::pair<std::uint32_t, Place>> unmapped;  // stream
  };

  Pool& pool_of(const Segment& segment) { return segment.handle_bytes == small_handle() ? small_ : large_; }
  static std::uint64_t small_handle();
  void set(const Place& place, const Block& block);
  void unset(const Place& place);
  void join(Place place);
  std::uint64_t expandable_bytes(const FreeBlock& block) const;
  std::optional<Place> find(const Pool& pool, std::uint32_t stream, std::uint64_t size) const;
  Place find_addresses(const Pool& pool, std::uint32_t stream, std::uint64_t size, std::uint64_t handle_bytes,
                       bool& opened);
  Place map(Place place, std::uint64_t bytes);
  void unmap_free(const Pool& pool);

  std::vector<Segment> segments_;
  Pool small_, large_;
};

}  // namespace uvmsim::layout
