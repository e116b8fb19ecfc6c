// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/fault_unit.h"

#include <algorithm>
#include <bit>

namespace uvmsim::gpu {

FaultUnit::FaultUnit(const FaultPath& path, std::span<const std::uint8_t> gpc_of_sm)
    : fault_ps_(static_cast<std::int64_t>(path.fault_ps)), report_(path.report_ns), gpcs_(path.gpcs) {
  queues_.resize(gpc_of_sm.size());
  for (std::uint32_t sm = 0; sm < queues_.size(); ++sm) {
    UVMSIM_CHECK(gpc_of_sm[sm] < gpcs_.size(), "SM {} in GPC {} of {}", sm, gpc_of_sm[sm], gpcs_.size());
    Gpc& gpc = gpcs_[gpc_of_sm[sm]];
    queues_[sm].gpc = gpc_of_sm[sm];
    queues_[sm].place = static_cast<std::uint16_t>(gpc.sms.size());
    gpc.sms.push_back(sm);
  }
  for (Gpc& gpc : gpcs_) {
    gpc.leaves = std::bit_ceil(gpc.sms.size());
    gpc.least.assign(2 * gpc.leaves, kNoKey);
  }
  last_gpc_ = gpcs_.size() - 1;
}

void FaultUnit::put_in_turn() {
  for (const std::uint32_t sm : unordered_) {
    const Queue& queue = queues_[sm];
    gpcs_[queue.gpc].set(queue.place, key(queue.runs.front().first, queue.place));
  }
  unordered_.clear();
}

std::uint64_t FaultUnit::skip(Nanoseconds until) {
  if (waiting_ == 0) return 0;
  // If the unit is done with all requests by `until`, their order does not matter.
  const Nanoseconds last = last_sent_ + report_;
  const Instant begin = last > free_.ns ? Instant{last, 0} : free_;
  const Instant through = begin.after(fault_ps_ * static_cast<std::int64_t>(waiting_ - 1));
  if (through.ns <= until) {
    const std::uint64_t taken = waiting_;
    forget();
    free_ = through.after(fault_ps_);
    return taken;
  }
  std::uint64_t taken = 0;
  take(until, [&](Nanoseconds, std::uint32_t, const RequestRun&) { return ++taken != 0; });
  return taken;
}

Nanoseconds FaultUnit::next_arrival() {
  put_in_turn();
  std::size_t chosen = 0;
  Instant time;
  return choose(chosen, time) ? time.ns : kNever;
}

void FaultUnit::reset() {
  forget();
  last_gpc_ = gpcs_.size() - 1;
  free_ = {};
}

void FaultUnit::forget() {
  if (waiting_ == 0) return;
  waiting_ = 0;
  last_sent_ = Nanoseconds{};
  unordered_.clear();
  for (Queue& queue : queues_) {
    queue.runs.clear();
    queue.head = 0;
    queue.taken = 0;
  }
  for (Gpc& gpc : gpcs_) gpc.clear();
}

}  // namespace uvmsim::gpu
