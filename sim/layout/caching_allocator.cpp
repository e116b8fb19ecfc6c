// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/caching_allocator.h"

#include <algorithm>

#include "sim/common/random.h"

namespace uvmsim::layout {

namespace {
// Smallest remainder of a small block that is split off.
constexpr std::uint64_t kSmallestRemainder = 512;
// Largest remainder of a large block that is not split off.
constexpr std::uint64_t kLargestUnsplit = std::uint64_t{1} << 20;
}  // namespace

CachingAllocator::FreeBlock CachingAllocator::entry(const Place& place) const {
  const Segment& s = segments_[place.segment];
  return {s.stream, s.blocks.at(place.offset).bytes, s.address + place.offset, place};
}

void CachingAllocator::put(const Place& place) {
  Pool& pool = pool_of(segments_[place.segment]);
  segments_[place.segment].blocks.at(place.offset).free_since = pool.searches;
  pool.blocks.insert(entry(place));
}

// Removes and returns the smallest block that is large enough, or nothing if the maximal split size forbids it: a block
// above that size serves only requests above it, and exceeds them by less than max_non_split_rounding_bytes.
std::optional<CachingAllocator::FreeBlock> CachingAllocator::find(Pool& pool, std::uint32_t stream,
                                                                  std::uint64_t size) {
  ++pool.searches;
  const auto best = pool.blocks.lower_bound({stream, size, 0, {}});
  if (best == pool.blocks.end() || best->stream != stream) return std::nullopt;
  const std::uint64_t bytes = best->bytes;
  if (!too_large_to_split(size) && too_large_to_split(bytes)) return std::nullopt;
  if (too_large_to_split(size) && bytes >= size + settings_.max_non_split_rounding_bytes) return std::nullopt;
  const FreeBlock found = *best;
  pool.blocks.erase(best);
  return found;
}

std::uint64_t CachingAllocator::open_segment(std::uint64_t size, std::uint32_t stream, std::uint64_t address) {
  Segment segment{address != 0 ? address : end_address_, segment_bytes_for(size), stream, is_small_request(size), {}};
  segment.blocks.emplace(0, Block{segment.bytes, true, 0});
  end_address_ = std::max(end_address_, segment.address + segment.bytes);
  take({segment_count_, 0, segment.bytes});
  segments_.push_back(std::move(segment));
  return segment_count_++;
}

CachingAllocator::Placed CachingAllocator::place(std::uint64_t bytes, std::uint32_t stream,
                                                 std::uint64_t segment_address) {
  const std::uint64_t size = rounded_request(bytes, settings_);
  Pool& pool = is_small_request(size) ? small_ : large_;
  Placed placed;
  if (const auto found = find(pool, stream, size)) {
    placed.segment = found->place.segment;
    placed.offset = found->place.offset;
  } else {
    const std::uint64_t segment_bytes = segment_bytes_for(size);
    collect_garbage();
    if (!room_for(segment_bytes) && !(give_back_oversize(pool, stream, size) && room_for(segment_bytes))) {
      give_back_for(bytes, segment_bytes);
    }
    placed.segment = open_segment(size, stream, segment_address);
    placed.new_segment = true;
  }
  Segment& segment = segments_[placed.segment];
  Block& block = segment.blocks.at(placed.offset);
  const std::uint64_t left = block.bytes - size;
  if (segment.small ? left >= kSmallestRemainder : !too_large_to_split(size) && left > kLargestUnsplit) {
    block.bytes = size;
    segment.blocks.emplace(placed.offset + size, Block{left, true, 0});
    put({placed.segment, placed.offset + size});
  }
  block.free = false;
  placed.bytes = block.bytes;
  placed.segment_bytes = segment.bytes;
  return placed;
}

std::uint64_t CachingAllocator::free_block(const Place& place) {
  Segment& segment = segments_[place.segment];
  const auto block = segment.blocks.find(place.offset);
  const std::uint64_t freed = block->second.bytes;
  block->second.free = true;
  const auto joined = join_with_free_neighbours(segment.blocks, block, [&](auto neighbour) {
    pool_of(segment).blocks.erase(entry({place.segment, neighbour->first}));
  });
  put({place.segment, joined->first});
  return freed;
}

bool CachingAllocator::is_whole(const FreeBlock& block) const {
  return block.bytes == segments_[block.place.segment].bytes;
}

void CachingAllocator::give_back(const FreeBlock& block) {
  const std::uint64_t number = block.place.segment;
  Segment& segment = segments_[number];
  pool_of(segment).blocks.erase(block);
  segment.blocks.clear();
  release({number, 0, segment.bytes});
}

void CachingAllocator::give_back_whole(const Pool& pool) {
  std::vector<FreeBlock> whole;
  for (const FreeBlock& block : pool.blocks) {
    if (is_whole(block)) whole.push_back(block);
  }
  for (const FreeBlock& block : whole) give_back(block);
}

void CachingAllocator::give_back_unused() {
  give_back_whole(large_);
  give_back_whole(small_);
}

// Returns one unsplit block to the driver that is as large as the request (and as the maximal split size), or several
// that are large enough together, the largest first. Returns whether they are enough.
bool CachingAllocator::give_back_oversize(const Pool& pool, std::uint32_t stream, std::uint64_t size) {
  if (settings_.max_split_size_bytes == 0) return false;
  const std::uint64_t needed = std::max(size, settings_.max_split_size_bytes);
  const auto fits = pool.blocks.lower_bound({stream, needed, 0, {}});
  if (fits != pool.blocks.end() && fits->stream == stream) {
    if (!is_whole(*fits)) return false;
    give_back(FreeBlock(*fits));
    return true;
  }
  std::vector<FreeBlock> several;
  std::uint64_t bytes = 0;
  for (auto it = fits; it != pool.blocks.begin() && bytes < needed;) {
    --it;
    if (it->stream != stream || !too_large_to_split(it->bytes)) break;
    if (!is_whole(*it)) continue;
    several.push_back(*it);
    bytes += it->bytes;
  }
  for (const FreeBlock& block : several) give_back(block);
  return bytes >= needed;
}

void CachingAllocator::collect_garbage() {
  if (settings_.memory_limit_bytes == 0 || settings_.garbage_collection_threshold <= 0) return;
  const double limit = static_cast<double>(settings_.memory_limit_bytes);
  const auto threshold = static_cast<std::uint64_t>(settings_.garbage_collection_threshold * limit);
  if (reserved_bytes_ <= threshold) return;
  const std::uint64_t goal = reserved_bytes_ - threshold;
  std::vector<FreeBlock> candidates;
  WideUnsigned ages = 0;  // of all candidates
  const auto age = [&](const FreeBlock& block) {
    return large_.searches - segments_[block.place.segment].blocks.at(0).free_since;
  };
  for (const FreeBlock& block : large_.blocks) {
    if (!is_whole(block)) continue;
    candidates.push_back(block);
    ages += age(block);
  }
  for (std::uint64_t bytes = 0; bytes < goal && !candidates.empty();) {
    const WideUnsigned sum = ages;  // each round uses the mean at its start, even beyond the goal
    const std::size_t count = candidates.size();
    std::vector<FreeBlock> younger;
    for (const FreeBlock& block : candidates) {
      if (WideUnsigned{age(block)} * count < sum) {
        younger.push_back(block);
        continue;
      }
      ages -= age(block);
      bytes += block.bytes;
      give_back(block);
    }
    candidates = std::move(younger);
  }
}

void CachingAllocator::add_state(StateDigest& digest) const {
  if (settings_.garbage_collection_threshold > 0) digest.refuse();  // depends on how long blocks have been free
  digest.add(end_address_);
  for (const Segment& segment : segments_) {
    if (segment.blocks.empty()) continue;
    digest.add(segment.blocks.size());
    digest.add(segment.address);
    digest.add(segment.bytes);
    digest.add(std::uint64_t{segment.stream} << 1 | std::uint64_t{segment.small});
    for (const auto& [offset, block] : segment.blocks) {
      digest.add(offset);
      digest.add(std::uint64_t{block.free});
    }
  }
}

}  // namespace uvmsim::layout
