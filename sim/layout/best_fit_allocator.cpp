// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/best_fit_allocator.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/error.h"

namespace uvmsim::layout {

namespace {
constexpr std::uint64_t kRequestRounding = 256;
constexpr std::uint64_t kFirstRegion = std::uint64_t{2} << 20;    // with growth
constexpr std::uint64_t kMostSlack = (std::uint64_t{128} << 20);  // a chunk this much larger than the request is split
}  // namespace

BestFitAllocator::BestFitAllocator(std::uint64_t arena_bytes, bool allow_growth)
    : TensorAllocator({.memory_limit_bytes = arena_bytes}),
      next_region_bytes_(allow_growth ? std::min(kFirstRegion, arena_bytes) : arena_bytes) {
  UVMSIM_CHECK(arena_bytes != 0 && arena_bytes % kFirstRegion == 0, "an arena of {} bytes", arena_bytes);
}

// Opens another region with room for a chunk of that size; returns false where the arena has no room.
bool BestFitAllocator::extend(std::uint64_t size) {
  const std::uint64_t left = settings_.memory_limit_bytes - reserved_bytes_;
  if (size > left) return false;
  const bool large_enough = size <= next_region_bytes_;
  while (size > next_region_bytes_) next_region_bytes_ *= 2;
  const std::uint64_t bytes = std::min(next_region_bytes_, left);
  if (large_enough) next_region_bytes_ *= 2;
  take({segment_count_, 0, bytes});
  regions_.push_back({{0, Chunk{bytes, true}}});
  free_.insert({bytes, {segment_count_, 0}});
  ++segment_count_;
  return true;
}

// Makes room for a chunk of `size`, for a tensor of `bytes`.
void BestFitAllocator::make_room(std::uint64_t bytes, std::uint64_t size) {
  if (has_chunk_for(size) || extend(size)) return;
  finish_all();
  if (has_chunk_for(size)) return;
  throw_input_error(
      "the preallocated arena is out of memory: a tensor of {} bytes needs {} in one piece; the arena has {}, {} are "
      "in "
      "use, the largest free piece has {}; a larger arena_bytes or memory_fraction lets it run",
      bytes, size, settings_.memory_limit_bytes, allocated_bytes_, free_.empty() ? 0 : free_.rbegin()->bytes);
}

BestFitAllocator::Placed BestFitAllocator::place(std::uint64_t bytes, std::uint32_t /*stream*/,
                                                 std::uint64_t /*segment_address*/) {
  const std::uint64_t size = rounded_up(bytes, kRequestRounding);
  const std::uint64_t regions_before = segment_count_;
  make_room(bytes, size);
  const auto best = free_.lower_bound({size, {}});
  const auto [found, place] = *best;
  free_.erase(best);
  Chunks& chunks = regions_[place.segment];
  Chunk& chunk = chunks.at(place.offset);
  if (found >= 2 * size || found - size >= kMostSlack) {
    chunk.bytes = size;
    chunks.emplace(place.offset + size, Chunk{found - size, true});
    free_.insert({found - size, {place.segment, place.offset + size}});
  }
  chunk.free = false;
  return {.segment = place.segment,
          .segment_bytes = chunks.rbegin()->first + chunks.rbegin()->second.bytes,
          .offset = place.offset,
          .bytes = chunk.bytes,
          .new_segment = segment_count_ != regions_before};
}

std::uint64_t BestFitAllocator::free_block(const Place& place) {
  Chunks& chunks = regions_[place.segment];
  auto chunk = chunks.find(place.offset);
  const std::uint64_t freed = chunk->second.bytes;
  chunk->second.free = true;
  chunk = join_with_free_neighbours(chunks, chunk, [&](Chunks::iterator it) {
    free_.erase({it->second.bytes, {place.segment, it->first}});
  });
  free_.insert({chunk->second.bytes, {place.segment, chunk->first}});
  return freed;
}

void BestFitAllocator::add_state(StateDigest& digest) const {
  digest.add(next_region_bytes_);
  for (const Chunks& chunks : regions_) {
    digest.add(chunks.size());
    for (const auto& [offset, chunk] : chunks) {
      digest.add(offset);
      digest.add(chunk.bytes << 1 | std::uint64_t{chunk.free});
    }
  }
}

}  // namespace uvmsim::layout
