// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/kernel_run.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/engine/step_pages.h"

namespace uvmsim::engine {

KernelRun::KernelRun(KernelWork work, unsigned gpu, const config::SystemConfig& system, const AddressSpace& space,
                     gmmu::FaultBuffer& buffer, Counters& counters, Buffers& buffers, std::uint64_t seed)
    : work_(std::move(work)),
      gpu_(gpu),
      system_(system),
      gmmu_(system.gmmu),
      space_(space),
      me_(gpu_processor(gpu)),
      buffer_(buffer),
      counters_(counters),
      buffers_(buffers),
      random_(seed),
      fault_unit_(system.gmmu) {
  find_pages();
}

KernelRun::~KernelRun() {
  if (lanes_.empty()) return;  // never started
  buffers_.kept.push_back({std::move(lanes_), std::move(sms_), std::move(shares_), std::move(agenda_)});
}

// Returns whether the operand is fully mapped. The search begins at the page that was missing last time.
bool KernelRun::operand_mapped(SectionRun& section, std::uint32_t index) const {
  const Operand& operand = section.operands[index];
  std::uint64_t& at = section.unmapped[index];
  const auto mapped = [&](const PageRun& run, std::uint64_t position) {
    if (run_mapped(run)) return true;
    at = position;
    return false;
  };
  const std::uint64_t begin = at;
  return operand.all_runs(begin, operand.pages, mapped) && operand.all_runs(0, begin, mapped);
}

bool KernelRun::all_mapped() const {
  for (const Section& section : work_.sections) {
    for (const Operand& operand : section.operands) {
      const auto mapped = [&](const PageRun& run, std::uint64_t) { return run_mapped(run); };
      if (!operand.all_runs(0, operand.pages, mapped)) return false;
    }
  }
  return std::none_of(work_.touches.begin(), work_.touches.end(),
                      [&](const PageRef& page) { return !usable(page.block.value, page.write).test(page.page); });
}

void KernelRun::start(Nanoseconds now) {
  const std::uint32_t sms = system_.gpus[gpu_].sm_count;
  if (!buffers_.kept.empty()) {
    lanes_ = std::move(buffers_.kept.back().lanes);
    sms_ = std::move(buffers_.kept.back().sms);
    shares_ = std::move(buffers_.kept.back().shares);
    agenda_ = std::move(buffers_.kept.back().agenda);
    buffers_.kept.pop_back();
  } else {
    agenda_ = std::make_unique<Agenda>();
  }
  agenda_->reset(sms + work_.lanes, now);
  sms_.resize(sms);
  const std::uint32_t groups = (work_.lanes + work_.lanes_per_sm_group - 1) / work_.lanes_per_sm_group;
  for (SmQueue& sm : sms_) sm.reset((groups + sms - 1) / sms * work_.lanes_per_sm_group);
  sm_count_ = sms;
  sm_order_.resize(sms);
  for (std::uint32_t i = 0; i < sms; ++i) sm_order_[i] = i;
  lanes_.assign(work_.lanes, Lane{});
  sections_ = std::vector<SectionRun>(work_.sections.begin(), work_.sections.end());
  for (const SectionRun& section : sections_) most_operands_ = std::max(most_operands_, section.operands.size());
  shares_.resize(work_.lanes * most_operands_);
  end_ = now;
  fault_unit_.reset(now);
  unmap_epoch_ = space_.unmap_epoch(gpu_);
  unmapped_ = false;
  plain_slices_ = plain_slices(work_);
  issue_depth_ = std::max(1u, gmmu_.issued_accesses_per_sm / instructions_per_part(work_));
  begin_section();
  plan_turns();
  for (std::uint32_t i = 0; i < work_.lanes; ++i) {
    lanes_[i].sm = static_cast<std::uint16_t>(i / work_.lanes_per_sm_group % sms);
    lane_at(now + (as_recorded_ ? Nanoseconds{} : ns(i / work_.lanes_per_sm_group * system_.runtime.block_launch_ns)),
            i);
  }
}

void KernelRun::start_beside_others(Nanoseconds now, Nanoseconds recorded) {
  beside_others_ = true;
  as_recorded_ = all_mapped();
  start(now);
  if (as_recorded_) end_ = now + recorded;
}

bool KernelRun::take_unit(Lane& lane) {
  if (next_unit_ == work_.units) return false;
  while (next_unit_ >= sections_[next_section_].first_unit + sections_[next_section_].units) {
    ++next_section_;
    begin_section();
  }
  const std::uint16_t sm = lane.sm;
  lane = Lane{};
  lane.sm = sm;
  lane.unit = next_unit_++;
  lane.section = next_section_;
  return true;
}

// Gives the lane the next unit, if one is left.
void KernelRun::start_unit(std::uint32_t index, Nanoseconds time) {
  Lane& lane = lanes_[index];
  if (!take_unit(lane)) {
    ++idle_lanes_;
    end_ = std::max(end_, time);
    return;
  }
  plan_shares(index);
  Nanoseconds now = time;
  if (!issue(index, now)) finish_part(index, now);
  look_at_queue(sms_[lane.sm], lane.sm, time);
}

// Handles the next event. Returns false if there is none by `until`.
inline bool KernelRun::next_event(Nanoseconds until) {
  Agenda::Event event;
  if (!agenda_->pop(event, until)) return false;
  present_ = event.time;
  if (event.subject >= sm_count_) {
    start_unit(event.subject - sm_count_, event.time);
  } else if (sms_[event.subject].asleep) {
    wake(event.subject, event.time);
  } else {
    serve(event.subject, event.time);
  }
  return true;
}

void KernelRun::advance(Nanoseconds until) { compute(own(until)); }

void KernelRun::compute(Nanoseconds until) {
  find_pages();
  horizon_ = until;
  while (next_event(until)) {
  }
}

std::uint32_t KernelRun::advance_unheard(Nanoseconds until) {
  unheard_until_ = own(until);
  unheard_ = 0;
  compute(unheard_until_);
  unheard_until_ = Nanoseconds(-1);
  return unheard_;
}

void KernelRun::advance_to_fault(Nanoseconds until) {
  until = own(until);
  find_pages();
  const Nanoseconds wakeup = ns(system_.costs.wakeup_ns);
  do {
    horizon_ = std::min(until, present_ + wakeup);
  } while (buffer_.empty() && next_event(until));
}

void KernelRun::suspend(Nanoseconds now) {
  UVMSIM_CHECK(suspended_at_ == Nanoseconds(INT64_MAX), "suspended at {} ns already", suspended_at_.value);
  compute(own(now));
  suspended_at_ = now;
}

void KernelRun::resume(Nanoseconds now) {
  away_ += now - suspended_at_;
  suspended_at_ = Nanoseconds(INT64_MAX);
}

void KernelRun::begin_section() {
  const SectionRun& section = sections_[next_section_];
  slices_.clear();
  for (const Operand& operand : section.operands) slices_.push_back({{0, operand.pages, section.units}});
  look_at_operands();
}

// Computes the shares of the lane's new unit, in patterns that use them (slices and tiles).
void KernelRun::plan_shares(std::uint32_t index) {
  const Lane& lane = lanes_[index];
  Share* share = shares_of(index);
  const SectionRun& section = sections_[lane.section];
  if (work_.pattern == Pattern::kSlices) {
    const Operand* operand = section.operands.data();
    for (NextSlice& slice : slices_) {
      share->begin = slice.begin.value();
      slice.begin.advance();
      share->end = slice.begin.value() + (slice.begin.exact() ? 0 : 1);  // a page that two slices share belongs to both
      if (operand->contiguous) {
        share->first_index = operand->first_index + share->begin;
      } else {
        const Stretch* stretch = &operand->stretches[slice.stretch];
        for (; stretch->ordinal + stretch->count <= share->begin; ++stretch) ++slice.stretch;
        const std::uint64_t into = share->begin - stretch->ordinal;
        share->first_index = share->end <= stretch->ordinal + stretch->count ? stretch->index + into : Share::kSplit;
      }
      ++share;
      ++operand;
    }
  } else if (work_.pattern == Pattern::kTiles) {
    plan_marches(work_, section, lane.unit - section.first_unit, share);
  } else {
    std::fill_n(share, section.operands.size(), Share{});  // another kernel's
  }
}

// A part of a slice has accesses if the section watches operands of its kind. Small outputs are stored in the last step
// only.
inline bool KernelRun::issue_slice(const SectionRun& section, Lane& lane, Nanoseconds& now) const {
  const std::uint32_t last = section.steps - 1;
  if (!lane.storing) {
    if (!section.watched_inputs.empty()) return true;
    lane.storing = true;
    now += section.load_time;
    if (!section.early_stores && lane.step != last) {  // no accesses before the last step
      now += (section.turn_time + section.load_time) * (last - lane.step);
      lane.step = last;
    }
  }
  return section.early_stores || (lane.step == last && !section.watched_outputs.empty());
}

// Tiles load in all steps but the last, and store in that.
inline bool KernelRun::issue_tile(const SectionRun& section, Lane& lane, const Share* shares, Nanoseconds& now) const {
  const std::uint32_t last = section.steps - 1;
  if (!lane.storing) {
    if (!section.watched_inputs.empty()) {
      const std::uint32_t next = next_loading_step(section, lane.step, shares);
      now += (section.turn_time + section.load_time) * (next - lane.step);
      lane.step = next;
      return next != last;
    }
    lane.storing = true;
    now += section.load_time + work_.step * (last - lane.step);  // the march finds everything mapped
    lane.step = last;
  }
  return lane.step == last && !section.watched_outputs.empty();
}

inline bool KernelRun::issue_other(const SectionRun& section, Lane& lane, const Share* shares, Nanoseconds& now) const {
  const bool explicit_list = work_.explicit_touches;
  if (!lane.storing && !explicit_list && section.watched_inputs.empty()) {
    lane.storing = true;
    now += section.load_time;
  }
  const bool any = has_pages(work_, section, lane.unit - section.first_unit, lane.step, lane.storing, shares);
  if (explicit_list) (lane.storing ? lane.stored : lane.loaded) = any;
  return any;
}

inline void KernelRun::queue_part(Lane& lane, std::uint32_t index, Nanoseconds now) {
  lane.pending = 1;
  lane.raise_epoch = 0;
  lane.raised = 0;
  sms_[lane.sm].add({now, index, static_cast<std::uint32_t>(lane.unit)});
}

inline bool KernelRun::issue(std::uint32_t index, Nanoseconds& now) {
  notice_unmaps();
  Lane& lane = lanes_[index];
  const SectionRun& section = sections_[lane.section];
  const bool any = plain_slices_                      ? issue_slice(section, lane, now)
                   : work_.pattern == Pattern::kTiles ? issue_tile(section, lane, shares_of(index), now)
                                                      : issue_other(section, lane, shares_of(index), now);
  if (any) queue_part(lane, index, now);
  return any;
}

// Watches the present section's operands that are not fully mapped. The others need no check per step until a page is
// unmapped.
void KernelRun::look_at_operands() {
  ++view_;
  SectionRun& section = sections_[next_section_];
  section.watch([&](std::uint32_t i) { return beside_others_ || !operand_mapped(section, i); });
}

void KernelRun::watch_again() {
  unmap_epoch_ = space_.unmap_epoch(gpu_);
  unmapped_ = false;
  for (; watching_from_ < next_section_; ++watching_from_) {
    sections_[watching_from_].watch([](std::uint32_t) { return true; });
  }
  look_at_operands();
}

// A single warp with a list of touches waits for each of them; several warps overlap touches with the compute of
// others.
void KernelRun::plan_turns() {
  const config::RuntimeCosts& costs = system_.runtime;
  const bool lone = work_.explicit_touches && work_.lanes == 1;
  load_time_ = lone || as_recorded_ ? Nanoseconds{} : ns(costs.load_ns);
  load_times_[true] = load_time_;
  for (const bool stored : {false, true}) {
    for (const bool loaded : {false, true}) {
      const std::uint64_t turn =
          lone ? (loaded ? costs.touch_ns : costs.touch_write_ns)
               : (stored ? costs.store_ns : 0) + (stored && loaded ? costs.load_after_store_ns : 0);
      turn_times_[stored][loaded] = as_recorded_ && !lone ? work_.step : std::max(work_.step, ns(turn));
    }
  }
  for (SectionRun& section : sections_) {
    const auto writes = [](const Operand& operand) { return operand.write; };
    const bool stores = std::any_of(section.operands.begin(), section.operands.end(), writes);
    const bool loads = !std::all_of(section.operands.begin(), section.operands.end(), writes);
    section.load_time = load_times_[loads];
    section.turn_time = turn_times_[stores][loads && work_.pattern != Pattern::kPlanes];
  }
  if (as_recorded_) return;
  block_start_ = ns(costs.block_start_ns);
  block_dispatch_ = ns(costs.block_dispatch_ns);
}

// Returns the time up to which all parts in the SM's queue are known to find their pages mapped.
Nanoseconds KernelRun::others_clear_until(const SmQueue& sm) const {
  Nanoseconds until = kNever;
  sm.for_each_waiting([&](const Turn& turn) {
    const Lane& lane = lanes_[turn.lane];
    Nanoseconds clear = turn.ready;
    if (!lane.storing && lane.clear_view == view_) {
      const SectionRun& section = sections_[lane.section];
      const std::uint32_t end =
          section.watched_outputs.empty() ? lane.clear[0] : std::min(lane.clear[0], lane.clear[1]);
      if (end > lane.step) clear += (section.load_time + section.turn_time) * (end - lane.step);
    }
    until = std::min(until, clear);
  });
  return until;
}

// Call when the lane's loads pass at `now`. Skips the next steps that are known to pass before any mapping can change.
// Returns false if there are none.
bool KernelRun::skip_clear_steps(std::uint32_t index, Nanoseconds now) {
  Lane& lane = lanes_[index];
  if (lane.storing || lane.clear_view != view_) return false;
  const SectionRun& section = sections_[lane.section];
  std::uint32_t end = std::min(lane.clear[0], section.steps - 1);
  const bool stores_too = work_.accesses_per_page != 0 ? !section.watched_outputs.empty()
                                                       : section.early_stores && work_.pattern != Pattern::kTiles;
  if (stores_too) end = std::min(end, lane.clear[1]);
  if (end <= lane.step + 1 || horizon_ <= now) return false;
  // Warps that come back to their pages stop behind the first of their SM that misses.
  const Nanoseconds limit =
      work_.accesses_per_page != 0 ? std::min(horizon_, others_clear_until(sms_[lane.sm])) : horizon_;
  if (limit <= now) return false;
  const Nanoseconds step = section.load_time + section.turn_time;
  const auto steps = static_cast<std::uint32_t>(
      std::min<std::int64_t>(end - lane.step, step.value == 0 ? end : (limit - now).value / step.value));
  if (steps == 0) return false;
  lane.step += steps;
  now += step * steps;
  if (!issue(index, now)) finish_part(index, now);
  return true;
}

// Call when all accesses of the lane's part have passed. Goes on to the next part that has accesses to check.
void KernelRun::finish_part(std::uint32_t index, Nanoseconds now) {
  Lane& lane = lanes_[index];
  const SectionRun& section = sections_[lane.section];
  const bool tiles = work_.pattern == Pattern::kTiles;
  const bool listed = work_.explicit_touches;  // steps of a list differ in whether they load and store
  do {
    if (!lane.storing) {
      lane.storing = true;
      now += listed ? load_times_[lane.loaded] : section.load_time;
      if (!tiles || lane.step + 1 == section.steps) continue;  // tiles store in the last step only
    }
    const Nanoseconds time = now + (listed ? turn_times_[lane.stored][lane.loaded] : section.turn_time);
    lane.storing = lane.stored = lane.loaded = false;
    if (++lane.step == section.steps) {
      end_ = std::max(end_, time);
      if (next_unit_ == work_.units) {
        ++idle_lanes_;
      } else {
        SmQueue& sm = sms_[lane.sm];
        Nanoseconds start = std::max(time, now + block_start_);
        if (block_dispatch_ != Nanoseconds{}) {
          start = std::max(start, sm.next_block);
          sm.next_block = start + block_dispatch_;
        }
        lane_at(start, index);
      }
      return;
    }
    now = time;
  } while (!issue(index, now));
}

}  // namespace uvmsim::engine
