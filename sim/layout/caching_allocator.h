// A model of PyTorch's caching allocator (c10/cuda/CUDACachingAllocator): which tensor lies where in which segment.
//
// Requests are rounded up to 512 bytes. Up to 1 MiB they come from segments of 2 MiB, below 10 MiB from segments of
// 20 MiB, larger ones from segments of their own size rounded up to 2 MiB. The smallest free block of the stream that
// is large enough is taken, at equal size the one at the lowest address; what is left over of a small block from 512
// bytes on, of a large one above 1 MiB, is split off. Freed blocks join free neighbours in their segment. Segments are
// never given back: with unified memory an allocation does not fail for lack of GPU memory. Not modelled: other
// settings than the default (max_split_size, garbage_collection_threshold, roundup_power2_divisions,
// expandable_segments), private pools of CUDA graphs, empty_cache().
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace uvmsim::layout {

class CachingAllocator {
 public:
  struct Placed {
    std::uint64_t id = 0;       // what free() takes; never reused
    std::uint64_t segment = 0;  // its number, counting from 0 in the order in which they were opened
    std::uint64_t segment_bytes = 0;
    std::uint64_t offset = 0;  // in the segment
    std::uint64_t bytes = 0;   // the block's: rounded, and more when the rest was not worth splitting off
    bool new_segment = false;  // opened for this request
  };

  // `bytes` 1 to 2^46. A segment that is opened here gets the address `segment_address`, which decides between equally
  // large free blocks; 0: above all segments so far.
  Placed allocate(std::uint64_t bytes, std::uint32_t stream, std::uint64_t segment_address = 0);
  // Of something that is allocated.
  void free(std::uint64_t id);

  std::uint64_t segment_count() const { return segments_.size(); }
  std::uint64_t reserved_bytes() const { return reserved_bytes_; }    // of all segments
  std::uint64_t allocated_bytes() const { return allocated_bytes_; }  // of all blocks in use

 private:
  struct Block {
    std::uint64_t bytes = 0;
    bool free = true;
  };
  struct Segment {
    std::uint64_t address = 0;
    std::uint32_t stream = 0;
    bool small = false;
    std::map<std::uint64_t, Block> blocks;  // by offset; they cover the segment
  };
  // Stream, bytes, address, then the block itself: where it is in its segment.
  using FreeBlock = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

  FreeBlock entry(std::uint64_t segment, std::uint64_t offset) const;
  std::set<FreeBlock>& pool_of(const Segment& segment) { return segment.small ? small_ : large_; }
  std::uint64_t open_segment(std::uint64_t bytes, std::uint32_t stream, std::uint64_t address);
  void join_with_next(std::uint64_t segment, std::uint64_t offset);

  std::vector<Segment> segments_;
  std::set<FreeBlock> small_, large_;
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> in_use_;  // id -> segment, offset
  std::uint64_t next_id_ = 1;
  std::uint64_t end_address_ = 0;  // above all segments
  std::uint64_t reserved_bytes_ = 0, allocated_bytes_ = 0;
};

}  // namespace uvmsim::layout
