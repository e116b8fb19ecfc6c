#include "sim/engine/fault_loop.h"

#include <algorithm>
#include <bit>

namespace uvmsim::engine {

namespace {

// 1024 * log2(x), linear between powers of two; integers keep results identical on every machine.
std::uint64_t log2_1024(std::uint64_t x) {
  const auto exponent = static_cast<unsigned>(std::bit_width(x)) - 1;
  const std::uint64_t fraction = x - (std::uint64_t{1} << exponent);
  return 1024 * std::uint64_t{exponent} + (exponent >= 10 ? fraction >> (exponent - 10) : fraction << (10 - exponent));
}

}  // namespace

FaultLoop::FaultLoop(unsigned gpu, driver::DriverContext& context, driver::FaultService& service, EventQueue& events)
    : gpu_(gpu),
      context_(context),
      service_(service),
      events_(events),
      buffer_(context.system.gmmu.fault_buffer_entries, context.system.gmmu.faults_per_sm,
              context.system.gpus[gpu].sm_count) {}

void FaultLoop::advance(Nanoseconds now) {
  for (KernelRun* run : runs_) run->advance(now);
}

bool FaultLoop::await_fault() {
  const Nanoseconds until = stops_at_events_ ? events_.next_time() : Nanoseconds(INT64_MAX);
  for (KernelRun* run : runs_) {
    run->advance_to_fault(until);
    if (!buffer_.empty()) run->advance(buffer_.next_arrival());
  }
  return !buffer_.empty();
}

// A thread that slept longer needs longer, up to a limit.
Nanoseconds FaultLoop::wakeup_after(Nanoseconds sleep) const {
  const config::DriverCosts& costs = context_.costs();
  const Nanoseconds least = ns(costs.wakeup_ns);
  if (sleep <= ns(costs.sleep_after_ns) || costs.sleep_after_ns == 0) return least;
  const std::uint64_t doublings =
      log2_1024(static_cast<std::uint64_t>(sleep.value) * 16 / costs.sleep_after_ns) - 4 * 1024;
  return std::min(least + ns(costs.sleep_doubling_ns * doublings / 1024), ns(costs.first_fault_ns));
}

void FaultLoop::wake(bool faults_waiting) {
  if (state_ != State::kIdle || !await_fault()) return;
  const config::DriverCosts& costs = context_.costs();
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
  ++context_.counters.wakeups;
  batches_this_service_ = 0;
  throttled_this_service_ = 0;
}

void FaultLoop::on_fetch() {
  const Nanoseconds now = events_.now();
  const config::DriverConfig& config = context_.system.driver;
  Counters& counters = context_.counters;
  advance(now);
  const Nanoseconds first_arrival = buffer_.empty() ? now : buffer_.next_arrival();
  const auto entries = buffer_.fetch(now, config.fault_batch_count, config.fault_coalesce);
  const std::uint32_t raw = buffer_.fetched_raw();
  if (context_.accounts != nullptr) {
    context_.accounts->on(ActorEvent{Actor::kFaultService, static_cast<std::int32_t>(gpu_), 0});
  }
  const driver::BatchSummary summary = service_.service(gpu_, entries, now);

  ++counters.fault_batches;
  ++(summary.lowest_is_write ? counters.write_fault_batches : counters.read_fault_batches);
  counters.raw_faults += raw;
  counters.unmerged_faults += entries.size();

  const Nanoseconds serviced = std::max(summary.end, now);
  std::uint32_t flushed = 0;
  if (config.fault_replay_policy == config::ReplayPolicy::kBatchFlush) {
    if (100 * summary.duplicates > config.fault_replay_update_put_ratio * raw) {
      // These faults only count, as long as none of them can be lost.
      const bool fits = buffer_.has_room(std::uint64_t{context_.system.gmmu.faults_per_sm} *
                                         context_.system.gpus[gpu_].sm_count * runs_.size());
      for (KernelRun* run : runs_) {
        if (fits) {
          flushed += run->advance_unheard(serviced);
        } else {
          run->advance(serviced);
        }
      }
      flushed += buffer_.flush_update_put(serviced);
    } else {
      flushed = buffer_.flush_cached_put();
    }
  }
  counters.flushed_faults += flushed;
  const Nanoseconds replayed = serviced + ns(context_.costs().replay_ns);
  replay_lead_ = ns(summary.gpu_memory_changed ? 0 : context_.costs().replay_lead_ns);
  counters.fault_service_ns += static_cast<std::uint64_t>((replayed - now).value);
  if (summary.throttled) ++throttled_this_service_;
  ++batches_this_service_;
  if (context_.events != nullptr) {
    context_.events->on(FaultBatchEvent{static_cast<std::int32_t>(gpu_), first_arrival, replayed, now,
                                        summary.lowest_address, raw, summary.faulting_pages, summary.blocks,
                                        summary.lowest_is_write});
  }
  state_ = State::kServicing;
  events_.schedule(replayed - std::min(replay_lead_, ns(context_.costs().replay_ns)), EventKind::kReplay, gpu_);
}

void FaultLoop::on_replay() {
  const Nanoseconds now = events_.now();
  const config::DriverCosts& costs = context_.costs();
  const config::DriverConfig& config = context_.system.driver;
  ++context_.counters.replays;
  advance(now);
  buffer_.replayed();
  for (KernelRun* run : runs_) run->replay(now);
  last_end_ = now + replay_lead_;
  served_before_ = true;
  state_ = State::kIdle;
  const Nanoseconds read = last_end_ + ns(costs.poll_read_ns);
  advance(read);
  const bool service_over = batches_this_service_ >= config.fault_max_batches_per_service ||
                            throttled_this_service_ >= config.fault_max_throttle_per_service;
  // The thread looks at PUT again before it leaves its loop. At its limit it does not; then only what is in the buffer
  // already makes it start again at once.
  if (buffer_.pending(service_over ? last_end_ : read)) {
    if (service_over) begin_service();
    return fetch_at(read);
  }
  wake(service_over && buffer_.pending(read));
}

void FaultLoop::add_state(StateDigest& digest) const {
  if (state_ != State::kIdle || !runs_.empty()) digest.refuse();
  buffer_.add_state(digest);
  digest.add(std::uint64_t{served_before_});
  if (!served_before_) return;
  // All sleeps are alike from the one on after which the thread needs longest.
  const config::DriverCosts& costs = context_.costs();
  constexpr std::int64_t kNoSleepIsLonger = std::int64_t{1} << 50;
  auto longest = static_cast<std::int64_t>(costs.sleep_after_ns) + 1;
  while (longest < kNoSleepIsLonger && wakeup_after(Nanoseconds(longest)) < ns(costs.first_fault_ns)) {
    longest *= 2;
  }
  digest.add_past(last_end_, Nanoseconds(longest));
}

}  // namespace uvmsim::engine
