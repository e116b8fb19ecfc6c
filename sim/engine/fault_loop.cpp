// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/fault_loop.h"

#include <algorithm>
#include <bit>
#include <string>

#include "sim/common/error.h"

namespace uvmsim::engine {

namespace {

// Returns 1024 * log2(x), linear between powers of two; integers keep results identical on every machine.
std::uint64_t log2_1024(std::uint64_t x) {
  const auto exponent = static_cast<unsigned>(std::bit_width(x)) - 1;
  const std::uint64_t fraction = x - (std::uint64_t{1} << exponent);
  return 1024 * std::uint64_t{exponent} + (exponent >= 10 ? fraction >> (exponent - 10) : fraction << (10 - exponent));
}

std::uint32_t distinct_sms(std::span<const gmmu::FaultEntry> entries) {
  std::vector<std::uint32_t> sms;
  sms.reserve(entries.size());
  for (const gmmu::FaultEntry& entry : entries) sms.push_back(entry.fault.sm);
  std::sort(sms.begin(), sms.end());
  return static_cast<std::uint32_t>(std::unique(sms.begin(), sms.end()) - sms.begin());
}

}  // namespace

FaultLoop::FaultLoop(unsigned gpu, const config::SystemConfig& system, const AddressSpace& space, EventQueue& events)
    : gpu_(gpu),
      system_(system),
      space_(space),
      events_(events),
      buffer_(system.gmmu.fault_buffer_entries, system.gpus[gpu].sm_count) {}

// A batch takes at most fault_batch_count raw faults of the buffer, and the flush that follows drops the others that
// have arrived.
void FaultLoop::advance(Nanoseconds now) {
  const bool flushed = system_.driver.fault_replay_policy == config::ReplayPolicy::kBatchFlush;
  const bool counts = flushed && batcher_ == nullptr && runs_.size() == 1;
  for (KernelRun* run : runs_) run->advance(now, counts ? system_.driver.fault_batch_count : KernelRun::kAll);
}

bool FaultLoop::await_fault() {
  const Nanoseconds until = stops_at_events_ ? events_.next_time() : Nanoseconds(INT64_MAX);
  for (KernelRun* run : runs_) {
    run->advance_to_fault(until);
    if (!buffer_.empty()) run->advance(buffer_.next_arrival());
  }
  return !buffer_.empty();
}

// Returns the time that the thread needs to wake up: longer after a longer sleep, up to a limit.
Nanoseconds FaultLoop::wakeup_after(Nanoseconds sleep) const {
  const config::DriverCosts& costs = system_.costs;
  const Nanoseconds least = ns(costs.wakeup_ns);
  if (sleep <= ns(costs.sleep_after_ns) || costs.sleep_after_ns == 0) return least;
  const std::uint64_t doublings =
      log2_1024(static_cast<std::uint64_t>(sleep.value) * 16 / costs.sleep_after_ns) - 4 * 1024;
  return std::min(least + ns(costs.sleep_doubling_ns * doublings / 1024), ns(costs.first_fault_ns));
}

// If the SMs that the last replay reached have nothing left to do, lets all SMs go on. Returns whether a fault then is
// in the buffer.
bool FaultLoop::release_sms() {
  if (!holds_sms_ || runs_.empty() ||
      !std::all_of(runs_.begin(), runs_.end(), [](const KernelRun* run) { return run->finished() || run->waits(); })) {
    return false;
  }
  holds_sms_ = false;
  Nanoseconds then = events_.now();
  for (const KernelRun* run : runs_) then = std::max(then, run->latest());
  for (KernelRun* run : runs_) run->replay(then, system_.gpus[gpu_].sm_count);
  return await_fault();
}

void FaultLoop::wake(bool faults_waiting) {
  if (state_ != State::kIdle || !(await_fault() || release_sms())) return;
  const config::DriverCosts& costs = system_.costs;
  const Nanoseconds arrival = std::max(buffer_.next_arrival(), events_.now());
  Nanoseconds delay = wakeup_after(arrival - last_end_);
  if (!served_before_) {
    delay = ns(costs.first_fault_ns);
  } else if (faults_waiting) {
    delay = ns(costs.wakeup_ns + costs.late_interrupt_ns);
  }
  begin_service();
  fetch_at(arrival + delay);
}

void FaultLoop::fetch_at(Nanoseconds time) {
  state_ = State::kFetching;
  fetch_at_ = time;
  events_.schedule(time, EventKind::kFetch, gpu_);
}

void FaultLoop::begin_service() {
  ++counters().wakeups;
  batches_this_service_ = 0;
  throttled_this_service_ = 0;
}

// Services the batch. If processes share the GPU, each one's part is serviced and counted for itself.
driver::BatchSummary FaultLoop::service(std::span<const gmmu::FaultEntry> entries, std::uint32_t raw, Nanoseconds now) {
  parts_.clear();
  if (processes_.size() == 1 || entries.empty()) return service_part(lead_, entries, raw, now);
  for (Process& process : processes_) process.part.clear();
  for (const gmmu::FaultEntry& entry : entries) {
    const unsigned region = space_.block(BlockIndex(entry.fault.page.value / kPagesPerBlock)).region;
    const auto owner = std::find_if(processes_.begin(), processes_.end(),
                                    [&](const Process& process) { return process.region == region; });
    UVMSIM_CHECK(owner != processes_.end(), "GPU {}: a fault of region {}", gpu_, region);
    owner->part.push_back(entry);
  }
  driver::BatchSummary batch;
  batch.end = now;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const std::vector<gmmu::FaultEntry>& part = processes_[i].part;
    if (part.empty()) continue;
    std::uint32_t part_raw = 0;
    for (const gmmu::FaultEntry& entry : part) part_raw += entry.instances;
    if (parts_.empty()) lead_ = i;
    const driver::BatchSummary summary = service_part(i, part, part_raw, batch.end);
    batch.end = std::max(batch.end, summary.end);
    batch.duplicates += summary.duplicates;
    batch.throttled = batch.throttled || summary.throttled;
    batch.moved += summary.moved;
  }
  return batch;
}

