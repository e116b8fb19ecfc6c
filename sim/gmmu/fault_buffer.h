// SPDX-License-Identifier: Apache-2.0
// The GPU's replayable fault buffer: a ring that the hardware fills (PUT) and the driver drains (GET).
//
// The engine puts raw faults with the time at which they arrive; the driver fetches and flushes at its own times and
// sees only what has arrived by then. The driver keeps a cached copy of PUT and reads the real one (over PCIe) only
// when it has consumed everything up to the copy (NVIDIA UVM 580: fetch_fault_buffer_entries).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/common/check.h"
#include "sim/common/state_digest.h"
#include "sim/common/units.h"

namespace uvmsim::gmmu {

// The kinds of access, in the order of intrusiveness.
enum class FaultAccess : std::uint8_t { kPrefetch = 0, kRead = 1, kWrite = 2, kAtomicWeak = 3, kAtomicStrong = 4 };

struct RawFault {
  Nanoseconds arrival{};
  PageIndex page{};
  std::uint32_t sm = 0;
  FaultAccess access = FaultAccess::kRead;
};

// An entry of a fetch: one fault, or several that were merged because they followed one another.
struct FaultEntry {
  RawFault fault;               // the most intrusive of them
  std::uint32_t instances = 1;  // raw faults merged into this entry
};

class FaultBuffer {
 public:
  // `depth`: raw faults that the ring holds, more than 0. `sms_per_utlb`: SMs that share the micro TLB by which the
  // driver merges (1 since Ampere, 2 on Volta).
  FaultBuffer(std::uint32_t depth, std::uint32_t sm_count, std::uint32_t sms_per_utlb = 1);

  // Adds `count` equal raw faults of SM fault.sm. Returns how many are lost because the ring is full; they are raised
  // again after a replay. Faults are added in roughly ascending order of arrival: one that arrives before others in the
  // ring is sorted in before them, but not before faults that the driver has seen. Equal times keep call order. A fault
  // that is added before its arrival takes its place in the ring at once.
  std::uint32_t put(const RawFault& fault, std::uint32_t count = 1);
  // Adds `count` faults that a flush will drop unread. The ring must not be empty.
  std::uint32_t put_behind(Nanoseconds arrival, std::uint32_t count);

  // Returns up to `limit` raw faults that arrived at or before `now`, in order. With `coalesce` adjacent duplicates are
  // merged: with the last entry of the same micro TLB in this batch if it has the same page, else with the batch's last
  // entry if that has the same page and is at least as intrusive. The result is valid until the next call of fetch().
  std::span<const FaultEntry> fetch(Nanoseconds now, std::uint32_t limit, bool coalesce);
  // Raw faults in the last fetch.
  std::uint32_t fetched_raw() const { return fetched_raw_; }
  // Returns the arrival of the last raw fault in the last fetch; 0 if there was none.
  Nanoseconds last_fetched_arrival() const { return last_fetched_arrival_; }

  // Drops everything up to PUT as last read by the driver (CACHED_PUT) or, after reading it again at `now`, everything
  // that has arrived (UPDATE_PUT). Returns the raw faults dropped.
  std::uint32_t flush_cached_put();
  std::uint32_t flush_update_put(Nanoseconds now);

  bool empty() const { return get_ == put_; }
  // Raw faults in the ring.
  std::uint32_t size() const { return size_; }
  // Returns whether a fault has arrived that is neither fetched nor flushed.
  bool pending(Nanoseconds now) const { return !empty() && at(get_).arrival <= now; }
  // Raw faults that have arrived by `now`.
  std::uint32_t arrived(Nanoseconds now) const;
  std::uint32_t depth() const { return depth_; }
  // Returns the arrival of the oldest fault in the ring, which must not be empty.
  Nanoseconds next_arrival() const { return at(get_).arrival; }
  // The buffer must be empty.
  void add_state(StateDigest& digest) const;

 private:
  static constexpr std::uint32_t kMaxGroup = (1u << 24) - 1;  // more than the ring holds

  // Equal faults that came together: a warp raises several.
  struct Group {
    Nanoseconds arrival{};
    PageIndex page{};
    std::uint32_t sm = 0;
    std::uint32_t count : 24 = 0;
    FaultAccess access : 8 = FaultAccess::kRead;
    RawFault fault() const { return {arrival, page, sm, access}; }
  };
  // Indices increase without end; a position in the ring is an index modulo its size, a power of two.
  Group& at(std::uint64_t index) { return ring_[static_cast<std::size_t>(index & mask_)]; }
  const Group& at(std::uint64_t index) const { return ring_[static_cast<std::size_t>(index & mask_)]; }
  std::uint64_t put_at(Nanoseconds now) const;
  std::uint32_t flush();
  FaultEntry* entry_of(const Group& group);

  std::uint32_t depth_, sms_per_utlb_;
  std::uint64_t mask_;
  std::vector<Group> ring_;
  std::uint64_t get_ = 0, cached_put_ = 0, put_ = 0;  // indices of groups
  std::uint32_t size_ = 0;                            // raw faults from get_ to put_
  std::uint32_t fetched_raw_ = 0;
  Nanoseconds last_fetched_arrival_{};
  std::vector<FaultEntry> batch_;
  // The last entry of a micro TLB in fetch number `fetch`.
  struct LastEntry {
    std::uint64_t fetch = 0;
    std::uint32_t index = 0;
  };
  std::uint64_t fetch_ = 0;
  std::vector<LastEntry> last_entries_;
};

inline std::uint32_t FaultBuffer::put_behind(Nanoseconds arrival, std::uint32_t count) {
  const std::uint32_t taken = std::min(count, depth_ - size_);
  if (taken == 0) return count;
  size_ += taken;
  Group& group = at(put_++);
  group = at(put_ - 2);
  group.arrival = std::max(group.arrival, arrival);
  group.count = taken & kMaxGroup;
  return count - taken;
}

inline std::uint32_t FaultBuffer::put(const RawFault& fault, std::uint32_t count) {
  UVMSIM_CHECK(fault.sm / sms_per_utlb_ < last_entries_.size(), "SM {}", fault.sm);
  const std::uint32_t taken = std::min(count, depth_ - size_);
  const std::uint32_t lost = count - taken;
  if (taken == 0) return lost;
  size_ += taken;
  std::uint64_t index = put_++;
  for (; index > cached_put_ && at(index - 1).arrival > fault.arrival; --index) at(index) = at(index - 1);
  at(index) = {fault.arrival, fault.page, fault.sm, taken & kMaxGroup, fault.access};
  return lost;
}

}  // namespace uvmsim::gmmu
