#include "sim/layout/caching_allocator.h"

#include <algorithm>

#include "sim/common/check.h"

namespace uvmsim::layout {

namespace {
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kRounding = 512;              // of every request
constexpr std::uint64_t kSmall = kMiB;                // requests up to this go to small segments
constexpr std::uint64_t kSmallSegment = 2 * kMiB;     // their size
constexpr std::uint64_t kOwnSegment = 10 * kMiB;      // requests from this on have a segment of their own size
constexpr std::uint64_t kSharedSegment = 20 * kMiB;   // what those between share
constexpr std::uint64_t kSegmentRounding = 2 * kMiB;  // of segments of their own size
constexpr std::uint64_t kLargestRemainder = kMiB;     // of a large block that is not split off
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 46;

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

std::uint64_t segment_bytes(std::uint64_t bytes) {
  if (bytes <= kSmall) return kSmallSegment;
  return bytes < kOwnSegment ? kSharedSegment : rounded_up(bytes, kSegmentRounding);
}
}  // namespace

CachingAllocator::FreeBlock CachingAllocator::entry(std::uint64_t segment, std::uint64_t offset) const {
  const Segment& s = segments_[segment];
  return {s.stream, s.blocks.at(offset).bytes, s.address + offset, segment, offset};
}

std::uint64_t CachingAllocator::open_segment(std::uint64_t bytes, std::uint32_t stream, std::uint64_t address) {
  const std::uint64_t size = segment_bytes(bytes);
  Segment segment{address != 0 ? address : end_address_, stream, bytes <= kSmall, {}};
  segment.blocks.emplace(0, Block{size, true});
  end_address_ = std::max(end_address_, segment.address + size);
  reserved_bytes_ += size;
  segments_.push_back(std::move(segment));
  return segments_.size() - 1;
}

CachingAllocator::Placed CachingAllocator::allocate(std::uint64_t bytes, std::uint32_t stream,
                                                    std::uint64_t segment_address) {
  UVMSIM_CHECK(bytes != 0 && bytes <= kMaxBytes, "{} bytes requested", bytes);
  const std::uint64_t size = rounded_up(bytes, kRounding);
  std::set<FreeBlock>& pool = size <= kSmall ? small_ : large_;
  Placed placed;
  placed.id = next_id_++;
  const auto best = pool.lower_bound(FreeBlock{stream, size, 0, 0, 0});
  if (best != pool.end() && std::get<0>(*best) == stream) {
    placed.segment = std::get<3>(*best);
    placed.offset = std::get<4>(*best);
    pool.erase(best);
  } else {
    placed.segment = open_segment(size, stream, segment_address);
    placed.new_segment = true;
  }
  Segment& segment = segments_[placed.segment];
  const auto block = segment.blocks.find(placed.offset);
  const std::uint64_t left = block->second.bytes - size;
  if (segment.small ? left >= kRounding : left > kLargestRemainder) {
    block->second.bytes = size;
    segment.blocks.emplace(placed.offset + size, Block{left, true});
    pool.insert(entry(placed.segment, placed.offset + size));
  }
  block->second.free = false;
  placed.bytes = block->second.bytes;
  const auto& last = *segment.blocks.rbegin();
  placed.segment_bytes = last.first + last.second.bytes;
  allocated_bytes_ += placed.bytes;
  in_use_.emplace(placed.id, std::pair{placed.segment, placed.offset});
  return placed;
}

// The block and its right neighbour are free, and neither is in the pool.
void CachingAllocator::join_with_next(std::uint64_t segment, std::uint64_t offset) {
  auto& blocks = segments_[segment].blocks;
  const auto block = blocks.find(offset);
  const auto next = std::next(block);
  block->second.bytes += next->second.bytes;
  blocks.erase(next);
}

void CachingAllocator::free(std::uint64_t id) {
  const auto use = in_use_.find(id);
  UVMSIM_CHECK(use != in_use_.end(), "block {} is not in use", id);
  const std::uint64_t number = use->second.first;
  std::uint64_t offset = use->second.second;
  in_use_.erase(use);
  Segment& segment = segments_[number];
  std::set<FreeBlock>& pool = pool_of(segment);
  const auto block = segment.blocks.find(offset);
  allocated_bytes_ -= block->second.bytes;
  block->second.free = true;
  if (const auto next = std::next(block); next != segment.blocks.end() && next->second.free) {
    pool.erase(entry(number, next->first));
    join_with_next(number, offset);
  }
  if (block != segment.blocks.begin() && std::prev(block)->second.free) {
    offset = std::prev(block)->first;
    pool.erase(entry(number, offset));
    join_with_next(number, offset);
  }
  pool.insert(entry(number, offset));
}

}  // namespace uvmsim::layout
