#include "sim/engine/kernel_run.h"

#include <algorithm>
#include <limits>

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
  agenda_.clear();
  buffers_.kept.push_back({std::move(lanes_), std::move(sms_), std::move(agenda_)});
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
    agenda_ = std::move(buffers_.kept.back().agenda);
    buffers_.kept.pop_back();
  }
  for (Sm& sm : sms_) sm.reset();
  sms_.resize(sms);
  sm_order_.resize(sms);
  for (std::uint32_t i = 0; i < sms; ++i) sm_order_[i] = i;
  lanes_.assign(work_.lanes, Lane{});
  end_ = now;
  fault_unit_free_ = now;
  unmap_epoch_ = space_.unmap_epoch();
  for (Section& section : work_.sections) {
    for (const Operand& operand : section.operands) (operand.write ? section.stores : section.loads) = true;
  }
  look_at_operands();
  for (std::uint32_t i = 0; i < work_.lanes; ++i) {
    lanes_[i].sm = i / work_.lanes_per_sm_group % sms;
    at(now + ns(i / work_.lanes_per_sm_group * system_.runtime.block_launch_ns), kOther, i, false);
  }
}

bool KernelRun::take_unit(Lane& lane) {
  if (next_unit_ == work_.units) return false;
  while (next_unit_ >= work_.sections[next_section_].first_unit + work_.sections[next_section_].units) {
    ++next_section_;
    cursors_valid_ = false;
    look_at_operands();
  }
  const std::uint32_t sm = lane.sm;
  lane = Lane{};
  lane.sm = sm;
  lane.fresh = false;
  lane.unit = next_unit_++;
  lane.section = next_section_;
  return true;
}

void KernelRun::step(const AgendaEvent& event) {
  if (event.is_sm != 0) {
    Sm& sm = sms_[event.subject];
    if (sm.ticket != event.ticket) return;  // a replay overtook it
    sm.scheduled = false;
    serve(event.subject, event.time);
    return;
  }
  Lane& lane = lanes_[event.subject];
  if (!lane.fresh) return issue(event.subject, event.time);
  if (!take_unit(lane)) {
    ++idle_lanes_;
    end_ = std::max(end_, event.time);
    return;
  }
  if (work_.pattern == Pattern::kSlices && !work_.rows && work_.sections[lane.section].steps == 1) {
    issue_fresh(event.subject, event.time);
  } else {
    issue(event.subject, event.time);
  }
}

void KernelRun::advance(Nanoseconds until) {
  AgendaEvent event;
  while (agenda_.pop(event, until)) step(event);
}

void KernelRun::advance_to_fault() {
  constexpr Nanoseconds kEver(std::numeric_limits<std::int64_t>::max());
  AgendaEvent event;
  while (buffer_.empty() && agenda_.pop(event, kEver)) step(event);
}

void KernelRun::begin_part(Lane& lane) {
  lane.pending = 1;  // held until every access is issued
  lane.raised = 0;
  lane.replayed = false;
}

