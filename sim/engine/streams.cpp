// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/streams.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/engine/calls.h"
#include "sim/trace/attributes.h"

namespace uvmsim::engine {

namespace {

// The depth of CUDA's launch queue: a host that is further ahead blocks in the next launch.
constexpr std::size_t kQueueDepth = 1024;
// Limits of all streams together, for programs with thousands of streams: operations under way, and the bytes of their
// names, which a file holds only once. No recorded program comes near.
constexpr std::size_t kLargestQueued = std::size_t{1} << 17, kLargestQueuedNames = std::size_t{64} << 20;

std::size_t name_bytes(const Operation& operation) {
  if (const auto* kernel = std::get_if<KernelOperation>(&operation.work)) return kernel->kernel.name.size();
  if (const auto* mark = std::get_if<MarkOperation>(&operation.work)) return mark->name.size();
  return 0;
}

}  // namespace

Streams::Streams(Process& process, const layout::Layout& layout, Accounts& accounts, DriverStack& driver,
                 Iterations& iterations)
    : process_(process),
      layout_(layout),
      accounts_(accounts),
      driver_(driver),
      iterations_(iterations),
      events_(process.machine.events),
      access_costs_(process, layout, driver),
      streams_(1),
      suspended_(process.machine.system.gpus.size(), kNever),
      images_(trace::images_named(process.header)),
      last_completion_(process.start) {}

void Streams::submit(std::uint32_t stream, Operation operation) {
  if (stream >= streams_.size()) streams_.resize(std::size_t{stream} + 1);
  if (Plans* plans = driver_.plans()) {
    if (auto* kernel = std::get_if<KernelOperation>(&operation.work)) kernel->launch = plans->launched(kernel->kernel);
  }
  ++queued_;
  queued_names_ += name_bytes(operation);
  streams_[stream].queue.push_back(std::move(operation));
  schedule(stream);
}

std::size_t Streams::new_recording() {
  recordings_done_.push_back(false);
  return recordings_done_.size() - 1;
}

bool Streams::has_room(std::uint32_t stream) const {
  return has_any_room() && (stream >= streams_.size() || streams_[stream].queue.size() < kQueueDepth);
}

bool Streams::has_any_room() const {
  return queued_ == 0 || (queued_ < kLargestQueued && queued_names_ < kLargestQueuedNames);
}

bool Streams::idle() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const Stream& stream) { return stream.queue.empty(); });
}

bool Streams::only_marks(std::uint32_t stream) const {
  if (idle(stream)) return false;
  const std::deque<Operation>& queue = streams_[stream].queue;
  return std::all_of(queue.begin(), queue.end(),
                     [](const Operation& operation) { return std::holds_alternative<MarkOperation>(operation.work); });
}

bool Streams::at_work() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const Stream& stream) { return stream.running || stream.scheduled; });
}

std::uint64_t Streams::oldest_record(std::uint64_t limit) const {
  for (const Stream& stream : streams_) {
    if (!stream.queue.empty()) limit = std::min(limit, stream.queue.front().record);
  }
  return limit;
}

void Streams::schedule(std::uint32_t index) {
  Stream& stream = streams_[index];
  if (stream.running || stream.scheduled || stream.blocked || stream.queue.empty()) return;
  stream.scheduled = true;
  const Nanoseconds ready = std::max(stream.queue.front().issued + start_delay(), stream.free_at);
  events_.schedule(std::max(ready, events_.now()), EventKind::kStreamStart, index, process_.number);
}

void Streams::ends_at(Nanoseconds end, std::uint32_t index) {
  streams_[index].ends = end;
  events_.schedule(end, EventKind::kOperationEnd, index, process_.number);
}

// Does the same for a kernel that is suspended since `standing` and would have ended at `end`; kNever: it runs.
void Streams::kernel_ends_at(Nanoseconds end, std::uint32_t index, Nanoseconds standing) {
  if (standing == kNever) return ends_at(std::max(end, events_.now()), index);
  streams_[index].left = std::max(end - standing, Nanoseconds{});
}

