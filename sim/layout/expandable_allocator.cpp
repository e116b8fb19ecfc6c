// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/expandable_allocator.h"

#include <algorithm>

namespace uvmsim::layout {

namespace {
constexpr std::uint64_t kSmallHandle = std::uint64_t{2} << 20;
constexpr std::uint64_t kLargeHandle = std::uint64_t{20} << 20;
constexpr std::uint64_t kSmallestSplitOff = 512;
}  // namespace

std::uint64_t ExpandableAllocator::small_handle() { return kSmallHandle; }

// set() and unset() change a block's size or state and update the pools.
void ExpandableAllocator::set(const Place& place, const Block& block) {
  Segment& segment = segments_[place.segment];
  segment.blocks[place.offset] = block;
  if (block.state == State::kFree) pool_of(segment).free.insert({segment.stream, block.bytes, place});
  if (block.state == State::kUnmapped) pool_of(segment).unmapped.insert({segment.stream, place});
}

void ExpandableAllocator::unset(const Place& place) {
  Segment& segment = segments_[place.segment];
  const auto block = segment.blocks.find(place.offset);
  if (block->second.state == State::kFree) pool_of(segment).free.erase({segment.stream, block->second.bytes, place});
  if (block->second.state == State::kUnmapped) pool_of(segment).unmapped.erase({segment.stream, place});
  segment.blocks.erase(block);
}

// Merges the block with its neighbours of the same state.
void ExpandableAllocator::join(Place place) {
  const Blocks& blocks = segments_[place.segment].blocks;
  auto first = blocks.find(place.offset);
  const State state = first->second.state;
  if (first != blocks.begin() && std::prev(first)->second.state == state) --first;
  auto last = blocks.find(place.offset);
  if (std::next(last) != blocks.end() && std::next(last)->second.state == state) ++last;
  const std::uint64_t begin = first->first;
  const std::uint64_t end = last->first + last->second.bytes;
  std::vector<std::uint64_t> joined;
  for (auto it = first; it != std::next(last); ++it) joined.push_back(it->first);
  for (const std::uint64_t offset : joined) unset({place.segment, offset});
  set({place.segment, begin}, {end - begin, state});
}

// Returns the block's size with the unmapped addresses after it.
std::uint64_t ExpandableAllocator::expandable_bytes(const FreeBlock& block) const {
  const Place& place = std::get<2>(block);
  const Blocks& blocks = segments_[place.segment].blocks;
  const auto next = std::next(blocks.find(place.offset));
  const bool expands = next != blocks.end() && next->second.state == State::kUnmapped;
  return std::get<1>(block) + (expands ? next->second.bytes : 0);
}

std::optional<ExpandableAllocator::Place> ExpandableAllocator::find(const Pool& pool, std::uint32_t stream,
                                                                    std::uint64_t size) const {
  auto best = pool.free.lower_bound({stream, size, Place{}});
  const auto is_candidate = [&](auto block) { return block != pool.free.end() && std::get<0>(*block) == stream; };
  if (!is_candidate(best)) return std::nullopt;
  // Blocks are sorted by their own size; only for the last block of a segment do unmapped addresses count too.
  for (auto next = std::next(best); is_candidate(next) && expandable_bytes(*next) < expandable_bytes(*best); ++next) {
    best = next;
  }
  return std::get<2>(*best);
}

// Returns the lowest place where free blocks and unmapped addresses have room together; otherwise a new segment.
ExpandableAllocator::Place ExpandableAllocator::find_addresses(const Pool& pool, std::uint32_t stream,
                                                               std::uint64_t size, std::uint64_t handle_bytes,
                                                               bool& opened) {
  for (auto it = pool.unmapped.lower_bound({stream, Place{}}); it != pool.unmapped.end() && it->first == stream; ++it) {
    const Place& place = it->second;
    const Blocks& blocks = segments_[place.segment].blocks;
    auto first = blocks.find(place.offset);
    if (first != blocks.begin() && std::prev(first)->second.state == State::kFree) --first;
    std::uint64_t room = 0;
    for (auto block = first; block != blocks.end() && room < size && block->second.state != State::kInUse; ++block) {
      room += block->second.bytes;
    }
    if (room >= size) return {place.segment, first->first};
  }
  opened = true;
  const std::uint64_t bytes = rounded_up(std::max(settings_.reservation_bytes, size), handle_bytes);
  segments_.push_back({bytes, handle_bytes, stream, {}});
  set({segment_count_, 0}, {bytes, State::kUnmapped});
  return {segment_count_++, 0};
}

// Maps memory to the first handles of an unmapped block, at least `bytes`. Returns the free block that contains them.
ExpandableAllocator::Place ExpandableAllocator::map(Place place, std::uint64_t bytes) {
  const Segment& segment = segments_[place.segment];
  const std::uint64_t room = segment.blocks.at(place.offset).bytes;
  const std::uint64_t mapped = rounded_up(std::min(bytes, room), segment.handle_bytes);
  unset(place);
  set(place, {mapped, State::kFree});
  if (mapped < room) set({place.segment, place.offset + mapped}, {room - mapped, State::kUnmapped});
  take({place.segment, place.offset, mapped});
  join(place);
  return {place.segment, std::prev(segment.blocks.upper_bound(place.offset))->first};
}

ExpandableAllocator::Placed ExpandableAllocator::place(std::uint64_t bytes, std::uint32_t stream,
                                                       std::uint64_t /*segment_address*/) {
  const std::uint64_t size = rounded_request(bytes, settings_);
  const bool small = is_small_request(size);
  Pool& pool = small ? small_ : large_;
  Placed placed;
  std::optional<Place> place = find(pool, stream, size);
  if (!place) {
    if (!room_for(segment_bytes_for(size))) give_back_for(bytes, segment_bytes_for(size));
    place = find_addresses(pool, stream, size, small ? kSmallHandle : kLargeHandle, placed.new_segment);
    const Blocks& blocks = segments_[place->segment].blocks;
    while (true) {
      const auto block = blocks.find(place->offset);
      const bool is_free = block->second.state == State::kFree;
      const std::uint64_t have = is_free ? block->second.bytes : 0;
      if (have >= size) break;
      place = map({place->segment, place->offset + have}, size - have);
    }
  }
  const Segment& segment = segments_[place->segment];
  const std::uint64_t found = segment.blocks.at(place->offset).bytes;
  const bool split = found - size >= kSmallestSplitOff;
  unset(*place);
  set(*place, {split ? size : found, State::kInUse});
  if (split) set({place->segment, place->offset + size}, {found - size, State::kFree});
  placed.segment = place->segment;
  placed.segment_bytes = segment.bytes;
  placed.offset = place->offset;
  placed.bytes = split ? size : found;
  return placed;
}

std::uint64_t ExpandableAllocator::free_block(const Place& place) {
  const std::uint64_t bytes = segments_[place.segment].blocks.at(place.offset).bytes;
  set(place, {bytes, State::kFree});
  join(place);
  return bytes;
}

void ExpandableAllocator::give_back_unused() {
  unmap_free(large_);
  unmap_free(small_);
}

// Unmaps whole handles within free blocks; a segment without any memory is returned.
void ExpandableAllocator::unmap_free(const Pool& pool) {
  const std::vector<FreeBlock> blocks(pool.free.begin(), pool.free.end());
  for (const auto& [stream, bytes, place] : blocks) {
    const std::uint64_t handle = segments_[place.segment].handle_bytes;
    const std::uint64_t end = place.offset + bytes;
    const std::uint64_t first = rounded_up(place.offset, handle);
    const std::uint64_t last = end / handle * handle;
    if (first >= last) continue;
    unset(place);
    if (first > place.offset) set(place, {first - place.offset, State::kFree});
    if (end > last) set({place.segment, last}, {end - last, State::kFree});
    set({place.segment, first}, {last - first, State::kUnmapped});
    release({place.segment, first, last - first});
    join({place.segment, first});
    if (segments_[place.segment].blocks.size() == 1 &&
        segments_[place.segment].blocks.begin()->second.state == State::kUnmapped) {
      unset({place.segment, 0});
    }
  }
}

void ExpandableAllocator::add_state(StateDigest& digest) const {
  for (const Segment& segment : segments_) {
    if (segment.blocks.empty()) continue;
    digest.add(segment.blocks.size());
    digest.add(segment.bytes);
    digest.add(segment.handle_bytes);
    digest.add(segment.stream);
    for (const auto& [offset, block] : segment.blocks) {
      digest.add(offset);
      digest.add(static_cast<std::uint64_t>(block.state));
    }
  }
}

}  // namespace uvmsim::layout