driver::BatchSummary FaultLoop::service_part(std::size_t process, std::span<const gmmu::FaultEntry> entries,
                                             std::uint32_t raw, Nanoseconds now) {
  driver::DriverContext& context = *processes_[process].context;
  if (context.accounts != nullptr) {
    context.accounts->on(ActorEvent{Actor::kFaultService, static_cast<std::int32_t>(gpu_), 0});
  }
  const std::uint32_t sms = context.events == nullptr ? 0 : distinct_sms(entries);
  const driver::BatchSummary summary = processes_[process].service->service(gpu_, entries, now);
  Counters& counters = context.counters;
  ++counters.fault_batches;
  ++(summary.lowest_is_write ? counters.write_fault_batches : counters.read_fault_batches);
  counters.raw_faults += raw;
  counters.unmerged_faults += entries.size();
  parts_.push_back({process, raw, sms, entries, summary});
  return summary;
}

// Returns the number of raw faults that the batch due now may take; 0 if the batch policy delays it.
std::uint32_t FaultLoop::fetch_limit(Nanoseconds now) {
  const std::uint32_t usual = system_.driver.fault_batch_count;
  const driver::GpuState& gpu = processes_[lead_].context->gpus[gpu_];
  const std::uint32_t waiting = buffer_.arrived(now);
  const policy::BatchMoment moment{.now = now,
                                   .oldest = waiting == 0 ? now : buffer_.next_arrival(),
                                   .waited = put_off_,
                                   .waiting = waiting,
                                   .driver_faults = usual,
                                   .buffer_entries = buffer_.depth(),
                                   .memory = driver::memory_use(gpu)};
  const policy::BatchShape shape = batcher_->shape(moment);
  if (const std::string wrong = policy::shape_error(shape, moment); !wrong.empty()) {
    throw ModelError(fmt::format("{} asks for {}", gpu.batch_label, wrong));
  }
  if (const Nanoseconds delay = std::min(shape.delay, policy::kMostBatchDelay - put_off_); delay > Nanoseconds{}) {
    put_off_ += delay;
    fetch_at(now + delay);
    return 0;
  }
  put_off_ = {};
  return shape.faults == 0 ? usual : shape.faults;
}