const KernelOperation* Streams::Stream::running_kernel(unsigned gpu) const {
  if (!running) return nullptr;
  const auto* const kernel = std::get_if<KernelOperation>(&queue.front().work);
  return kernel != nullptr && kernel->gpu() == gpu ? kernel : nullptr;
}

bool Streams::wants(unsigned gpu) const {
  for (const Stream& stream : streams_) {
    if (stream.blocked) continue;
    // Marks and events on the way to the next kernel take no time.
    for (const Operation& operation : stream.queue) {
      const bool issued = operation.issued + start_delay() <= events_.now();
      if (const auto* kernel = std::get_if<KernelOperation>(&operation.work)) {
        if (kernel->gpu() == gpu && issued) return true;
        break;
      }
      const auto* const event = std::get_if<EventOperation>(&operation.work);
      const bool passes = std::holds_alternative<MarkOperation>(operation.work) || (event != nullptr && !event->wait);
      if (!passes || !issued) break;
    }
  }
  return false;
}

void Streams::suspend(unsigned gpu) {
  const Nanoseconds now = events_.now();
  suspended_[gpu] = now;
  for (Stream& stream : streams_) {
    if (stream.running_kernel(gpu) == nullptr) continue;
    if (stream.run) {
      stream.run->suspend(now);
    } else {
      stream.left = stream.ends - now;
      stream.ends = kNever;
    }
  }
}

void Streams::resume(unsigned gpu) {
  const Nanoseconds now = events_.now();
  suspended_[gpu] = kNever;
  for (std::uint32_t index = 0; index < streams_.size(); ++index) {
    Stream& stream = streams_[index];
    if (stream.running_kernel(gpu) == nullptr) continue;
    if (stream.run) {
      stream.run->resume(now);
    } else {
      ends_at(now + stream.left, index);
      stream.left = kNever;
    }
  }
}

void Streams::start_operation(std::uint32_t index) {
  Stream& stream = streams_[index];
  stream.scheduled = false;
  const Nanoseconds now = events_.now();
  const Operation& operation = stream.queue.front();
  stream.running = true;
  stream.started = now;
  if (Plans* plans = driver_.plans()) plans->work_begins(operation.record);
  try {
    std::visit([&](const auto& work) { start(index, work, now); }, operation.work);
  } catch (const InputError& error) {
    throw_input_error("record {}: {}", operation.recorded, error.what());
  }
}

void Streams::start(std::uint32_t index, const CopyOperation& copy, Nanoseconds now) {
  ends_at(now + copy.duration, index);
}

void Streams::start(std::uint32_t index, const PeerCopyOperation& copy, Nanoseconds now) {
  ends_at(process_.machine.topology.peer(copy.from, copy.to)->copy(now, copy.bytes), index);
}

void Streams::start(std::uint32_t index, const PrefetchOperation& prefetch, Nanoseconds now) {
  if (prefetch.done) return ends_at(std::max(*prefetch.done, now), index);
  process_.advance_kernels(now);
  const ProcessorId to = prefetch.destination;
  accounts_.work_starts(WorkKind::kPrefetch, "prefetch", index, to.is_host() ? -1 : static_cast<std::int32_t>(to.gpu()),
                        streams_[index].queue.front().record, now);
  const std::uint64_t deferred_ns = process_.options.system.costs.prefetch_deferred_ns;
  const Nanoseconds begin = now + Nanoseconds(static_cast<std::int64_t>(deferred_ns));
  const auto [object, offset, bytes] = prefetch.what;
  ends_at(driver_.user_calls().prefetch(spans_of(layout_, object, offset, bytes), to, begin).done, index);
}

void Streams::start(std::uint32_t index, const DiscardOperation& discard, Nanoseconds now) {
  accounts_.work_starts(WorkKind::kDiscard, "discard", index, -1, streams_[index].queue.front().record, now);
  const auto [object, offset, bytes] = discard.what;
  const std::vector<driver::BlockSpan> spans = used_spans_of(layout_, process_.machine.space, object, offset, bytes);
  for (const driver::BlockSpan& span : spans) accounts_.drops(span.block, span.mask(), now);
  driver_.user_calls().discard(spans);
  process_.machine.ledger.copies_dropped = true;
  ends_at(now, index);
}

