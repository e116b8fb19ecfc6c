// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/fault_unit.h"

#include <algorithm>

namespace uvmsim::gpu {

FaultUnit::FaultUnit(const FaultPath& path, std::span<const std::uint8_t> gpc_of_sm)
    : fault_ps_(static_cast<std::int64_t>(path.fault_ps)), report_ns_(path.report_ns), gpcs_(path.gpcs) {
  queues_.resize(gpc_of_sm.size());
  for (std::uint32_t sm = 0; sm < queues_.size(); ++sm) {
    UVMSIM_CHECK(gpc_of_sm[sm] < gpcs_.size(), "SM {} in GPC {} of {}", sm, gpc_of_sm[sm], gpcs_.size());
    Gpc& gpc = gpcs_[gpc_of_sm[sm]];
    queues_[sm].gpc = gpc_of_sm[sm];
    queues_[sm].place = static_cast<std::uint16_t>(gpc.sms.size());
    gpc.sms.push_back(sm);
    gpc.next.push_back(kNever.value);
  }
  last_gpc_ = gpcs_.size() - 1;
}

void FaultUnit::send(std::uint32_t sm, const RequestRun& run) {
  UVMSIM_CHECK(run.count != 0, "SM {}: a run of no requests", sm);
  Queue& queue = queues_[sm];
  const bool waits = queue.head != queue.runs.size();
  UVMSIM_CHECK(!waits || queue.runs.back().first <= run.first, "SM {}: runs out of order", sm);
  if (!waits) {
    queue.runs.clear();
    queue.head = 0;
    queue.taken = 0;
    Gpc& gpc = gpcs_[queue.gpc];
    gpc.next[queue.place] = key(run.first.value, queue.place);
    gpc.first = std::min(gpc.first, gpc.next[queue.place]);
  }
  queue.runs.push_back(run);
  waiting_ += run.count;
  last_sent_ = std::max(last_sent_, run.first + Nanoseconds(std::int64_t{run.spacing_ns} * (run.count - 1)));
}

// Removes the GPC's first request.
void FaultUnit::pop(Gpc& gpc) {
  Queue& queue = queues_[gpc.sms[gpc.place()]];
  const RequestRun& run = queue.runs[queue.head];
  std::int64_t next = kNever.value;
  if (++queue.taken < run.count) {
    next = run.first.value + std::int64_t{run.spacing_ns} * queue.taken;
  } else {
    queue.taken = 0;
    if (++queue.head != queue.runs.size()) next = queue.runs[queue.head].first.value;
  }
  gpc.next[queue.place] = next == kNever.value ? next : key(next, queue.place);
  --waiting_;
  gpc.look();
}

std::uint64_t FaultUnit::take_unheard(Nanoseconds until) {
  if (waiting_ == 0) return 0;
  // If the unit is done with all requests by `until`, their order does not matter.
  const std::int64_t last_ps = std::max((last_sent_.value + report_ns_) * 1000, free_ps_);
  const std::int64_t through_ps = last_ps + fault_ps_ * static_cast<std::int64_t>(waiting_ - 1);
  if (through_ps / 1000 <= until.value) {
    const std::uint64_t taken = waiting_;
    forget();
    free_ps_ = through_ps + fault_ps_;
    return taken;
  }
  std::uint64_t taken = 0;
  take(until, [&](Nanoseconds, std::uint32_t, const RequestRun&) { return ++taken != 0; });
  return taken;
}

Nanoseconds FaultUnit::next_arrival() const {
  std::size_t chosen = 0;
  std::int64_t time_ps = 0;
  return choose(chosen, time_ps) ? Nanoseconds(time_ps / 1000) : kNever;
}

void FaultUnit::reset() {
  forget();
  last_gpc_ = gpcs_.size() - 1;
  free_ps_ = std::numeric_limits<std::int64_t>::min();
}

void FaultUnit::forget() {
  if (waiting_ == 0) return;
  waiting_ = 0;
  last_sent_ = Nanoseconds{};
  for (Queue& queue : queues_) {
    queue.runs.clear();
    queue.head = 0;
    queue.taken = 0;
  }
  for (Gpc& gpc : gpcs_) {
    std::fill(gpc.next.begin(), gpc.next.end(), kNever.value);
    gpc.first = kNever.value;
  }
}

}  // namespace uvmsim::gpu
