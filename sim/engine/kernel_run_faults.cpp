// SPDX-License-Identifier: Apache-2.0
// KernelRun, the SMs' side: the turn of an SM, and the effect of a replay on it.
#include <algorithm>
#include <limits>

#include "sim/engine/kernel_run.h"
#include "sim/engine/step_pages.h"

namespace uvmsim::engine {

// Returns whether the next page of the part that is being taken may raise a fault.
bool KernelRun::may_raise(const SmQueue& sm, bool scattered) const {
  if (sm.epoch != 1) {
    if (sm.new_lane != sm.taken.lane && sm.new_warps >= gmmu_.new_warps_per_replay) return false;
    if (scattered) {
      const Lane& lane = lanes_[sm.taken.lane];
      const bool replayed = lane.raise_epoch != 0 && lane.raise_epoch != sm.epoch;
      if (!replayed && lane.raised >= gmmu_.fresh_pages_per_instruction) return false;
    }
  }
  const std::uint32_t raw = scattered ? 1 : gmmu_.faults_per_warp_access;
  return sm.raw + raw <= gmmu_.faults_per_sm;
}

// Puts the raw faults of `warps` warps of the access into the buffer. Returns when the fault unit took the first.
inline Nanoseconds KernelRun::raise(SmQueue& sm, std::uint32_t sm_index, Access access, std::uint32_t warps,
                                    Nanoseconds now) {
  const std::uint32_t raw = access.scattered ? warps : warps * gmmu_.faults_per_warp_access;
  const std::uint64_t page = access.index();
  const Nanoseconds arrival = fault_unit_.take(present_, now, access.block, sm.last_page == page, warps);
  sm.last_page = page;
  sm.raw += raw;
  if (arrival <= unheard_until_) {
    unheard_ += raw;
  } else {
    const gmmu::RawFault fault{arrival + away_, PageIndex(page), sm_index,
                               access.write ? gmmu::FaultAccess::kWrite : gmmu::FaultAccess::kRead};
    counters_.overflowed_faults += buffer_.put(fault, raw);
  }
  return arrival;
}

// Retries the accesses that missed before the replay, up to the first that misses again and is not flushed. Returns
// when the SM can go on after that one; kNever if all are retried, with `now` as the time of the last.
inline Nanoseconds KernelRun::retry(SmQueue& sm, std::uint32_t sm_index, Nanoseconds& now) {
  Access* const missed = sm.missed.data();
  const std::size_t count = sm.missed.size();
  while (sm.next_retry < count) {
    const Access access = missed[sm.next_retry++];
    if (!missing(access)) {
      pass(access.lane, now);
      continue;
    }
    missed[sm.raised++] = access;
    const Nanoseconds raised = raise(sm, sm_index, access, access.raising, now);
    const std::uint64_t spacing =
        access.scattered ? gmmu_.sm_page_spacing_ns : gmmu_.sm_retry_spacing_ns * access.raising;
    const Nanoseconds next = std::max(raised, now + ns(spacing));
    if (next > unheard_until_) return next;
    now = next;
  }
  sm.end_retry();
  return kNever;
}

// Raises the faults of a further warp of the access that missed last. Returns when the SM can go on; kNever if no warp
// may raise any.
inline Nanoseconds KernelRun::raise_next_warp(SmQueue& sm, std::uint32_t sm_index, Nanoseconds now) {
  if (sm.missed.empty() || sm.blocked) return kNever;
  Access& last = sm.missed.back();
  if (last.scattered || last.raising == last.warps || sm.raw + gmmu_.faults_per_warp_access > gmmu_.faults_per_sm ||
      (sm.epoch != 1 && sm.new_warps >= gmmu_.new_warps_per_replay) || !missing(last)) {
    return kNever;
  }
  const Nanoseconds raised = raise(sm, sm_index, last, 1, now);
  ++last.raising;
  ++sm.new_warps;
  sm.new_lane = last.lane;
  return std::max(raised, now + ns(sm.epoch != 1 ? gmmu_.sm_spacing_ns : gmmu_.sm_first_spacing_ns));
}

// Fills `rest` with the lane's part from its first missing page on. Returns false if no page is missing.
inline bool KernelRun::look_at_part(std::uint32_t lane_index, std::vector<Untaken>& rest) {
  Lane& lane = lanes_[lane_index];
  if (is_clear(lane)) return false;
  const SectionRun& section = sections_[lane.section];
  const Share* const shares = shares_.data() + lane_index * most_operands_;
  if (plain_slices_) {
    if (look_at_slice(section, lane, shares, rest)) return true;
    if (section.steps != 1) note_clear_steps(section, lane, shares);
    return false;
  }
  struct Looker {
    const KernelRun& run_;
    std::vector<Untaken>& rest;
    bool passes(const Operand& operand, const Share& pages) const {
      return rest.empty() && operand.all_runs(pages, [&](const PageRun& run) { return run_.run_mapped(run); });
    }
    void operator()(const PageRun& run, std::uint32_t warps, bool scattered) const {
      unsigned first = run.first;
      const unsigned end = first + run.count;
      if (rest.empty()) {
        first = run_.first_missing(run.block.value, run.write, first, end);
        if (first == end) return;
      }
      rest.push_back({static_cast<std::uint32_t>(run.block.value), static_cast<std::uint16_t>(first),
                      static_cast<std::uint16_t>(end - first), run_.faulting_warps(warps), run.write, scattered});
    }
  };
  rest.clear();
  for_each_page(work_, section, lane.unit - section.first_unit, lane.step, lane.storing, shares, Looker{*this, rest});
  if (!rest.empty()) return true;
  if (section.steps != 1) note_clear_steps(section, lane, shares);
  return false;
}

// Does the same for slices.
inline bool KernelRun::look_at_slice(const SectionRun& section, const Lane& lane, const Share* shares,
                                     std::vector<Untaken>& rest) const {
  const bool last = lane.step + 1 == section.steps;
  bool missing = false;
  for (const std::uint32_t i : section.watched(lane.storing)) {
    const Operand& operand = section.operands[i];
    if (lane.storing && !last && !stores_in_every_step(section, operand)) continue;
    const Share& share = shares[i];
    const PageRange pages = slice_of_step(share, lane.step, section.steps);
    std::uint64_t from = pages.begin;
    if (!missing) {
      from = first_missing(operand, share, pages);
      if (from == pages.end) continue;
      missing = true;
      rest.clear();
    }
    const std::uint16_t warps = faulting_warps(warps_per_page(work_, pages));
    operand.for_each_run(share, from, pages.end, [&](const PageRun& run) {
      rest.push_back({static_cast<std::uint32_t>(run.block.value), run.first, run.count, warps, operand.write, false});
    });
  }
  return missing;
}

// Call if the lane's present part finds every page mapped. Notes the step up to which its later parts do, too.
void KernelRun::note_clear_steps(const SectionRun& section, Lane& lane, const Share* shares) const {
  if (lane.clear_view != view_) lane.clear[!lane.storing] = 0;
  lane.clear_view = view_;
  std::uint64_t clear = work_.explicit_touches ? 0 : section.steps;  // a list of touches has no operands
  for (const std::uint32_t i : section.watched(lane.storing)) {
    clear = std::min(
        clear, clear_steps(work_, section, section.operands[i], shares[i], lane.unit - section.first_unit, lane.step,
                           [&](PageRange pages) { return first_missing(section.operands[i], shares[i], pages); }));
  }
  lane.clear[lane.storing] = static_cast<std::uint32_t>(clear);
}

// Works through the queue up to the first page that misses, and raises its fault. Returns when the SM can go on; kNever
// if that page may raise no fault or is not due yet, or if none is left.
inline Nanoseconds KernelRun::take_waiting(SmQueue& sm, std::uint32_t sm_index, Nanoseconds now) {
  while (true) {
    if (!sm.taking) {
      sm.issue(now + load_time_, issue_depth_);
      // Mapped pages may pass up to load_time_ early: a store follows its load after that time anyway.
      const Nanoseconds ready = sm.next_ready();
      if (ready == kNever || ready > now + load_time_) return kNever;
      const std::uint32_t lane = sm.next().lane;
      if (!look_at_part(lane, sm.rest)) {
        sm.skip();
        finish_part(lane, std::max(now, ready));
        continue;
      }
      sm.take();
    } else {
      for (; sm.next_rest != sm.rest.size(); ++sm.next_rest) {
        Untaken& next = sm.rest[sm.next_rest];
        const unsigned end = next.first + next.count;
        const unsigned missed = first_missing(next.block, next.write, next.first, end);
        if (missed == end) continue;
        next.first = static_cast<std::uint16_t>(missed);
        next.count = static_cast<std::uint16_t>(end - missed);
        break;
      }
      if (sm.next_rest == sm.rest.size()) {
        sm.taking = false;
        pass(sm.taken.lane, std::max(now, sm.taken.ready));
        continue;
      }
    }
    // The first page of `rest` misses.
    Untaken& next = sm.rest[sm.next_rest];
    if (sm.taken.ready > now) return kNever;
    sm.blocked = !may_raise(sm, next.scattered);
    return sm.blocked ? kNever : raise_untaken(sm, sm_index, next, now);
  }
}

// Raises the fault of the first of these pages, which misses. Returns when the SM can go on.
Nanoseconds KernelRun::raise_untaken(SmQueue& sm, std::uint32_t sm_index, Untaken& next, Nanoseconds now) {
  if (sm.new_lane != sm.taken.lane) {
    sm.new_lane = sm.taken.lane;
    ++sm.new_warps;
  }
  Lane& lane = lanes_[sm.taken.lane];
  ++lane.pending;
  if (lane.raise_epoch == 0) lane.raise_epoch = sm.epoch;
  if (lane.raised != std::numeric_limits<std::uint16_t>::max()) ++lane.raised;
  sm.missed.push_back({next.block, sm.taken.lane, next.first, next.warps, 1, next.write, next.scattered});
  sm.raised = sm.next_retry = sm.missed.size();
  ++next.first;
  if (--next.count == 0) ++sm.next_rest;
  const Access& access = sm.missed.back();
  const Nanoseconds raised = raise(sm, sm_index, access, 1, now);
  const std::uint64_t spacing = access.scattered ? gmmu_.sm_page_spacing_ns
                                : sm.epoch != 1  ? gmmu_.sm_spacing_ns
                                                 : gmmu_.sm_first_spacing_ns;
  return std::max(raised, now + ns(spacing));
}

// Lets the SM work through its queue until it has raised a fault, and needs time for the next, or may raise no more.
void KernelRun::serve(std::uint32_t sm_index, Nanoseconds now) {
  SmQueue& sm = sms_[sm_index];
  sm.scheduled = true;  // a unit that passes queues its next part in this call
  sm.asleep = false;
  Nanoseconds next = now;
  do {  // the order of SMs does not matter for flushed faults
    now = next;
    next = sm.raised == sm.missed.size() ? kNever : retry(sm, sm_index, now);
    if (next == kNever) next = raise_next_warp(sm, sm_index, now);
    if (next == kNever) next = take_waiting(sm, sm_index, now);
  } while (next <= unheard_until_);
  if (next != kNever) return sm_at(next, sm_index);
  sm.scheduled = false;
  look_at_queue(sm, sm_index, now);
}

// Wakes an SM whose next part is ready. Mostly that part is known to pass.
void KernelRun::wake(std::uint32_t sm_index, Nanoseconds now) {
  SmQueue& sm = sms_[sm_index];
  if (sm.taking || !sm.missed.empty()) return serve(sm_index, now);
  while (sm.next_ready() <= now + load_time_) {
    const Turn next = sm.next();
    if (!is_clear(lanes_[next.lane])) return serve(sm_index, now);
    sm.skip();
    const Nanoseconds ready = std::max(now, next.ready);
    if (!skip_clear_steps(next.lane, ready)) finish_part(next.lane, ready);
  }
  sm.scheduled = sm.asleep = false;
  if (sm.next_ready() != kNever) sleep_until(sm, sm_index, sm.next_ready());
}

// Lets the SM serve its queue: now if a part is ready, else when one will be.
void KernelRun::look_at_queue(SmQueue& sm, std::uint32_t sm_index, Nanoseconds now) {
  if (sm.blocked || (sm.scheduled && !sm.asleep)) return;
  const Nanoseconds ready = sm.next_ready();
  if (ready == kNever) return;
  if (sm.asleep) {
    if (ready >= sm.wakes) return;
    agenda_->remove(sm_index);
  }
  if (ready <= now) return serve(sm_index, now);
  sleep_until(sm, sm_index, ready);
}

inline void KernelRun::sleep_until(SmQueue& sm, std::uint32_t sm_index, Nanoseconds ready) {
  sm.scheduled = sm.asleep = true;
  sm.wakes = ready;
  sm_at(ready, sm_index);
}

void KernelRun::replay(Nanoseconds now, std::uint32_t sms) {
  now = own(now);
  for (std::size_t i = sm_order_.size() - 1; i > 0; --i) {
    std::swap(sm_order_[i], sm_order_[static_cast<std::size_t>(random_.below(i + 1))]);
  }
  std::uint64_t turn = 0;
  for (const std::uint32_t index : sm_order_) {
    if (index >= sms) continue;
    SmQueue& sm = sms_[index];
    if (sm.missed.empty() && sm.next_ready() > now) continue;
    sm.replay();
    if (sm.scheduled) agenda_->remove(index);
    sm.scheduled = true;
    sm.asleep = false;
    const std::uint64_t jitter = gmmu_.replay_jitter_ns == 0 ? 0 : random_.below(gmmu_.replay_jitter_ns);
    sm_at(now + ns(jitter + gmmu_.replay_sm_ns * turn++), index);
  }
}

}  // namespace uvmsim::engine