void Streams::start(std::uint32_t index, const EventOperation& event, Nanoseconds now) {
  if (event.wait && !recordings_done_[event.recording]) {
    streams_[index].running = false;
    streams_[index].blocked = true;
    return;
  }
  ends_at(now, index);
  if (event.wait) return;
  recordings_done_[event.recording] = true;
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    if (!streams_[s].blocked) continue;
    if (std::get<EventOperation>(streams_[s].queue.front().work).recording != event.recording) continue;
    streams_[s].blocked = false;
    schedule(s);
  }
}

void Streams::start(std::uint32_t index, const MarkOperation& mark, Nanoseconds now) {
  if (mark.kind == trace::RangeKind::kIterationBegin) driver_.begin_iteration();
  iterations_.mark(mark, now);
  ends_at(now, index);
}

void Streams::start(std::uint32_t index, const KernelOperation& operation, Nanoseconds now) {
  Stream& stream = streams_[index];
  const Operation& front = stream.queue.front();
  const unsigned gpu = operation.gpu();
  const RunOptions& options = process_.options;
  FaultLoop& loop = *process_.machine.fault_loops[gpu];
  AddressSpace& space = process_.machine.space;
  if (const std::uint64_t images = images_shown_by(operation.kernel)) images_ = images;
  // The seed depends on the place in the recording: every pass of a repeated iteration draws the same numbers.
  stream.run = std::make_unique<KernelRun>(plan_kernel(operation.kernel, process_.header.quantum_bytes, layout_, &space,
                                                       options.system, process_.result.capacity_bytes, images_),
                                           gpu, options.system, space, loop.buffer(), process_.counters(),
                                           loop.run_buffers(), options.seed * 0x9e3779b97f4a7c15u + front.recorded);
  KernelRun& run = *stream.run;
  const bool touches = !operation.is_copy && run.work().touches_anything();
  const bool misfit = touches && run.work().misfit;
  if (touches) ++process_.result.touching_kernels;
  if (misfit) ++process_.result.misfits[operation.kernel.name];
  accounts_.kernel_starts(operation.kernel, operation.is_copy, misfit, index, front.record, now);
  driver_.kernel_starts(operation, run.work(), front.record, now);
  // The kernel faults again on pages that another process takes while it runs.
  const bool may_lose_pages = driver_.may_lose_pages(gpu) && run.work().units != 0;
  if (!may_lose_pages && run.all_mapped()) return run_mapped(index, operation, now);
  stream.in_place_at_start = access_costs_.in_place_at_start(run.work(), gpu);
  if (may_lose_pages) {
    run.start_beside_others(now, operation.duration());
  } else {
    run.start(now);
  }
  if (suspended_[gpu] != kNever) run.suspend(now);
  loop.attach(run);
  loop.look();
}

// Runs a kernel that finds everything mapped.
void Streams::run_mapped(std::uint32_t index, const KernelOperation& operation, Nanoseconds now) {
  Stream& stream = streams_[index];
  const unsigned gpu = operation.gpu();
  const KernelWork& work = stream.run->work();
  Nanoseconds end = now + operation.duration() + access_costs_.translation_stall(work, gpu);
  if (work.explicit_touches) {
    // The dependent touches of a lone thread take their latency, resident or not.
    const auto touch = static_cast<std::int64_t>(process_.costs().touch_ns);
    end = std::max(end, now + Nanoseconds(touch * static_cast<std::int64_t>(work.chunk)));
  }
  end = access_costs_.remote_end(work, operation.kernel, now, end, Nanoseconds{}, nullptr, images_);
  if (Plans* plans = driver_.plans()) plans->keep(work, gpu, end);
  stream.run.reset();
  kernel_ends_at(end, index, suspended_[gpu] == kNever ? kNever : now);
}

