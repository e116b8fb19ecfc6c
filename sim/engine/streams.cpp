// SPDX-License-Identifier: Apache-2.0
// Streams and kernels of a program.
#include <algorithm>

#include "sim/common/error.h"
#include "sim/driver/remote_mappings.h"
#include "sim/engine/program.h"
#include "sim/engine/remote_traffic.h"
#include "sim/gmmu/entry_size.h"

namespace uvmsim::engine {

void Program::schedule_stream(std::uint32_t index) {
  Stream& stream = streams_[index];
  if (stream.running || stream.scheduled || stream.blocked || stream.queue.empty()) return;
  stream.scheduled = true;
  const Nanoseconds delay(static_cast<std::int64_t>(options_.system.runtime.kernel_start_ns));
  const Nanoseconds ready = std::max(stream.queue.front().issued + delay, stream.free_at);
  events_.schedule(std::max(ready, events_.now()), EventKind::kStreamStart, index, number_);
}

void Program::ends_at(Nanoseconds end, std::uint32_t index) {
  streams_[index].ends = end;
  events_.schedule(end, EventKind::kOperationEnd, index, number_);
}

// The same of a kernel that would end then if it had not stood still since `standing`; kNever: it runs.
void Program::kernel_ends_at(Nanoseconds end, std::uint32_t index, Nanoseconds standing) {
  if (standing == kNever) return ends_at(std::max(end, events_.now()), index);
  streams_[index].left = std::max(end - standing, Nanoseconds{});
}

// The kernel at the front of the stream, if it runs on that GPU.
const trace::Kernel* Program::running_kernel(const Stream& stream, unsigned gpu) const {
  if (!stream.running) return nullptr;
  const auto* const operation = std::get_if<KernelOperation>(&stream.queue.front().work);
  if (operation == nullptr || static_cast<unsigned>(operation->kernel.device) != gpu) return nullptr;
  return &operation->kernel;
}

bool Program::wants(unsigned gpu) const {
  const Nanoseconds delay(static_cast<std::int64_t>(options_.system.runtime.kernel_start_ns));
  for (const Stream& stream : streams_) {
    if (stream.blocked) continue;
    // Marks and events on the way to the next kernel take no time.
    for (const Operation& operation : stream.queue) {
      if (const auto* kernel = std::get_if<KernelOperation>(&operation.work)) {
        if (static_cast<unsigned>(kernel->kernel.device) == gpu && operation.issued + delay <= events_.now())
          return true;
        break;
      }
      const auto* const event = std::get_if<EventOperation>(&operation.work);
      const bool passes = std::holds_alternative<MarkOperation>(operation.work) || (event != nullptr && !event->wait);
      if (!passes || operation.issued + delay > events_.now()) break;
    }
  }
  return false;
}

void Program::suspend(unsigned gpu) {
  const Nanoseconds now = events_.now();
  suspended_[gpu] = now;
  for (Stream& stream : streams_) {
    if (running_kernel(stream, gpu) == nullptr) continue;
    if (stream.run) {
      stream.run->suspend(now);
    } else {
      stream.left = stream.ends - now;
      stream.ends = kNever;
    }
  }
}

void Program::resume(unsigned gpu) {
  const Nanoseconds now = events_.now();
  suspended_[gpu] = kNever;
  for (std::uint32_t index = 0; index < streams_.size(); ++index) {
    Stream& stream = streams_[index];
    if (running_kernel(stream, gpu) == nullptr) continue;
    if (stream.run) {
      stream.run->resume(now);
    } else {
      ends_at(now + stream.left, index);
      stream.left = kNever;
    }
  }
}

// Before something changes what they find.
void Program::advance_kernels(Nanoseconds now) {
  for (const unsigned gpu : devices_) fault_loops_[gpu]->advance(now);
}

void Program::start_operation(std::uint32_t index) {
  Stream& stream = streams_[index];
  stream.scheduled = false;
  const Nanoseconds now = events_.now();
  Operation& operation = stream.queue.front();
  stream.running = true;
  stream.started = now;
  if (plans_) plans_->work_begins(operation.record);
  const auto finish_at = [&](Nanoseconds end) { ends_at(end, index); };
  try {
    if (auto* kernel = std::get_if<KernelOperation>(&operation.work)) {
      start_kernel(index, *kernel, now);
    } else if (const auto* copy = std::get_if<CopyOperation>(&operation.work)) {
      finish_at(now + copy->duration);
    } else if (const auto* peers = std::get_if<PeerCopyOperation>(&operation.work)) {
      finish_at(machine_.topology.peer(peers->from, peers->to)->copy(now, peers->bytes));
    } else if (const auto* prefetch = std::get_if<PrefetchOperation>(&operation.work)) {
      advance_kernels(now);
      accounts_.work_starts(
          WorkKind::kPrefetch, "prefetch", index,
          prefetch->destination.is_host() ? -1 : static_cast<std::int32_t>(prefetch->destination.gpu()),
          operation.record, now);
      finish_at(user_calls_->prefetch(prefetch->spans, prefetch->destination, now));
    } else if (const auto* discard = std::get_if<DiscardOperation>(&operation.work)) {
      accounts_.work_starts(WorkKind::kDiscard, "discard", index, -1, operation.record, now);
      for (const driver::BlockSpan& span : discard->spans) accounts_.drops(span.block, span.mask(), now);
      user_calls_->discard(discard->spans);
      machine_.ledger.copies_dropped = true;
      finish_at(now);
    } else if (const auto* event = std::get_if<EventOperation>(&operation.work)) {
      if (!event->wait) {
        recordings_done_[event->recording] = true;
        finish_at(now);
        for (std::uint32_t s = 0; s < streams_.size(); ++s) {
          if (!streams_[s].blocked) continue;
          if (std::get<EventOperation>(streams_[s].queue.front().work).recording != event->recording) continue;
          streams_[s].blocked = false;
          schedule_stream(s);
        }
      } else if (recordings_done_[event->recording]) {
        finish_at(now);
      } else {
        stream.running = false;
        stream.blocked = true;
      }
    } else if (const auto* marked = std::get_if<MarkOperation>(&operation.work)) {
      mark(*marked, now);
      finish_at(now);
    }
  } catch (const InputError& error) {
    throw_input_error("record {}: {}", operation.recorded, error.what());
  }
}

void Program::start_kernel(std::uint32_t index, KernelOperation& operation, Nanoseconds now) {
  Stream& stream = streams_[index];
  // Of the recording: every pass of a repeated iteration draws the same.
  const std::uint64_t recorded_number = stream.queue.front().recorded;
  const auto gpu = static_cast<unsigned>(operation.kernel.device);
  FaultLoop& loop = *fault_loops_[gpu];
  if (const std::uint64_t images = images_shown_by(operation.kernel)) images_ = images;
  stream.run = std::make_unique<KernelRun>(plan_kernel(operation.kernel, header_.quantum_bytes, layout_, space_,
                                                       options_.system, result_.capacity_bytes, images_),
                                           gpu, options_.system, space_, loop.buffer(), result_.counters,
                                           loop.run_buffers(), options_.seed * 0x9e3779b97f4a7c15u + recorded_number);
  KernelRun& run = *stream.run;
  accounts_.kernel_starts(operation.kernel, operation.is_copy, index, stream.queue.front().record, now);
  if (thrashing_->pins_expired(now)) driver::expire_pins(*context_, *residency_, *thrashing_, now);
  if (plans_) plans_->kernel_begins(operation.kernel, operation.launch);
  for (const driver::KnownFuture& known : known_futures_) known.future->enter(stream.queue.front().record);
  if (gpus_[gpu].evictor_sees_touches) note_touches(run.work(), gpu);
  if (migrator_hears_kernels_) gpus_[gpu].migrator->on_kernel(number_);
  tell_routers(gpu, gpus_[gpu].running_kernels + 1);
  if (!kernel_listeners_.empty()) tell_listeners(operation.kernel, now);
  note_access_bits(run.work(), gpu);
  // What another process takes from the kernel while it runs, it faults on again.
  const bool may_lose_pages = (contended_gpus_ & gpu_processor(gpu).bit()) != 0 && run.work().units != 0;
  if (!may_lose_pages && run.all_mapped()) {
    Nanoseconds end =
        now + Nanoseconds(std::max<std::int64_t>(operation.kernel.duration_ns, 0)) + translation_stall(run.work(), gpu);
    if (run.work().explicit_touches) {
      // A lone thread's dependent touches cost their latency, resident or not.
      const auto touch = static_cast<std::int64_t>(options_.system.runtime.touch_ns);
      end = std::max(end, now + Nanoseconds(touch * static_cast<std::int64_t>(run.work().chunk)));
    }
    // Touches one by one spend their latency meanwhile.
    const Nanoseconds remote = remote_time(run.work(), operation.kernel, gpu, now);
    end = run.work().explicit_touches ? std::max(end, now + remote) : end + remote;
    note_remote_accesses(run.work(), gpu);
    if (plans_) plans_->keep(run.work(), gpu, end);
    stream.run.reset();
    kernel_ends_at(end, index, suspended_[gpu] == kNever ? kNever : now);
    return;
  }
  if (may_lose_pages) {
    run.start_beside_others(now, Nanoseconds(std::max<std::int64_t>(operation.kernel.duration_ns, 0)));
  } else {
    run.start(now);
  }
  if (suspended_[gpu] != kNever) run.suspend(now);
  loop.attach(run);
  loop.look();
}

void Program::tell_listeners(const trace::Kernel& kernel, Nanoseconds now) {
  const policy::KernelStart start{kernel.name, layer_++, kernel.grid.count(), kernel.block.count(), now};
  for (policy::FeatureListener* listener : kernel_listeners_) listener->on_kernel(start);
}

// Kernels run on the GPU, or do so no more. All routers of the server hear of it that want to.
void Program::tell_routers(unsigned gpu, std::uint32_t running) {
  gpus_[gpu].running_kernels = running;
  for (driver::GpuState& state : gpus_) {
    if (state.router_hears_kernels) state.router->on_kernels(gpu, running);
  }
}

// Kernels whose lanes are all done get their end on the agenda.
void Program::finish_runs() {
  for (std::uint32_t index = 0; index < streams_.size(); ++index) {
    Stream& stream = streams_[index];
    if (!stream.run || !stream.run->finished()) continue;
    const auto& kernel = std::get<KernelOperation>(stream.queue.front().work).kernel;
    const auto gpu = static_cast<unsigned>(kernel.device);
    fault_loops_[gpu]->detach(*stream.run);
    const KernelWork& work = stream.run->work();
    note_access_bits(work, gpu);
    const Nanoseconds done = stream.run->end();
    const Nanoseconds end = done + translation_stall(work, gpu) + remote_time(work, kernel, gpu, done);
    note_remote_accesses(work, gpu);
    const Nanoseconds standing = stream.run->suspended_at();
    stream.run.reset();
    kernel_ends_at(end, index, standing);
  }
}

void Program::end_operation(std::uint32_t index) {
  Stream& stream = streams_[index];
  const Nanoseconds now = events_.now();
  if (stream.ends != now) return;  // the GPU computed for another process meanwhile
  stream.ends = kNever;
  Nanoseconds free_at = now;
  if (const auto* kernel = std::get_if<KernelOperation>(&stream.queue.front().work)) {
    accounts_.stream_acts(index);
    free_at = access_counters_->service(static_cast<unsigned>(kernel->kernel.device), now);
    if (plans_) plans_->kernel_ends(kernel->kernel, kernel->launch);
    const auto gpu = static_cast<unsigned>(kernel->kernel.device);
    tell_routers(gpu, gpus_[gpu].running_kernels - 1);
  }
  if (const auto* kernel = std::get_if<KernelOperation>(&stream.queue.front().work); kernel && !kernel->is_copy) {
    Counters& counters = result_.counters;
    ++counters.kernels;
    counters.kernel_ns += static_cast<std::uint64_t>((now - stream.started).value);
    counters.kernel_compute_ns += static_cast<std::uint64_t>(std::max<std::int64_t>(kernel->kernel.duration_ns, 0));
    if (observer_.events != nullptr) {
      observer_.events->on(KernelEvent{kernel->kernel.name, index, kernel->kernel.device, stream.started, now,
                                       Nanoseconds(std::max<std::int64_t>(kernel->kernel.duration_ns, 0))});
    }
  }
  if (accounts_.sink() != nullptr) tell_end(index, now);
  stream.queue.pop_front();
  stream.running = false;
  stream.free_at = free_at;
  last_completion_ = now;
  if (plans_) plans_->work_done_before(oldest_record_at_work());
  schedule_stream(index);
  wake_host();
}

void Program::tell_end(std::uint32_t index, Nanoseconds now) {
  const Work& work = streams_[index].queue.front().work;
  if (const auto* kernel = std::get_if<KernelOperation>(&work)) {
    accounts_.work_ends(index, now, std::max<std::int64_t>(kernel->kernel.duration_ns, 0));
  } else if (std::holds_alternative<PrefetchOperation>(work) || std::holds_alternative<DiscardOperation>(work)) {
    accounts_.work_ends(index, now, 0);
  }
}

void Program::note_touches(const KernelWork& work, unsigned gpu) {
  driver::GpuState& state = gpus_[gpu];
  ChunkId last{};
  const auto touch = [&](ChunkId chunk) {
    if (!chunk.valid() || chunk == last) return;
    last = chunk;
    state.evictor->on_touched(chunk);
  };
  const auto touch_pages = [&](BlockIndex b, unsigned first, unsigned count) {
    if (!state.memory.small_chunks()) return touch(state.memory.whole(b));
    const PageMask& resident = space_.pages(b, gpu_processor(gpu)).resident;
    state.memory.for_each_small_chunk(b, resident & PageMask::range(first, count),
                                      [&](ChunkId chunk, unsigned) { touch(chunk); });
  };
  work.for_each_segment(
      [&](const Segment& segment, bool) { touch_pages(segment.block, segment.first, segment.count); });
  for (const PageRef& page : work.touches) touch_pages(page.block, page.page, 1);
}

// What is there of the pages that the kernel uses. Seen where it starts and ends; what faults meanwhile, the driver
// sees.
void Program::note_access_bits(const KernelWork& work, unsigned gpu) {
  if (!context_->access_bits.kept && !context_->prefetch_history.kept) return;
  const auto resident = [&](BlockIndex b) { return space_.pages(b, gpu_processor(gpu)).resident; };
  work.for_each_segment([&](const Segment& segment, bool) {
    const PageMask pages = PageMask::range(segment.first, segment.count) & resident(segment.block);
    context_->access_bits.set(segment.block, pages);
    context_->prefetch_history.used(segment.block, pages);
  });
  for (const PageRef& page : work.touches) {
    const PageMask pages = PageMask::range(page.page, 1) & resident(page.block);
    context_->access_bits.set(page.block, pages);
    context_->prefetch_history.used(page.block, pages);
  }
}

Nanoseconds Program::translation_stall(const KernelWork& work, unsigned gpu) {
  gmmu::Gmmu& mmu = gpus_[gpu].mmu;
  mmu.count_for(result_.counters.gmmu);
  const std::uint32_t sms = std::clamp<std::uint32_t>(
      (work.lanes + work.lanes_per_sm_group - 1) / work.lanes_per_sm_group, 1, mmu.sm_count());
  const bool root_chunks = !gpus_[gpu].memory.small_chunks();
  const auto contiguity = [&](const VaBlock& block) {
    return root_chunks && block.full_size() ? gmmu::EntrySize::k2M : gmmu::EntrySize::k64K;
  };
  Nanoseconds stall{};
  work.for_each_segment([&](const Segment& segment, bool) {
    const VaBlock& block = space_.block(segment.block);
    const ProcessorPages& mine = space_.pages(segment.block, gpu_processor(gpu));
    const PageMask touched = PageMask::range(segment.first, segment.count) & mine.mapped;
    if (touched.empty()) return;
    const gmmu::EntrySizes sizes =
        gmmu::choose_entry_sizes(mine.mapped, mine.writable, block.end_page, contiguity(block));
    stall += mmu.touch(segment.block, touched, sizes, sms);
  });
  for (const PageRef& page : work.touches) {
    const VaBlock& block = space_.block(page.block);
    const ProcessorPages& mine = space_.pages(page.block, gpu_processor(gpu));
    if (!mine.mapped.test(page.page)) continue;
    const auto sizes = gmmu::choose_entry_sizes(mine.mapped, mine.writable, block.end_page, contiguity(block));
    mmu.translate(0, page.block, page.page, sizes.of(page.page));
  }
  return stall;
}

// What a kernel's accesses to memory elsewhere add when they may begin at `start`. Adds to the counter.
Nanoseconds Program::remote_time(const KernelWork& work, const trace::Kernel& kernel, unsigned gpu, Nanoseconds start) {
  if (machine_.host.limited()) {  // what is used in place is the last that leaves host memory
    const auto use = [&](BlockIndex b, const PageMask& pages) {
      const ProcessorPages& mine = space_.pages(b, gpu_processor(gpu));
      machine_.host.use(b, (pages & mine.mapped) - mine.resident);
    };
    work.for_each_segment([&](const Segment& s, bool) { use(s.block, PageMask::range(s.first, s.count)); });
    for (const PageRef& page : work.touches) use(page.block, PageMask::range(page.page, 1));
  }
  Nanoseconds end = start;
  for (unsigned p = 0; p < space_.processor_count(); ++p) {
    const ProcessorId holder{static_cast<std::uint8_t>(p)};
    if (holder == gpu_processor(gpu)) continue;
    const link::RemoteTraffic traffic =
        remote_traffic(work, kernel, layout_, space_, gpu, holder, header_.quantum_bytes);
    if (traffic.bytes() == 0) continue;
    result_.counters.remote_access_bytes += traffic.bytes();
    if (holder.is_host()) {
      end = machine_.remote_lanes[gpu].carry(end, traffic);
    } else {
      const std::uint64_t rate = machine_.topology.peer(holder.gpu(), gpu)->rates.remote_read_bytes_per_us;
      end += Nanoseconds(static_cast<std::int64_t>(traffic.bytes() * 1000 / rate));
    }
  }
  return end - start;
}

// Counters see requests of 128 bytes. Their notifications are serviced when the kernel ends.
void Program::note_remote_accesses(const KernelWork& work, unsigned gpu) {
  if (!access_counters_->enabled(gpu)) return;
  constexpr std::uint64_t kRequestsPerPage = kBasePageBytes / 128;
  work.for_each_segment([&](const Segment& segment, bool) {
    const ProcessorPages& mine = space_.pages(segment.block, gpu_processor(gpu));
    const PageMask remote = (PageMask::range(segment.first, segment.count) & mine.mapped) - mine.resident;
    access_counters_->on_remote_access(gpu, segment.block, remote, remote.count() * kRequestsPerPage);
  });
}

// Of the iteration in progress, which ends now.
IterationResult Program::result_of(const MarkOperation& end, Nanoseconds now) const {
  IterationResult iteration;
  iteration.index = end.index + left_out_.iterations;
  iteration.begin = iteration_begin_ - start_ + left_out_.time;
  iteration.end = now - start_ + left_out_.time;
  iteration.ideal = end.ideal - ideal_iteration_begin_;
  iteration.counters = difference(result_.counters, iteration_start_);
  return iteration;
}

void Program::mark(const MarkOperation& mark, Nanoseconds now) {
  switch (mark.kind) {
    case trace::RangeKind::kPush:
      open_ranges_.emplace_back(mark.name, now);
      break;
    case trace::RangeKind::kPop:
      if (!open_ranges_.empty()) {
        if (observer_.events != nullptr) {
          observer_.events->on(RangeEvent{open_ranges_.back().first, open_ranges_.back().second, now});
        }
        open_ranges_.pop_back();
      }
      break;
    case trace::RangeKind::kIterationBegin:
      iteration_begin_ = now;
      layer_ = 0;
      ideal_iteration_begin_ = mark.ideal;
      iteration_start_ = result_.counters;
      accounts_.iteration(mark.index, true, now);
      break;
    case trace::RangeKind::kIterationEnd: {
      if (observer_.events != nullptr) {
        observer_.events->on(RangeEvent{fmt::format("iteration {}", mark.index), iteration_begin_, now});
      }
      accounts_.iteration(mark.index, false, now);
      result_.iterations.push_back(result_of(mark, now));
      recurrence_.note_end(now, result_.counters);
      break;
    }
  }
}

}  // namespace uvmsim::engine
