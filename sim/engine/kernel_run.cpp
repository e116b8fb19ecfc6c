#include "sim/engine/kernel_run.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/engine/step_pages.h"

namespace uvmsim::engine {

KernelRun::KernelRun(KernelWork work, unsigned gpu, const config::SystemConfig& system, AddressSpace& space,
                     gmmu::FaultBuffer& buffer, Counters& counters, Buffers& buffers, std::uint64_t seed)
    : work_(std::move(work)),
      gpu_(gpu),
      system_(system),
      space_(space),
      buffer_(buffer),
      counters_(counters),
      buffers_(buffers),
      random_(seed) {}

KernelRun::~KernelRun() {
  if (lanes_.empty()) return;  // never started
  buffers_.kept.push_back({std::move(lanes_), std::move(sms_), std::move(shares_), std::move(agenda_)});
}

bool KernelRun::operand_mapped(const Operand& operand) const {
  return std::all_of(operand.segments.begin(), operand.segments.end(), [&](const Segment& segment) {
    const ProcessorPages& mine = space_.pages(segment.block, gpu_processor(gpu_));
    return (operand.write ? mine.writable : mine.mapped).contains(PageMask::range(segment.first, segment.count));
  });
}

bool KernelRun::all_mapped() const {
  for (const Section& section : work_.sections) {
    for (const Operand& operand : section.operands) {
      if (!operand_mapped(operand)) return false;
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
  for (SmQueue& sm : sms_) sm.reset();
  sms_.resize(sms);
  sm_count_ = sms;
  sm_order_.resize(sms);
  for (std::uint32_t i = 0; i < sms; ++i) sm_order_[i] = i;
  lanes_.assign(work_.lanes, Lane{});
  for (const Section& section : work_.sections) most_operands_ = std::max(most_operands_, section.operands.size());
  shares_.resize(work_.lanes * most_operands_);
  end_ = now;
  fault_unit_free_ = now;
  unmap_epoch_ = space_.unmap_epoch();
  for (Section& section : work_.sections) {
    for (const Operand& operand : section.operands) (operand.write ? section.stores : section.loads) = true;
  }
  look_at_operands();
  plan_turns();
  for (std::uint32_t i = 0; i < work_.lanes; ++i) {
    lanes_[i].sm = static_cast<std::uint16_t>(i / work_.lanes_per_sm_group % sms);
    lane_at(now + ns(i / work_.lanes_per_sm_group * system_.runtime.block_launch_ns), i);
  }
}

bool KernelRun::take_unit(Lane& lane) {
  if (next_unit_ == work_.units) return false;
  while (next_unit_ >= work_.sections[next_section_].first_unit + work_.sections[next_section_].units) {
    ++next_section_;
    cursors_valid_ = false;
    look_at_operands();
  }
  const std::uint16_t sm = lane.sm;
  lane = Lane{};
  lane.sm = sm;
  lane.fresh = false;
  lane.unit = next_unit_++;
  lane.section = next_section_;
  return true;
}

void KernelRun::step(const Agenda::Event& event) {
  if (event.subject < sm_count_) {
    sms_[event.subject].scheduled = false;
    return serve(event.subject, event.time);
  }
  const std::uint32_t index = event.subject - sm_count_;
  Lane& lane = lanes_[index];
  if (!lane.fresh) return issue(index, event.time);
  if (!take_unit(lane)) {
    ++idle_lanes_;
    end_ = std::max(end_, event.time);
    return;
  }
  if (work_.pattern == Pattern::kSlices && !work_.rows && work_.sections[lane.section].steps == 1) {
    issue_fresh(index, event.time);
  } else {
    const Section& section = work_.sections[lane.section];
    plan_shares(work_, section, lane.unit - section.first_unit, shares_of(index));
    issue(index, event.time);
  }
}

void KernelRun::advance(Nanoseconds until) {
  Agenda::Event event;
  while (agenda_->pop(event, until)) step(event);
}

void KernelRun::advance_to_fault() {
  Agenda::Event event;
  while (buffer_.empty() && agenda_->pop(event, kNever)) step(event);
}

void KernelRun::begin_part(Lane& lane) {
  lane.pending = 1;  // held until every access is issued
  lane.raise_epoch = 0;
  lane.raised = 0;
}

// The pages join the SM's queue, but those that are mapped and have nothing ahead of them.
void KernelRun::want(std::uint32_t index, const PageRun& run, std::uint32_t warps, bool scattered) {
  Lane& lane = lanes_[index];
  SmQueue& sm = sms_[lane.sm];
  unsigned first = run.first;
  const unsigned end = first + run.count;
  if (sm.idle()) {
    first = usable(run.block.value, run.write).next_clear(first);
    if (first >= end) return;
  }
  lane.pending += end - first;
  sm.waiting.push_back({static_cast<std::uint32_t>(run.block.value), index, static_cast<std::uint16_t>(first),
                        static_cast<std::uint16_t>(end - first), static_cast<std::uint16_t>(std::min(warps, 1024u)),
                        run.write, scattered});
}

void KernelRun::end_part(std::uint32_t index, Nanoseconds now) {
  Lane& lane = lanes_[index];
  const SmQueue& sm = sms_[lane.sm];
  if (lane.pending > 1 && !sm.blocked && !sm.scheduled) serve(lane.sm, now);
  if (--lane.pending == 0) finish_part(index, now);
}

void KernelRun::issue(std::uint32_t index, Nanoseconds now) {
  notice_unmaps();
  Lane& lane = lanes_[index];
  const Section& section = work_.sections[lane.section];
  const bool explicit_list = work_.explicit_touches;
  if (!lane.storing && loads_skipped_ && !explicit_list) {
    lane.loaded = section.loads;
    lane.storing = true;
    if (section.loads) now += ns(system_.runtime.load_ns);
    if (work_.pattern == Pattern::kTiles && lane.step + 1 < section.steps) {  // the march finds everything mapped
      now += work_.step * (section.steps - 1 - lane.step);
      lane.step = section.steps - 1;
    }
  }
  begin_part(lane);
  bool any = !explicit_list && (lane.storing ? section.stores : section.loads);
  for_each_page(work_, section, lane.unit - section.first_unit, lane.step, lane.storing, shares_of(index),
                [&](const PageRun& run, std::uint32_t warps, bool scattered) {
                  any = true;
                  want(index, run, warps, scattered);
                });
  (lane.storing ? lane.stored : lane.loaded) |= any;
  end_part(index, now);
}

// Operands of the present section that are mapped as a whole need no look per step, as long as nothing is unmapped.
void KernelRun::look_at_operands() {
  loads_skipped_ = true;
  for (Operand& operand : work_.sections[next_section_].operands) {
    operand.skip = skipping_ && operand_mapped(operand);
    if (!operand.write && !operand.skip) loads_skipped_ = false;
  }
}

// Something was unmapped: every operand is looked at from here on.
void KernelRun::notice_unmaps() {
  if (unmap_epoch_ == space_.unmap_epoch()) return;
  unmap_epoch_ = space_.unmap_epoch();
  if (!skipping_) return;
  skipping_ = false;
  cursors_valid_ = false;
  for (Section& section : work_.sections) {
    for (Operand& operand : section.operands) operand.skip = false;
  }
  loads_skipped_ = false;
}

void KernelRun::prepare_cursors(std::uint64_t unit) {
  const Section& section = work_.sections[next_section_];
  load_cursors_.clear();
  store_cursors_.clear();
  for (const Operand& operand : section.operands) {
    if (operand.skip) continue;
    (operand.write ? store_cursors_ : load_cursors_).emplace_back(operand, section.units, unit);
  }
  cursors_valid_ = true;
}

void KernelRun::issue_fresh(std::uint32_t index, Nanoseconds now) {
  Lane& lane = lanes_[index];
  const Section& section = work_.sections[lane.section];
  const std::uint64_t unit = lane.unit - section.first_unit;
  notice_unmaps();
  if (!cursors_valid_) prepare_cursors(unit);
  begin_part(lane);
  for (SliceCursor& cursor : load_cursors_) {
    cursor.next([&](const PageRun& run) { want(index, run, work_.warps, false); });
  }
  lane.loaded = section.loads;
  if (lane.pending > 1) {  // the loads wait: the stores come later, one by one
    for (SliceCursor& cursor : store_cursors_) cursor.next([](const PageRun&) {});
    plan_shares(work_, section, unit, shares_of(index));
    end_part(index, now);
    return;
  }
  // The loads pass; the stores follow after their latency. Nothing can come between but a little time.
  const Nanoseconds stored = section.loads ? now + ns(system_.runtime.load_ns) : now;
  lane.storing = true;
  lane.stored = section.stores;
  for (SliceCursor& cursor : store_cursors_) {
    cursor.next([&](const PageRun& run) { want(index, run, work_.warps, false); });
  }
  end_part(index, stored);
}

void KernelRun::pass(std::uint32_t index, std::uint32_t accesses, Nanoseconds now) {
  Lane& lane = lanes_[index];
  UVMSIM_CHECK(lane.pending >= accesses, "lane {} has {} pending, not {}", index, lane.pending, accesses);
  lane.pending -= accesses;
  if (lane.pending == 0) finish_part(index, now);
}

// A lone thread waits for each of its touches; warps overlap theirs with the compute of others.
void KernelRun::plan_turns() {
  const config::RuntimeCosts& costs = system_.runtime;
  const bool lone = work_.explicit_touches && work_.lanes == 1;
  load_time_ = lone ? Nanoseconds{} : ns(costs.load_ns);
  for (const bool stored : {false, true}) {
    for (const bool loaded : {false, true}) {
      const std::uint64_t turn =
          lone ? (loaded ? costs.touch_ns : costs.touch_write_ns)
               : (stored ? costs.store_ns : 0) + (stored && loaded ? costs.load_after_store_ns : 0);
      turn_times_[stored][loaded] = std::max(work_.step, ns(turn));
    }
  }
}

void KernelRun::finish_part(std::uint32_t index, Nanoseconds now) {
  Lane& lane = lanes_[index];
  if (!lane.storing) {
    lane.storing = true;
    if (lane.loaded && load_time_.value != 0) {
      lane_at(now + load_time_, index);
    } else {
      issue(index, now);
    }
    return;
  }
  Nanoseconds time = now + turn_times_[lane.stored][lane.loaded];
  lane.storing = lane.stored = lane.loaded = false;
  if (++lane.step == work_.sections[lane.section].steps) {
    end_ = std::max(end_, time);
    lane.fresh = true;
    if (next_unit_ == work_.units) {
      ++idle_lanes_;
      return;
    }
    time = std::max(time, now + ns(system_.runtime.block_start_ns));
  }
  lane_at(time, index);
}

}  // namespace uvmsim::engine