void Streams::finish_runs() {
  for (std::uint32_t index = 0; index < streams_.size(); ++index) {
    Stream& stream = streams_[index];
    if (!stream.run || !stream.run->finished()) continue;
    const auto& operation = std::get<KernelOperation>(stream.queue.front().work);
    const unsigned gpu = operation.gpu();
    process_.machine.fault_loops[gpu]->detach(*stream.run);
    const KernelWork& work = stream.run->work();
    driver_.note_access_bits(work, gpu);
    const Nanoseconds faulted = std::max(Nanoseconds{}, stream.run->end() - stream.started - operation.duration());
    const Nanoseconds end = access_costs_.remote_end(work, operation.kernel, stream.started,
                                                     stream.run->end() + access_costs_.translation_stall(work, gpu),
                                                     faulted, &stream.in_place_at_start, images_);
    const Nanoseconds standing = stream.run->suspended_at();
    stream.run.reset();
    kernel_ends_at(end, index, standing);
  }
}

bool Streams::end_operation(std::uint32_t index) {
  Stream& stream = streams_[index];
  const Nanoseconds now = events_.now();
  if (stream.ends != now) return false;
  stream.ends = kNever;
  const Operation::Work& work = stream.queue.front().work;
  stream.free_at = now;
  if (const auto* kernel = std::get_if<KernelOperation>(&work)) {
    accounts_.stream_acts(index);
    stream.free_at = driver_.kernel_ends(*kernel, now);
    if (!kernel->is_copy) count_kernel(*kernel, index, now);
    accounts_.work_ends(index, now, kernel->duration().value);
  } else if (std::holds_alternative<PrefetchOperation>(work) || std::holds_alternative<DiscardOperation>(work)) {
    accounts_.work_ends(index, now, 0);
  }
  --queued_;
  queued_names_ -= name_bytes(stream.queue.front());
  stream.queue.pop_front();
  stream.running = false;
  last_completion_ = now;
  schedule(index);
  return true;
}

void Streams::count_kernel(const KernelOperation& operation, std::uint32_t index, Nanoseconds now) {
  const Nanoseconds started = streams_[index].started;
  Counters& counters = process_.counters();
  ++counters.kernels;
  counters.kernel_ns += static_cast<std::uint64_t>((now - started).value);
  counters.kernel_compute_ns += static_cast<std::uint64_t>(operation.duration().value);
  if (process_.observer.events == nullptr) return;
  process_.observer.events->on(
      KernelEvent{operation.kernel.name, index, operation.kernel.device, started, now, operation.duration()});
}

const MarkOperation* Streams::pending_end() const {
  for (const Stream& stream : streams_) {
    for (const Operation& operation : stream.queue) {
      const auto* mark = std::get_if<MarkOperation>(&operation.work);
      if (mark != nullptr && mark->kind == trace::RangeKind::kIterationEnd) return mark;
    }
  }
  return nullptr;
}

std::optional<std::size_t> Streams::add_state(StateDigest& digest, const IdealClock& ideal) const {
  digest.add(images_);
  std::size_t scheduled = 0, ends = 0;
  for (const Stream& stream : streams_) {
    if (stream.running || stream.blocked) return std::nullopt;
    digest.add_future(stream.free_at);
    digest.add(stream.queue.size());
    for (const Operation& operation : stream.queue) {
      const auto* mark = std::get_if<MarkOperation>(&operation.work);
      if (mark == nullptr || mark->kind == trace::RangeKind::kIterationBegin) return std::nullopt;
      if (mark->kind == trace::RangeKind::kIterationEnd && ++ends > 1) return std::nullopt;
      digest.add(static_cast<std::uint64_t>(mark->kind));
      digest.add_past(operation.issued);
      digest.add(static_cast<std::uint64_t>((ideal.end() - mark->ideal).value));
    }
    scheduled += stream.scheduled ? 1 : 0;
  }
  return scheduled;
}

}  // namespace uvmsim::engine