void FaultLoop::on_fetch() {
  Nanoseconds now = events_.now();
  const config::DriverConfig& config = system_.driver;
  advance(now);
  std::uint32_t limit = config.fault_batch_count;
  if (batcher_ != nullptr) {
    limit = fetch_limit(now);
    if (limit == 0) return;
  }
  const Nanoseconds first_arrival = buffer_.empty() ? now : buffer_.next_arrival();
  const auto entries = buffer_.fetch(now, limit, config.fault_coalesce);
  const std::uint32_t raw = buffer_.fetched_raw();
  if (batcher_ != nullptr) now += processes_[lead_].context->gpus[gpu_].batch_decision_cost;
  const driver::BatchSummary summary = service(entries, raw, now);
  running_sms_ = system_.gpus[gpu_].sm_count;
  if (batcher_ != nullptr) ask_for_sms(now, raw, summary);

  const Nanoseconds serviced = std::max(summary.end, now);
  std::uint32_t flushed = 0;
  if (config.fault_replay_policy == config::ReplayPolicy::kBatchFlush) {
    if (100 * summary.duplicates > config.fault_replay_update_put_ratio * raw) {
      // The flush drops these faults: they are only counted.
      for (KernelRun* run : runs_) {
        const std::uint32_t raised = run->advance_skipping(serviced);
        const std::uint32_t room = buffer_.depth() - buffer_.size();
        counters().overflowed_faults += raised - std::min(raised, room);
        flushed += std::min(raised, room);
      }
      flushed += buffer_.flush_update_put(serviced);
    } else {
      flushed = buffer_.flush_cached_put();
    }
  }
  counters().flushed_faults += flushed;
  const Nanoseconds replayed = serviced + ns(costs().replay_ns);
  replay_lead_ = ns(summary.gpu_memory_changed() ? 0 : costs().replay_lead_ns);
  if (summary.throttled) ++throttled_this_service_;
  ++batches_this_service_;
  Nanoseconds part_begin = now;
  for (const Part& part : parts_) {
    const Nanoseconds end = &part == &parts_.back() ? replayed : std::max(part.summary.end, part_begin);
    driver::DriverContext& context = *processes_[part.process].context;
    context.counters.fault_service_ns += static_cast<std::uint64_t>((end - part_begin).value);
    if (context.events != nullptr) {
      fetched_.clear();
      for (const gmmu::FaultEntry& entry : part.entries) fetched_.push_back({entry.fault.page.value * kBasePageBytes});
      context.events->on(
          FaultBatchEvent{static_cast<std::int32_t>(gpu_), first_arrival, end, part_begin, part.summary.lowest_address,
                          part.raw, part.summary.faulting_pages, part.summary.blocks, part.summary.lowest_is_write,
                          part.raw - part.summary.duplicates, part.sms, buffer_.last_fetched_arrival(), fetched_});
    }
    part_begin = end;
  }
  state_ = State::kServicing;
  events_.schedule(replayed - std::min(replay_lead_, ns(costs().replay_ns)), EventKind::kReplay, gpu_);
}

void FaultLoop::ask_for_sms(Nanoseconds begin, std::uint32_t raw, const driver::BatchSummary& summary) {
  std::uint32_t blocks = 0;
  for (const Part& part : parts_) blocks += part.summary.blocks;
  const std::uint32_t sms = system_.gpus[gpu_].sm_count;
  const std::uint32_t running =
      batcher_->running_sms({.begin = begin,
                             .end = std::max(summary.end, begin),
                             .raw_faults = raw,
                             .blocks = blocks,
                             .evictions = summary.moved.evictions,
                             .sms = sms,
                             .memory = driver::memory_use(processes_[lead_].context->gpus[gpu_])});
  if (running != 0) running_sms_ = std::min(running, sms);
  holds_sms_ = running_sms_ != sms;
}

void FaultLoop::on_replay() {
  const Nanoseconds now = events_.now();
  const config::DriverCosts& costs = system_.costs;
  const config::DriverConfig& config = system_.driver;
  ++counters().replays;
  advance(now);
  for (KernelRun* run : runs_) run->replay(now, running_sms_);
  last_end_ = now + replay_lead_;
  served_before_ = true;
  state_ = State::kIdle;
  const Nanoseconds read = last_end_ + ns(costs.poll_read_ns);
  advance(read);
  const bool service_over = batches_this_service_ >= config.fault_max_batches_per_service ||
                            throttled_this_service_ >= config.fault_max_throttle_per_service;
  // The thread reads PUT again before it leaves its loop. At its limit of batches it does not; then only faults that
  // are already in the buffer restart it at once.
  if (buffer_.pending(service_over ? last_end_ : read)) {
    if (service_over) begin_service();
    return fetch_at(read);
  }
  wake(service_over && buffer_.pending(read));
}

void FaultLoop::add_state(StateDigest& digest) const {
  if (state_ != State::kIdle || !runs_.empty()) digest.refuse();
  buffer_.add_state(digest);
  digest.add(std::uint64_t{holds_sms_});
  digest.add(std::uint64_t{served_before_});
  if (!served_before_) return;
  // Sleeps after which the wake-up takes its longest time are equivalent.
  const config::DriverCosts& costs = system_.costs;
  constexpr std::int64_t kNoSleepIsLonger = std::int64_t{1} << 50;
  auto longest = static_cast<std::int64_t>(costs.sleep_after_ns) + 1;
  while (longest < kNoSleepIsLonger && wakeup_after(Nanoseconds(longest)) < ns(costs.first_fault_ns)) longest *= 2;
  digest.add_past(last_end_, Nanoseconds(longest));
}

}  // namespace uvmsim::engine