// The pages join the SM's queue, but those that are mapped and have nothing ahead of them.
void KernelRun::want(std::uint32_t index, const PageRun& run, std::uint32_t warps, bool scattered) {
  Lane& lane = lanes_[index];
  Sm& sm = sms_[lane.sm];
  const bool idle = !sm.blocked && !sm.scheduled && sm.next_waiting == sm.waiting.size();
  unsigned first = run.first;
  const unsigned end = first + run.count;
  if (idle) {
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
  const Sm& sm = sms_[lane.sm];
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
  for_each_page(work_, section, lane.unit - section.first_unit, lane.step, lane.storing,
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

void KernelRun::finish_part(std::uint32_t index, Nanoseconds now) {
  Lane& lane = lanes_[index];
  const config::RuntimeCosts& costs = system_.runtime;
  if (!lane.storing) {
    lane.storing = true;
    const Nanoseconds loads = work_.explicit_touches && work_.lanes == 1 ? Nanoseconds{} : ns(costs.load_ns);
    if (lane.loaded && loads.value != 0) {
      at(now + loads, kLoads, index, false);
    } else {
      issue(index, now);
    }
    return;
  }
  Nanoseconds time = now;
  if (work_.explicit_touches && work_.lanes == 1) {
    time += std::max(work_.step, ns(lane.loaded ? costs.touch_ns : costs.touch_write_ns));
  } else {
    const std::uint64_t turn =
        (lane.stored ? costs.store_ns : 0) + (lane.stored && lane.loaded ? costs.load_after_store_ns : 0);
    time += std::max(work_.step, ns(turn));
  }
  lane.storing = lane.stored = lane.loaded = false;
  if (++lane.step == work_.sections[lane.section].steps) {
    end_ = std::max(end_, time);
    lane.fresh = true;
    if (next_unit_ == work_.units) {
      ++idle_lanes_;
      return;
    }
    time = std::max(time, now + ns(costs.block_start_ns));
  }
  at(time, kStep, index, false);
}

bool KernelRun::may_raise(const Sm& sm, const Waiting& next) const {
  const config::GmmuConfig& gmmu = system_.gmmu;
  const Lane& lane = lanes_[next.lane];
  if (sm.replayed) {
    if (sm.new_lane != next.lane && sm.new_warps >= gmmu.new_warps_per_replay) return false;
    if (next.scattered && !lane.replayed && lane.raised >= gmmu.fresh_pages_per_instruction) return false;
  }
  const std::uint32_t raw = next.scattered ? 1 : gmmu.faults_per_warp_access;
  return sm.raw + raw <= gmmu.faults_per_sm;
}

// Puts the raw faults of `warps` warps of the access into the buffer. Returns when the fault unit took the first.
Nanoseconds KernelRun::raise(std::uint32_t sm_index, Access& access, std::uint32_t warps, Nanoseconds now) {
  Sm& sm = sms_[sm_index];
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

// The SM works through its queue until it raised a fault (and needs time for the next) or may raise no more.
void KernelRun::serve(std::uint32_t sm_index, Nanoseconds now) {
  const config::GmmuConfig& gmmu = system_.gmmu;
  const auto continue_at = [&](Nanoseconds time) {
    Sm& sm = sms_[sm_index];
    sm.scheduled = true;
    at(time, kOther, sm_index, true, ++sm.ticket);
  };
  // Guards against serving an SM from within itself: a unit that passes issues its next accesses at once.
  sms_[sm_index].scheduled = true;
  while (true) {
    Sm& sm = sms_[sm_index];
    if (sm.next_retry < sm.retrying.size()) {
      Access access = sm.retrying[sm.next_retry++];
      if (!missing(access)) {
        pass(access.lane, 1, now);
        continue;
      }
      lanes_[access.lane].raised += access.scattered ? 1 : 0;
      const Nanoseconds raised = raise(sm_index, access, access.raising, now);
      sm.outstanding.push_back(access);
      const std::uint64_t spacing =
          access.scattered ? gmmu.sm_page_spacing_ns : gmmu.sm_retry_spacing_ns * access.raising;
      continue_at(std::max(raised, now + ns(spacing)));
      return;
    }
    // Another warp of an access whose faults are out already.
    if (!sm.outstanding.empty()) {
      Access& last = sm.outstanding.back();
      const bool more = !last.scattered && last.raising < last.warps && !sm.blocked &&
                        sm.raw + gmmu.faults_per_warp_access <= gmmu.faults_per_sm &&
                        (!sm.replayed || sm.new_warps < gmmu.new_warps_per_replay);
      if (more && missing(last)) {
        const Nanoseconds raised = raise(sm_index, last, 1, now);
        ++last.raising;
        ++sm.new_warps;
        sm.new_lane = last.lane;
        continue_at(std::max(raised, now + ns(sm.replayed ? gmmu.sm_spacing_ns : gmmu.sm_first_spacing_ns)));
        return;
      }
    }
    if (sm.next_waiting == sm.waiting.size()) {
      sm.waiting.clear();
      sm.next_waiting = 0;
      sm.scheduled = false;
      return;
    }
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
      sm.scheduled = false;
      return;
    }
    Access access{next.block, next.lane, next.first, next.warps, 1, next.write, next.scattered};
    ++next.first;
    if (--next.count == 0) ++sm.next_waiting;
    if (sm.new_lane != access.lane) {
      sm.new_lane = access.lane;
      ++sm.new_warps;
    }
    ++lanes_[access.lane].raised;
    const Nanoseconds raised = raise(sm_index, access, 1, now);
    sm.outstanding.push_back(access);
    const std::uint64_t spacing = access.scattered ? gmmu.sm_page_spacing_ns
                                  : sm.replayed    ? gmmu.sm_spacing_ns
                                                   : gmmu.sm_first_spacing_ns;
    continue_at(std::max(raised, now + ns(spacing)));
    return;
  }
}

void KernelRun::replay(Nanoseconds now) {
  const config::GmmuConfig& gmmu = system_.gmmu;
  for (std::size_t i = sm_order_.size() - 1; i > 0; --i) {
    std::swap(sm_order_[i], sm_order_[static_cast<std::size_t>(random_.below(i + 1))]);
  }
  std::uint64_t turn = 0;
  for (const std::uint32_t index : sm_order_) {
    Sm& sm = sms_[index];
    if (sm.outstanding.empty() && sm.next_retry == sm.retrying.size() && sm.next_waiting == sm.waiting.size()) continue;
    // What was still being retried when this replay came is retried with the rest.
    sm.retrying.erase(sm.retrying.begin(), sm.retrying.begin() + static_cast<std::ptrdiff_t>(sm.next_retry));
    sm.retrying.insert(sm.retrying.begin(), sm.outstanding.begin(), sm.outstanding.end());
    sm.next_retry = 0;
    sm.outstanding.clear();
    if (sm.next_waiting * 2 > sm.waiting.size()) {
      sm.waiting.erase(sm.waiting.begin(), sm.waiting.begin() + static_cast<std::ptrdiff_t>(sm.next_waiting));
      sm.next_waiting = 0;
    }
    for (const Access& access : sm.retrying) {
      lanes_[access.lane].replayed = true;
      lanes_[access.lane].raised = 0;
    }
    sm.raw = 0;
    sm.new_warps = 0;
    sm.new_lane = ~std::uint32_t{0};
    sm.last_page = ~std::uint64_t{0};
    sm.replayed = true;
    sm.blocked = false;
    sm.scheduled = true;
    const std::uint64_t jitter = gmmu.replay_jitter_ns == 0 ? 0 : random_.below(gmmu.replay_jitter_ns);
    at(now + ns(jitter + gmmu.replay_sm_ns * turn++), kOther, index, true, ++sm.ticket);
  }
}

}  // namespace uvmsim::engine
