#include "sim/gmmu/fault_buffer.h"

#include <algorithm>
#include <bit>

#include "sim/common/check.h"
#include "sim/common/error.h"

namespace uvmsim::gmmu {
namespace {

constexpr std::uint8_t bit_of(FaultAccess access) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(access));
}

}  // namespace

FaultBuffer::FaultBuffer(std::uint32_t depth, std::uint32_t faults_per_sm, std::uint32_t sm_count,
                         std::uint32_t sms_per_utlb)
    : depth_(depth), faults_per_sm_(faults_per_sm), sms_per_utlb_(sms_per_utlb) {
  constexpr std::uint32_t kMaxDepth = 1u << 20;
  if (depth == 0 || depth > kMaxDepth) {
    throw_input_error("gmmu.fault_buffer_entries: {}; allowed: 1 to {}", depth, kMaxDepth);
  }
  if (faults_per_sm == 0) throw_input_error("gmmu.faults_per_sm: 0; allowed: 1 or more");
  UVMSIM_CHECK(sm_count > 0 && sms_per_utlb > 0, "{} SMs, {} per micro TLB", sm_count, sms_per_utlb);
  ring_.resize(std::bit_ceil(depth));
  mask_ = ring_.size() - 1;
  batch_.reserve(depth);
  outstanding_.resize(sm_count);
  last_entries_.resize(sm_count / sms_per_utlb + 1);
}

PutResult FaultBuffer::put(const RawFault& fault) {
  UVMSIM_CHECK(fault.sm < outstanding_.size(), "SM {} of {}", fault.sm, outstanding_.size());
  if (!may_fault(fault.sm)) return PutResult::kSmLimit;
  if (size() == depth_) {
    ++overflowed_;
    return PutResult::kOverflow;
  }
  Outstanding& outstanding = outstanding_[fault.sm];
  if (outstanding.replay != replay_) outstanding = {replay_, 0};
  ++outstanding.faults;
  std::uint64_t index = put_++;
  for (; index > cached_put_ && at(index - 1).arrival > fault.arrival; --index) at(index) = at(index - 1);
  at(index) = fault;
  return PutResult::kAccepted;
}

std::uint32_t FaultBuffer::put(const RawFault& fault, std::uint32_t count) {
  const bool in_order = put_ == cached_put_ || at(put_ - 1).arrival <= fault.arrival;
  if (!in_order || depth_ - size() < count || !may_fault(fault.sm)) {  // one by one
    std::uint32_t lost = 0;
    for (; count != 0; --count) lost += put(fault) == PutResult::kOverflow ? 1 : 0;
    return lost;
  }
  Outstanding& outstanding = outstanding_[fault.sm];
  if (outstanding.replay != replay_) outstanding = {replay_, 0};
  count = std::min(count, faults_per_sm_ - outstanding.faults);
  outstanding.faults += count;
  for (; count != 0; --count) at(put_++) = fault;
  return 0;
}

void FaultBuffer::replayed() { ++replay_; }

bool FaultBuffer::may_fault(std::uint32_t sm) const {
  const Outstanding& outstanding = outstanding_[sm];
  return outstanding.replay != replay_ || outstanding.faults < faults_per_sm_;
}

// The hardware's PUT as the driver would read it at `now`. Arrivals ascend from cached_put_ on.
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
  const std::uint64_t end = get_ + std::min<std::uint64_t>(limit, cached_put_ - get_);
  fetched_raw_ = static_cast<std::uint32_t>(end - get_);
  for (; get_ < end; ++get_) {
    const RawFault& fault = at(get_);
    if (coalesce && merge(fault)) continue;
    last_entries_[fault.sm / sms_per_utlb_] = {fetch_, static_cast<std::uint32_t>(batch_.size())};
    batch_.push_back({fault, 1, bit_of(fault.access)});
  }
  return batch_;
}

// NVIDIA UVM 580: fetch_fault_buffer_try_merge_entry.
bool FaultBuffer::merge(const RawFault& fault) {
  if (batch_.empty()) return false;
  const LastEntry& last = last_entries_[fault.sm / sms_per_utlb_];
  FaultEntry* into = nullptr;
  if (last.fetch == fetch_ && batch_[last.index].fault.page == fault.page) {
    into = &batch_[last.index];
  } else if (batch_.back().fault.page == fault.page && fault.access <= batch_.back().fault.access) {
    into = &batch_.back();
  } else {
    return false;
  }
  ++into->instances;
  into->access_mask = static_cast<std::uint8_t>(into->access_mask | bit_of(fault.access));
  if (fault.access > into->fault.access) into->fault = fault;
  return true;
}

std::uint32_t FaultBuffer::flush() {
  const auto dropped = static_cast<std::uint32_t>(cached_put_ - get_);
  get_ = cached_put_;
  return dropped;
}

std::uint32_t FaultBuffer::flush_cached_put() { return flush(); }

std::uint32_t FaultBuffer::flush_update_put(Nanoseconds now) {
  cached_put_ = put_at(now);
  return flush();
}

}  // namespace uvmsim::gmmu
