// SPDX-License-Identifier: Apache-2.0
// Chunks grouped by neighbourhood in memory, for evictors; groups are ordered by their last use. A group is a page set,
// or the 64 KB chunks of one 2 MB block.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/policy/chunk_list.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/policy.h"

namespace uvmsim::policy {

// A group: contents [n * size, (n + 1) * size), at least one of which is in memory. Ids are reused.
struct GroupId {
  std::uint32_t value = ChunkId::kNone;
  bool valid() const { return value != ChunkId::kNone; }
  bool operator==(const GroupId&) const = default;
};

// Only the creation and the end of a group hash; everything else is a few writes.
class ChunkGroups {
 public:
  ChunkGroups(std::uint32_t chunk_count, unsigned group_size) : size_(group_size), chain_(chunk_count) {}

  unsigned group_size() const { return size_; }

  // Records that the chunk now holds `content`, which is in no group yet. Returns whether its group is new.
  bool insert(ChunkId chunk, ContentIndex content) {
    const std::uint64_t number = content.value / size_;
    const auto [found, fresh] = by_number_.try_emplace(number, 0);
    if (fresh) {
      found->second = fresh_group();
      numbers_[found->second] = number;
    }
    const std::uint32_t group = found->second;
    group_of_[chunk.value] = {group};
    place_of_[chunk.value] = static_cast<std::uint32_t>(content.value % size_);
    members_[std::size_t{group} * size_ + place_of_[chunk.value]] = chunk;
    ++counts_[group];
    use(chunk);
    return fresh;
  }
  // Records a use of the chunk: it and its group become the youngest.
  void use(ChunkId chunk) {
    last_use_[chunk.value] = ++time_;
    chain_.move_to_back(0, ChunkId{group_of(chunk).value});
  }
  // Removes a chunk that is in a group. Returns whether the group disappeared with it.
  bool remove(ChunkId chunk) {
    const GroupId group = group_of(chunk);
    members_[std::size_t{group.value} * size_ + place_of_[chunk.value]] = {};
    if (--counts_[group.value] > 0) return false;
    chain_.remove(ChunkId{group.value});
    by_number_.erase(numbers_[group.value]);
    unused_.push_back(group.value);
    return true;
  }

  // The chain of groups, oldest first.
  GroupId oldest() const { return {chain_.front(0).value}; }
  GroupId youngest() const { return {chain_.back(0).value}; }
  GroupId younger(GroupId group) const { return {chain_.next(ChunkId{group.value}).value}; }
  GroupId older(GroupId group) const { return {chain_.previous(ChunkId{group.value}).value}; }

  GroupId group_of(ChunkId chunk) const { return group_of_[chunk.value]; }
  std::uint64_t number(GroupId group) const { return numbers_[group.value]; }
  unsigned count(GroupId group) const { return counts_[group.value]; }
  // The chunk that holds the group's content at a place, 0 .. group_size() - 1; invalid when it is not in memory.
  ChunkId member(GroupId group, unsigned place) const { return members_[std::size_t{group.value} * size_ + place]; }
  unsigned place(ChunkId chunk) const { return place_of_[chunk.value]; }
  std::uint64_t last_use(ChunkId chunk) const { return last_use_[chunk.value]; }

  // The least recently used member that may be evicted, ChunkId{} when there is none.
  ChunkId oldest_evictable(GroupId group, const EvictionQueries& queries) const {
    ChunkId oldest{};
    for (unsigned place = 0; place < size_; ++place) {
      const ChunkId chunk = member(group, place);
      if (chunk.valid() && (!oldest.valid() || last_use(chunk) < last_use(oldest)) && queries.evictable(chunk)) {
        oldest = chunk;
      }
    }
    return oldest;
  }

 private:
  // The id that became unused last, or the next new one.
  std::uint32_t fresh_group() {
    if (unused_.empty()) {
      members_.resize(members_.size() + size_);
      return static_cast<std::uint32_t>(members_.size() / size_ - 1);
    }
    const std::uint32_t id = unused_.back();
    unused_.pop_back();
    return id;
  }

  unsigned size_;
  ChunkLists chain_;  // groups by id
  PerChunk<GroupId> group_of_;
  PerChunk<std::uint32_t> place_of_;
  PerChunk<std::uint64_t> last_use_;
  std::vector<ChunkId> members_;                                // by group, then place
  PerChunk<std::uint64_t> numbers_;                             // by group
  PerChunk<unsigned> counts_;                                   // by group
  std::vector<std::uint32_t> unused_;                           // ids of groups
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;  // only looked up
  std::uint64_t time_ = 0;
};

}  // namespace uvmsim::policy
