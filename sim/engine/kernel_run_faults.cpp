// KernelRun, the SMs' side: what an SM does when its turn comes, and what a replay does to it.
#include <algorithm>
#include <limits>

#include "sim/engine/kernel_run.h"

namespace uvmsim::engine {

bool KernelRun::may_raise(const SmQueue& sm, const Waiting& next) const {
  const config::GmmuConfig& gmmu = system_.gmmu;
  if (sm.epoch != 1) {
    if (sm.new_lane != next.lane && sm.new_warps >= gmmu.new_warps_per_replay) return false;
    if (next.scattered) {
      const Lane& lane = lanes_[next.lane];
      const bool replayed = lane.raise_epoch != 0 && lane.raise_epoch != sm.epoch;
      if (!replayed && lane.raised >= gmmu.fresh_pages_per_instruction) return false;
    }
  }
  const std::uint32_t raw = next.scattered ? 1 : gmmu.faults_per_warp_access;
  return sm.raw + raw <= gmmu.faults_per_sm;
}

// Puts the raw faults of `warps` warps of the access into the buffer. Returns when the fault unit took the first.
Nanoseconds KernelRun::raise(std::uint32_t sm_index, const Access& access, std::uint32_t warps, Nanoseconds now) {
  SmQueue& sm = sms_[sm_index];
  const config::GmmuConfig& gmmu = system_.gmmu;
  const std::uint32_t raw = warps * (access.scattered ? 1 : gmmu.faults_per_warp_access);
  const bool same_page = sm.last_page == access.index();
  fault_unit_free_ = std::max(fault_unit_free_, now) + ns(same_page ? gmmu.fault_repeat_ns : gmmu.fault_page_ns);
  sm.last_page = access.index();
  const Nanoseconds arrival = fault_unit_free_;
  const gmmu::RawFault fault{arrival, PageIndex(access.index()), sm_index,
                             access.write ? gmmu::FaultAccess::kWrite : gmmu::FaultAccess::kRead};
  counters_.overflowed_faults += buffer_.put(fault, raw);
  if (warps > 1) fault_unit_free_ += ns(gmmu.fault_repeat_ns * (warps - 1));
  sm.raw += raw;
  return arrival;
}

// Tries again what missed before the replay, up to the first access that misses again. Returns when the SM can go on
// after that one; kNever when all is tried.
Nanoseconds KernelRun::retry(std::uint32_t sm_index, Nanoseconds now) {
  const config::GmmuConfig& gmmu = system_.gmmu;
  SmQueue& sm = sms_[sm_index];
  while (sm.next_retry < sm.missed.size()) {
    const Access& access = sm.missed[sm.next_retry++];
    if (!missing(access)) {
      pass(access.lane, 1, now);
      continue;
    }
    const Nanoseconds raised = raise(sm_index, access, access.raising, now);
    const std::uint64_t spacing =
        access.scattered ? gmmu.sm_page_spacing_ns : gmmu.sm_retry_spacing_ns * access.raising;
    if (sm.raised + 1 != sm.next_retry) sm.missed[sm.raised] = access;
    ++sm.raised;
    return std::max(raised, now + ns(spacing));
  }
  sm.end_retry();
  return kNever;
}

// Raises the faults of another warp of an access whose faults are out already; kNever when there is none.
Nanoseconds KernelRun::raise_next_warp(std::uint32_t sm_index, Nanoseconds now) {
  const config::GmmuConfig& gmmu = system_.gmmu;
  SmQueue& sm = sms_[sm_index];
  if (sm.missed.empty() || sm.blocked) return kNever;
  Access& last = sm.missed.back();
  if (last.scattered || last.raising == last.warps || sm.raw + gmmu.faults_per_warp_access > gmmu.faults_per_sm ||
      (sm.epoch != 1 && sm.new_warps >= gmmu.new_warps_per_replay) || !missing(last)) {
    return kNever;
  }
  const Nanoseconds raised = raise(sm_index, last, 1, now);
  ++last.raising;
  ++sm.new_warps;
  sm.new_lane = last.lane;
  return std::max(raised, now + ns(sm.epoch != 1 ? gmmu.sm_spacing_ns : gmmu.sm_first_spacing_ns));
}

// Works through what waits, up to the first page that misses; kNever when that may raise no fault, or none is left.
Nanoseconds KernelRun::take_waiting(std::uint32_t sm_index, Nanoseconds now) {
  const config::GmmuConfig& gmmu = system_.gmmu;
  SmQueue& sm = sms_[sm_index];
  while (sm.next_waiting != sm.waiting.size()) {
    Waiting& next = sm.waiting[sm.next_waiting];
    const unsigned end = next.first + next.count;
    const unsigned missed = std::min(usable(next.block, next.write).next_clear(next.first), end);
    if (missed != next.first) {
      const std::uint32_t lane = next.lane;
      const std::uint32_t passed = missed - next.first;
      next.first = static_cast<std::uint16_t>(missed);
      next.count = static_cast<std::uint16_t>(end - missed);
      if (next.count == 0) ++sm.next_waiting;
      pass(lane, passed, now);
      continue;
    }
    if (!may_raise(sm, next)) {
      sm.blocked = true;
      return kNever;
    }
    if (sm.new_lane != next.lane) {
      sm.new_lane = next.lane;
      ++sm.new_warps;
    }
    Lane& lane = lanes_[next.lane];
    if (lane.raise_epoch == 0) lane.raise_epoch = sm.epoch;
    if (lane.raised != std::numeric_limits<std::uint16_t>::max()) ++lane.raised;
    sm.missed.push_back({next.block, next.lane, next.first, next.warps, 1, next.write, next.scattered});
    const Access& access = sm.missed.back();
    sm.raised = sm.next_retry = sm.missed.size();
    ++next.first;
    if (--next.count == 0) ++sm.next_waiting;
    const Nanoseconds raised = raise(sm_index, access, 1, now);
    const std::uint64_t spacing = access.scattered ? gmmu.sm_page_spacing_ns
                                  : sm.epoch != 1  ? gmmu.sm_spacing_ns
                                                   : gmmu.sm_first_spacing_ns;
    return std::max(raised, now + ns(spacing));
  }
  sm.waiting.clear();
  sm.next_waiting = 0;
  return kNever;
}

// The SM works through its queue until it raised a fault (and needs time for the next) or may raise no more.
void KernelRun::serve(std::uint32_t sm_index, Nanoseconds now) {
  SmQueue& sm = sms_[sm_index];
  sm.scheduled = true;  // a unit that passes issues its next accesses at once: not to be served within
  Nanoseconds next = retry(sm_index, now);
  if (next == kNever) next = raise_next_warp(sm_index, now);
  if (next == kNever) next = take_waiting(sm_index, now);
  if (next == kNever) {
    sm.scheduled = false;
  } else {
    sm_at(next, sm_index);
  }
}

void KernelRun::replay(Nanoseconds now) {
  const config::GmmuConfig& gmmu = system_.gmmu;
  for (std::size_t i = sm_order_.size() - 1; i > 0; --i) {
    std::swap(sm_order_[i], sm_order_[static_cast<std::size_t>(random_.below(i + 1))]);
  }
  std::uint64_t turn = 0;
  for (const std::uint32_t index : sm_order_) {
    SmQueue& sm = sms_[index];
    if (sm.empty()) continue;
    sm.replay();
    if (sm.scheduled) agenda_->remove(index);
    sm.scheduled = true;
    const std::uint64_t jitter = gmmu.replay_jitter_ns == 0 ? 0 : random_.below(gmmu.replay_jitter_ns);
    sm_at(now + ns(jitter + gmmu.replay_sm_ns * turn++), index);
  }
}

}  // namespace uvmsim::engine
