#include "sim/engine/kernel_run.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/random.h"

namespace uvmsim::engine {

KernelRun::KernelRun(KernelWork work, unsigned gpu, const config::SystemConfig& system, AddressSpace& space,
                     gmmu::FaultBuffer& buffer, Counters& counters)
    : work_(std::move(work)), gpu_(gpu), system_(system), space_(space), buffer_(buffer), counters_(counters) {}

bool KernelRun::all_mapped() const {
  const ProcessorId self = gpu_processor(gpu_);
  for (const Section& section : work_.sections) {
    for (const Operand& operand : section.operands) {
      for (const Segment& segment : operand.segments) {
        const ProcessorPages& mine = space_.pages(segment.block, self);
        const PageMask touched = PageMask::range(segment.first, segment.count);
        if (!(operand.write ? mine.writable : mine.mapped).contains(touched)) return false;
      }
    }
  }
  return std::none_of(work_.touches.begin(), work_.touches.end(), [&](const PageRef& p) { return missing(p); });
}

bool KernelRun::missing(const PageRef& page) const {
  const ProcessorPages& mine = space_.pages(page.block, gpu_processor(gpu_));
  return !(page.write ? mine.writable : mine.mapped).test(page.page);
}

void KernelRun::start(Nanoseconds now) {
  const std::uint32_t sms = system_.gpus[gpu_].sm_count;
  lanes_.resize(work_.lanes);
  waited_.resize(std::size_t{work_.lanes} * work_.outstanding);
  end_ = now;
  for (std::uint32_t i = 0; i < work_.lanes; ++i) {
    lanes_[i].sm = i / work_.lanes_per_sm_group % sms;
    if (take_unit(lanes_[i])) {
      enqueue(i, now);
    } else {
      ++done_lanes_;
    }
  }
}

bool KernelRun::take_unit(Lane& lane) {
  if (next_unit_ == work_.units) return false;
  while (next_unit_ >= work_.sections[next_section_].first_unit + work_.sections[next_section_].units) ++next_section_;
  lane.unit = next_unit_++;
  lane.section = next_section_;
  lane.step = 0;
  lane.part = 0;
  return true;
}

void KernelRun::enqueue(std::uint32_t index, Nanoseconds time) {
  lanes_[index].time = time;
  auto place = ready_.end();
  while (place != ready_.begin() && lanes_[*std::prev(place)].time > time) --place;
  ready_.insert(place, index);
}

void KernelRun::advance(Nanoseconds until) {
  while (!ready_.empty() && lanes_[ready_.front()].time <= until) {
    const std::uint32_t index = ready_.front();
    ready_.pop_front();
    process(index, lanes_[index].time);
  }
}

bool KernelRun::advance_to_fault() {
  while (!ready_.empty()) {
    const std::uint32_t index = ready_.front();
    ready_.pop_front();
    if (process(index, lanes_[index].time)) return true;
  }
  return false;
}

// One step of a lane: loads, stores, compute.
bool KernelRun::process(std::uint32_t index, Nanoseconds now) {
  Lane& lane = lanes_[index];
  const bool resumed = lane.part != 0;  // a replay let it go on
  for (; lane.part < 2; ++lane.part) {
    lane.waiting_for = 0;
    collect(index);
    if (lane.waiting_for != 0) {
      stalled_.push_back(index);
      return raise(index, now);
    }
  }
  lane.part = 0;
  const bool last = ++lane.step >= work_.sections[lane.section].steps;
  Nanoseconds time = now + work_.step;
  if (work_.explicit_touches && !resumed) {
    time = now + std::max(work_.step, Nanoseconds(static_cast<std::int64_t>(system_.runtime.touch_ns)));
  }
  if (last && !take_unit(lane)) {
    ++done_lanes_;
    end_ = std::max(end_, time);
    return false;
  }
  enqueue(index, time);
  return false;
}

void KernelRun::collect(std::uint32_t index) {
  Lane& lane = lanes_[index];
  if (work_.by_threads) {
    collect_threads(index, lane);
  } else {
    collect_blocks(index, lane);
  }
}

void KernelRun::need(std::uint32_t index, Lane& lane, const PageRef& page) {
  if (!missing(page) || lane.waiting_for == work_.outstanding) return;
  PageRef* const waited = &waited_[std::size_t{index} * work_.outstanding];
  for (std::uint16_t i = 0; i < lane.waiting_for; ++i) {
    if (waited[i].block == page.block && waited[i].page == page.page) return;
  }
  waited[lane.waiting_for++] = page;
}

void KernelRun::collect_blocks(std::uint32_t index, Lane& lane) {
  const Section& section = work_.sections[lane.section];
  const std::uint64_t unit = lane.unit - section.first_unit;
  for (const Operand& operand : section.operands) {
    if (operand.write != (lane.part == 1)) continue;
    const std::uint64_t begin = operand.pages * unit / section.units;
    const std::uint64_t end = (operand.pages * (unit + 1) + section.units - 1) / section.units;
    const std::uint64_t n = end - begin;
    std::uint64_t page = begin + n * lane.step / section.steps;
    const std::uint64_t stop = begin + (n * (lane.step + 1) + section.steps - 1) / section.steps;
    for (; page < stop; ++page) need(index, lane, operand.page(page));
  }
}

void KernelRun::collect_threads(std::uint32_t index, Lane& lane) {
  const std::uint64_t threads_per_group = work_.threads / (work_.units / work_.lanes_per_sm_group);
  const std::uint64_t group = lane.unit / work_.lanes_per_sm_group;
  const std::uint64_t warp = lane.unit % work_.lanes_per_sm_group;
  const std::uint64_t first = group * threads_per_group + warp * 32;
  const std::uint64_t end = std::min(first + 32, (group + 1) * threads_per_group);
  for (std::uint64_t thread = first; thread < end; ++thread) {
    const std::uint64_t at = thread * work_.chunk + lane.step;
    if (work_.explicit_touches) {
      if (at < work_.touches.size() && work_.touches[at].write == (lane.part == 1)) {
        need(index, lane, work_.touches[at]);
      }
      continue;
    }
    for (const Operand& operand : work_.sections.front().operands) {
      if (operand.write == (lane.part == 1) && at < operand.pages) need(index, lane, operand.page(at));
    }
  }
}

// Raises the lane's faults, as many as its SM may have outstanding. True if one entered the buffer.
bool KernelRun::raise(std::uint32_t index, Nanoseconds at) {
  const Lane& lane = lanes_[index];
  const PageRef* const waited = &waited_[std::size_t{index} * work_.outstanding];
  bool accepted = false;
  for (std::uint32_t k = 0; k < work_.faults_per_page; ++k) {
    for (std::uint16_t i = 0; i < lane.waiting_for; ++i) {
      const gmmu::RawFault fault{
          at, PageIndex(waited[i].block.value * kPagesPerBlock + waited[i].page), lane.sm,
          waited[i].write ? gmmu::FaultAccess::kWrite : gmmu::FaultAccess::kRead};
      switch (buffer_.put(fault)) {
        case gmmu::PutResult::kAccepted:
          accepted = true;
          break;
        case gmmu::PutResult::kOverflow:
          ++counters_.overflowed_faults;
          return accepted;
        case gmmu::PutResult::kSmLimit:
          return accepted;
      }
    }
  }
  return accepted;
}

void KernelRun::replay(Nanoseconds now) {
  ++replays_;
  const Nanoseconds retry = now + Nanoseconds(static_cast<std::int64_t>(system_.costs.replay_to_gpu_ns));
  // Retries reach the fault unit SM by SM, in an order that differs from replay to replay.
  const std::uint32_t sms = system_.gpus[gpu_].sm_count;
  if (sm_order_.size() != sms) {
    sm_order_.resize(sms);
    sm_first_.resize(sms + 1);
    for (std::uint32_t i = 0; i < sms; ++i) sm_order_[i] = i;
  }
  Random random(replays_ * 0x2545f4914f6cdd1du);
  for (std::uint32_t i = sms - 1; i > 0; --i) std::swap(sm_order_[i], sm_order_[random.below(i + 1)]);

  std::fill(sm_first_.begin(), sm_first_.end(), 0);
  for (const std::uint32_t index : stalled_) ++sm_first_[lanes_[index].sm + 1];
  for (std::uint32_t i = 0; i < sms; ++i) sm_first_[i + 1] += sm_first_[i];
  by_sm_.resize(stalled_.size());
  {
    std::vector<std::uint32_t>& cursor = sm_cursor_;
    cursor.assign(sm_first_.begin(), sm_first_.end() - 1);
    for (const std::uint32_t index : stalled_) by_sm_[cursor[lanes_[index].sm]++] = index;
  }
  stalled_.clear();
  for (const std::uint32_t sm : sm_order_) {
    for (std::uint32_t k = sm_first_[sm]; k < sm_first_[sm + 1]; ++k) {
      const std::uint32_t index = by_sm_[k];
      Lane& lane = lanes_[index];
      PageRef* const waited = &waited_[std::size_t{index} * work_.outstanding];
      std::uint16_t left = 0;
      for (std::uint16_t i = 0; i < lane.waiting_for; ++i) {
        if (missing(waited[i])) waited[left++] = waited[i];
      }
      lane.waiting_for = left;
      if (left == 0) {
        ++lane.part;
        enqueue(index, retry);
      } else {
        stalled_.push_back(index);
        raise(index, retry);
      }
    }
  }
}

}  // namespace uvmsim::engine
