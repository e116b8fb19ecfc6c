// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/fault_buffer.h"

#include <algorithm>
#include <bit>

#include "sim/common/check.h"
#include "sim/common/error.h"

namespace uvmsim::gmmu {

FaultBuffer::FaultBuffer(std::uint32_t depth, std::uint32_t sm_count, std::uint32_t sms_per_utlb)
    : depth_(depth), sms_per_utlb_(sms_per_utlb) {
  constexpr std::uint32_t kMaxDepth = 1u << 20;
  if (depth == 0 || depth > kMaxDepth) {
    throw_input_error("gmmu.fault_buffer_entries: {}; allowed: 1 to {}", depth, kMaxDepth);
  }
  UVMSIM_CHECK(sm_count > 0 && sms_per_utlb > 0, "{} SMs, {} per micro TLB", sm_count, sms_per_utlb);
  ring_.resize(std::bit_ceil(depth));
  mask_ = ring_.size() - 1;
  batch_.reserve(depth);
  last_entries_.resize(sm_count / sms_per_utlb + 1);
}

// Returns the hardware's PUT as the driver would read it at `now`. Arrivals ascend from cached_put_ on.
std::uint32_t FaultBuffer::arrived(Nanoseconds now) const {
  std::uint32_t raw = 0;
  for (std::uint64_t index = get_; index != put_ && at(index).arrival <= now; ++index) raw += at(index).count;
  return raw;
}

std::uint64_t FaultBuffer::put_at(Nanoseconds now) const {
  std::uint64_t low = cached_put_, high = put_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (at(middle).arrival <= now) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::span<const FaultEntry> FaultBuffer::fetch(Nanoseconds now, std::uint32_t limit, bool coalesce) {
  if (get_ == cached_put_) cached_put_ = put_at(now);
  ++fetch_;
  batch_.clear();
  fetched_raw_ = 0;
  last_fetched_arrival_ = {};
  while (get_ < cached_put_ && fetched_raw_ < limit) {
    Group& group = at(get_);
    const std::uint32_t taken = std::min<std::uint32_t>(group.count, limit - fetched_raw_);
    fetched_raw_ += taken;
    last_fetched_arrival_ = group.arrival;
    std::uint32_t left = taken;
    while (left != 0) {
      FaultEntry* into = coalesce ? entry_of(group) : nullptr;
      if (into == nullptr) {
        last_entries_[group.sm / sms_per_utlb_] = {fetch_, static_cast<std::uint32_t>(batch_.size())};
        batch_.push_back({group.fault(), 0});
        into = &batch_.back();
      }
      // If the first fault of the group was merged, so are the others.
      const std::uint32_t instances = coalesce ? left : 1;
      into->instances += instances;
      if (group.access > into->fault.access) into->fault = group.fault();
      left -= instances;
    }
    group.count = (group.count - taken) & kMaxGroup;
    if (group.count == 0) ++get_;
  }
  size_ -= fetched_raw_;
  return batch_;
}

// Returns the entry that a fault is merged with, or null (NVIDIA UVM 580: fetch_fault_buffer_try_merge_entry).
FaultEntry* FaultBuffer::entry_of(const Group& group) {
  if (batch_.empty()) return nullptr;
  const LastEntry& last = last_entries_[group.sm / sms_per_utlb_];
  if (last.fetch == fetch_ && batch_[last.index].fault.page == group.page) return &batch_[last.index];
  FaultEntry& newest = batch_.back();
  return newest.fault.page == group.page && group.access <= newest.fault.access ? &newest : nullptr;
}

std::uint32_t FaultBuffer::flush() {
  std::uint32_t dropped = 0;
  for (; get_ < cached_put_; ++get_) dropped += at(get_).count;
  size_ -= dropped;
  return dropped;
}

std::uint32_t FaultBuffer::flush_cached_put() { return flush(); }

std::uint32_t FaultBuffer::flush_update_put(Nanoseconds now) {
  cached_put_ = put_at(now);
  return flush();
}

void FaultBuffer::add_state(StateDigest& digest) const {
  if (!empty()) digest.refuse();
}

}  // namespace uvmsim::gmmu
