// SPDX-License-Identifier: Apache-2.0
// The common part of the models of frameworks' allocators, which turn requests for tensors into places in segments.
//
// A segment is memory that the allocator reserved from the driver: one allocation for the caching allocator and for
// regions of an arena; for expandable segments a reservation of which only a part has memory. Settings and rounding are
// those of PyTorch, c10/cuda/CUDACachingAllocator.cpp.
#pragma once

#include <cstdint>
#include <iterator>
#include <set>
#include <unordered_map>
#include <vector>

#include "sim/common/state_digest.h"

namespace uvmsim::layout {

struct AllocatorSettings {
  // Blocks from this size on are not split and serve only such requests; 0: none.
  std::uint64_t max_split_size_bytes = 0;
  std::uint64_t max_non_split_rounding_bytes = std::uint64_t{20} << 20;  // how much larger than the request they may be
  std::uint64_t roundup_power2_divisions = 0;  // steps between two powers of two that requests are rounded to; 0: none
  std::uint64_t memory_limit_bytes = 0;        // of all segments; 0: none
  double garbage_collection_threshold = 0;     // share of the limit above which old segments are returned; 0: never
  std::uint64_t reservation_bytes = std::uint64_t{1} << 46;  // of an expandable segment
};

constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

// PyTorch's rounding of requests of 1 to 2^47 bytes, and the decisions that follow from the rounded size.
std::uint64_t rounded_request(std::uint64_t bytes, const AllocatorSettings& settings);
bool is_small_request(std::uint64_t rounded_bytes);
std::uint64_t segment_bytes_for(std::uint64_t rounded_bytes);  // of the segment that is opened for it

class TensorAllocator {
 public:
  struct Placed {
    std::uint64_t id = 0;       // the argument of free(); never reused
    std::uint64_t segment = 0;  // in the order in which segments were opened, from 0
    std::uint64_t segment_bytes = 0;
    std::uint64_t offset = 0;  // in the segment
    std::uint64_t bytes = 0;   // the block's size: rounded, and larger if no remainder was split off
    bool new_segment = false;  // opened for this request
  };
  struct Place {
    std::uint64_t segment = 0, offset = 0;
    auto operator<=>(const Place&) const = default;
  };
  // Memory within a segment.
  struct Range {
    std::uint64_t segment = 0, offset = 0, bytes = 0;
    bool operator==(const Range&) const = default;
  };

  explicit TensorAllocator(const AllocatorSettings& settings) : settings_(settings) {}
  virtual ~TensorAllocator() = default;

  // Places a request of 1 to 2^47 bytes. A segment that is opened for it gets the address `segment_address`, which
  // decides between equally large free blocks; 0: above all segments so far. Throws InputError if the limit leaves no
  // room.
  Placed allocate(std::uint64_t bytes, std::uint32_t stream, std::uint64_t segment_address = 0);
  void free(std::uint64_t id);
  // Returns all memory to the driver that no block in use shares, as torch.cuda.empty_cache() does.
  void empty_cache();

  // Adds everything that determines the places of later requests.
  virtual void add_state(StateDigest& digest) const = 0;

  // A block that other streams may still use is freed in two steps; in between it is in use. finish() has no effect if
  // an allocation that hit the limit has already waited for the block.
  void free_later(std::uint64_t id) { waiting_.insert(id); }
  void finish(std::uint64_t id) {
    if (waiting_.erase(id) != 0) free(id);
  }
  bool is_waiting(std::uint64_t id) const { return waiting_.contains(id); }

  // The ranges of the last allocate() or empty_cache(): first returned, then taken.
  const std::vector<Range>& released() const { return released_; }
  const std::vector<Range>& taken() const { return taken_; }

  std::uint64_t segment_count() const { return segment_count_; }      // opened so far
  std::uint64_t reserved_bytes() const { return reserved_bytes_; }    // memory of all segments
  std::uint64_t allocated_bytes() const { return allocated_bytes_; }  // of all blocks in use

 protected:
  bool room_for(std::uint64_t bytes) const {
    return settings_.memory_limit_bytes == 0 || reserved_bytes_ + bytes <= settings_.memory_limit_bytes;
  }
  // Places a request; fills in all of `Placed` but the id.
  virtual Placed place(std::uint64_t bytes, std::uint32_t stream, std::uint64_t segment_address) = 0;
  // Frees the block at `place`. Returns its size.
  virtual std::uint64_t free_block(const Place& place) = 0;
  // Returns memory that no block in use shares to the driver. No freed block is waiting then.
  virtual void give_back_unused() {}

  // Merges the free block at `block` with its free neighbours in a segment's blocks by offset, and returns the result.
  // `take_off` is called for each neighbour before.
  template <class Blocks, class TakeOff>
  static typename Blocks::iterator join_with_free_neighbours(Blocks& blocks, typename Blocks::iterator block,
                                                             const TakeOff& take_off) {
    const auto swallow_next = [&](typename Blocks::iterator first) {
      const auto next = std::next(first);
      first->second.bytes += next->second.bytes;
      blocks.erase(next);
    };
    if (const auto next = std::next(block); next != blocks.end() && next->second.free) {
      take_off(next);
      swallow_next(block);
    }
    if (block != blocks.begin() && std::prev(block)->second.free) {
      take_off(--block);
      swallow_next(block);
    }
    return block;
  }

  // Returns memory to the driver, because the limit leaves no room for a segment of that size, which a tensor of
  // `bytes` needs. Throws InputError if this is not enough.
  void give_back_for(std::uint64_t bytes, std::uint64_t segment_bytes);
  void take(const Range& range);
  void release(const Range& range);
  void finish_all();

  AllocatorSettings settings_;
  std::vector<Range> released_, taken_;
  std::uint64_t segment_count_ = 0, reserved_bytes_ = 0, allocated_bytes_ = 0;

 private:
  std::unordered_map<std::uint64_t, Place> in_use_;  // by id
  std::uint64_t next_id_ = 1;
  std::set<std::uint64_t> waiting_;
};

}  // namespace uvmsim::layout
