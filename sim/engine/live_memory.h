// SPDX-License-Identifier: Apache-2.0
// The VA blocks that hold data which the program still needs, at the point that the GPU has reached.
//
// The host allocates and frees ahead of the GPU: memory that it frees is in use until the work launched before is done;
// memory that it allocates is free until the work launched afterwards begins. A segment of a framework's allocator is
// needed where its tensors are; every other object is needed from its allocation to its free.
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "sim/common/units.h"
#include "sim/layout/block_list.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

class LiveMemory {
 public:
  // These report the host's allocations and frees, in order of the records.
  void allocated(trace::ObjectId id, const layout::BlockList& blocks, std::uint64_t record);
  void allocated_segment(trace::ObjectId id) { segments_.insert(id); }
  // Call segment_used() for a record that uses the segment itself, not a tensor in it: from then on it is like any
  // object.
  bool is_segment(trace::ObjectId id) const { return segments_.contains(id); }
  void segment_used(trace::ObjectId id, const layout::BlockList& blocks, std::uint64_t record);
  void freed(trace::ObjectId id, std::uint64_t record);

  // Call when work of a record begins on the GPU or the host.
  void begins(std::uint64_t record);
  // Call when all work before the record is done.
  void done_before(std::uint64_t record);

  bool holds_nothing(BlockIndex block) const { return std::prev(users_.upper_bound(block.value))->second == 0; }

 private:
  struct Claim {
    std::uint64_t record = 0;
    layout::BlockList blocks;
  };

  using Users = std::map<std::uint64_t, std::uint32_t>;

  void add(const layout::BlockList& blocks, bool comes);
  Users::iterator boundary(std::uint64_t block);
  void join(Users::iterator run);

  std::unordered_map<trace::ObjectId, layout::BlockList> blocks_of_;
  std::unordered_set<trace::ObjectId> segments_;
  std::deque<Claim> coming_, going_;
  Users users_{{0, 0}};  // of runs of blocks, by their first one; a run ends where the next begins
};

}  // namespace uvmsim::engine
