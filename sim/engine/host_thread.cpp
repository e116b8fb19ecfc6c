// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/host_thread.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/config/coherence.h"
#include "sim/engine/calls.h"

namespace uvmsim::engine {

namespace {

// One host event handles this many records at most, so that progress is reported and events interleave.
constexpr unsigned kRecordsPerEvent = 256;

}  // namespace

HostThread::HostThread(Process& process, layout::Layout& layout, Accounts& accounts, DriverStack& driver,
                       Streams& streams, Listener& listener)
    : process_(process),
      layout_(layout),
      accounts_(accounts),
      driver_(driver),
      streams_(streams),
      listener_(listener),
      events_(process.machine.events),
      time_(process.start) {}

void HostThread::schedule(Nanoseconds time) {
  scheduled_ = true;
  events_.schedule(time, EventKind::kHost, 0, process_.number);
}

void HostThread::step() {
  scheduled_ = false;
  time_ = std::max(time_, events_.now());
  if (wait_.kind != Wait::Kind::kNone) {
    if (!satisfied(wait_)) return;
    if (wait_.kind != Wait::Kind::kQueue && wait_.kind != Wait::Kind::kRoom && wait_.kind != Wait::Kind::kMarks) {
      pay(process_.costs().synchronize_ns);
    }
    wait_ = {};
  }
  for (unsigned i = 0; i < kRecordsPerEvent; ++i) {
    if (stage_ == Stage::kNone && !take_record()) return;
    if (stage_ == Stage::kTaken) {
      pay_gap();
      stage_ = Stage::kDue;
      if (time_ > events_.now()) break;  // events of the GPU before that time come first
    }
    if (!go_on()) return;
    stage_ = Stage::kNone;
    if (time_ > events_.now()) break;
  }
  schedule(time_);
}

// Returns false at the end of the program.
bool HostThread::take_record() {
  if (process_.feed.at_repetition()) listener_.before_repetition();
  if (!process_.feed.next(record_)) {
    at_end_ = true;
    return false;
  }
  stage_ = Stage::kTaken;
  ++record_number_;
  recorded_number_ = process_.feed.number();
  if (process_.feed.begins_repetition()) listener_.repetition_begins();
  if (process_.observer.progress && record_number_ % 4096 == 0) process_.observer.progress(record_number_);
  return true;
}

void HostThread::pay_gap() {
  const std::int64_t ns = host_gap_ns(record_);
  if (!process_.options.include_host_gaps || ns <= 0) return;
  time_ += Nanoseconds(ns);
  ideal_.host(ns);
}

// Issues the current record, or does what is left of it. Returns false if the host waits.
bool HostThread::go_on() {
  try {
    if (!free_released()) return false;
    if (stage_ == Stage::kIssued) return true;
    follow();
    const Issue issued = std::visit([this](auto& record) { return issue(record); }, record_);
    if (issued == Issue::kWait) stage_ = Stage::kIssued;
    return issued == Issue::kDone;
  } catch (const InputError& error) {
    throw_input_error("record {}: {}", recorded_number_, error.what());
  }
}

// Passes the record to the layout and the planners, which follow all records.
void HostThread::follow() {
  layout_.follow(record_, [this](trace::ObjectId id, const layout::Layout::Taken& taken) {
    pay_for_layout(taken);
    accounts_.allocated(id, "", false, record_number_, time_);
  });
  if (Plans* plans = driver_.plans()) plans->issues(record_, record_number_);
}

bool HostThread::satisfied(const Wait& wait) const {
  switch (wait.kind) {
    case Wait::Kind::kNone:
      return true;
    case Wait::Kind::kDevice:
      return streams_.idle();
    case Wait::Kind::kStream:
      return streams_.idle(wait.stream);
    case Wait::Kind::kEvent:
      return streams_.recording_done(wait.recording);
    case Wait::Kind::kQueue:
      return streams_.has_room(wait.stream);
    case Wait::Kind::kRoom:
      return streams_.has_any_room();
    case Wait::Kind::kMarks:
      return !streams_.only_marks(wait.stream);
  }
  return true;
}

// Returns true if the host need not wait. Else the host goes on when the condition holds.
bool HostThread::wait_for(const Wait& wait) {
  if (satisfied(wait)) return true;
  wait_ = wait;
  return false;
}

bool HostThread::wait_for_device() {
  ideal_.wait_all();
  return wait_for({Wait::Kind::kDevice, 0, 0});
}

void HostThread::work_done() {
  if (Plans* plans = driver_.plans()) plans->work_done_before(streams_.oldest_record(record_number_ + 1));
  if (wait_.kind == Wait::Kind::kNone || scheduled_ || !satisfied(wait_)) return;
  schedule(std::max(events_.now(), time_));
}

void HostThread::submit(std::uint32_t stream, Operation::Work work) {
  streams_.submit(stream, {time_, record_number_, recorded_number_, std::move(work)});
}

HostThread::Issue HostThread::launch(std::uint32_t stream, Operation::Work work, std::int64_t ideal_ns) {
  pay(process_.costs().launch_ns);
  ideal_.host(static_cast<std::int64_t>(process_.costs().launch_ns));
  ideal_.enqueue(stream, ideal_ns);
  submit(stream, std::move(work));
  return Issue::kDone;
}

// Launches a copy or memset; if it touches managed memory, as a kernel.
HostThread::Issue HostThread::launch_copy(trace::Kernel kernel) {
  const std::uint32_t stream = kernel.stream;
  const std::int64_t duration = kernel.duration_ns;
  if (kernel.accesses.empty()) return launch(stream, CopyOperation{Nanoseconds(duration)}, duration);
  pay(process_.costs().managed_call_ns);
  ideal_.host(static_cast<std::int64_t>(process_.costs().managed_call_ns));
  return launch(stream, KernelOperation{std::move(kernel), true}, duration);
}

void HostThread::pay_for_allocation(std::uint64_t ns) {
  pay(ns);
  process_.counters().host_allocation_ns += ns;
}

// Charges the host for memory that the layout took from the driver.
void HostThread::pay_for_layout(const layout::Layout::Taken& taken) {
  const config::RuntimeCosts& costs = process_.costs();
  std::uint64_t ns = taken.calls * costs.allocate_ns + (taken.bytes >> 20) * costs.allocate_ns_per_gib / 1024;
  if (taken.device_bytes != 0) {
    ns += costs.device_allocate_ns + (taken.device_bytes >> 20) * costs.device_allocate_ns_per_gib / 1024;
  }
  pay_for_allocation(ns);
}

// Takes device memory, for which the driver may evict managed memory.
void HostThread::take_device_memory(std::int32_t device, std::uint64_t bytes) {
  check_device(device, "device memory of");
  process_.advance_kernels(events_.now());
  accounts_.host_acts();
  time_ = driver_.device_memory().take(process_.processor(device).gpu(), bytes, time_);
}

HostThread::Issue HostThread::issue(const trace::ObjectAlloc& object) {
  driver::SystemMemory* const system_memory = driver_.system_memory();
  if (object.kind == trace::ObjectKind::kSystem && system_memory == nullptr) {
    throw_input_error(
        "object {} is system memory (malloc), which no GPU of '{}' reaches: its coherence.address_mode is none; "
        "allowed: a system with hmm, ats or cdmm, or memory of another kind (`uvmsim trace hint`)",
        object.id, process_.options.system.name);
  }
  const layout::Layout::Allocated allocated = layout_.allocate(object, process_.feed.is_segment());
  if (allocated.placement.kind == MemoryKind::kPinned) {
    allocated.placement.blocks.for_each_run([&](const layout::BlockList::Run& run) {
      for (std::uint64_t i = 0; i < run.count; ++i) system_memory->pin(BlockIndex(run.first.value + i));
    });
  }
  pay_for_layout(allocated.taken);
  if (allocated.taken.device_bytes != 0) take_device_memory(object.device, allocated.taken.device_bytes);
  if (Plans* plans = driver_.plans()) plans->allocated(object.id, record_number_, process_.feed.is_segment());
  accounts_.allocated(object.id, "", false, record_number_, time_);
  return Issue::kDone;
}

HostThread::Issue HostThread::issue(const trace::TensorAlloc& tensor) {
  pay_for_layout(layout_.allocate(tensor).taken);
  if (Plans* plans = driver_.plans()) plans->allocated(tensor.id, record_number_);
  accounts_.allocated(tensor.id, tensor.name, true, record_number_, time_);
  return free_released() ? Issue::kDone : Issue::kWait;
}

HostThread::Issue HostThread::issue(const trace::ObjectFree& object) {
  if (!free(object.id, false)) return Issue::kRetry;
  return free_released() ? Issue::kDone : Issue::kWait;
}

HostThread::Issue HostThread::issue(const trace::TensorFree& tensor) {
  return free(tensor.id, true) ? Issue::kDone : Issue::kRetry;
}

HostThread::Issue HostThread::issue(trace::Kernel& kernel) {
  if (!wait_for_room(kernel.stream)) return Issue::kRetry;
  if (kernel.device < 0 || static_cast<std::size_t>(kernel.device) >= process_.gpus.size()) {
    throw_input_error(
        "kernel '{}' runs on device {}; {} has {}", kernel.name, kernel.device,
        process_.has_all_gpus() ? fmt::format("system '{}'", process_.options.system.name) : "the program",
        process_.gpus.size());
  }
  kernel.device = static_cast<std::int32_t>(process_.gpus[static_cast<std::size_t>(kernel.device)]);
  const std::uint32_t stream = kernel.stream;
  const std::int64_t duration = kernel.duration_ns;
  return launch(stream, KernelOperation{std::move(kernel), false}, duration);
}

HostThread::Issue HostThread::issue(const trace::Memset& set) {
  if (!wait_for_room(set.stream)) return Issue::kRetry;
  launch_copy(kernel_of(set, layout_, process_.header.quantum_bytes, process_.options.system, process_.gpus.front()));
  if (!set.blocking || !layout_.find(set.object).managed) return Issue::kDone;
  ideal_.wait(set.stream);
  return wait_after({Wait::Kind::kStream, set.stream, 0});
}

HostThread::Issue HostThread::issue(const trace::Memcpy& copy) {
  if (!wait_for_room(copy.stream)) return Issue::kRetry;
  trace::Kernel kernel =
      kernel_of(copy, layout_, process_.header.quantum_bytes, process_.options.system, process_.gpus.front());
  if (const std::optional<PeerCopyOperation> peers = peer_copy(copy)) {
    const link::Topology::Peer* link = process_.machine.topology.peer(peers->from, peers->to);
    launch(copy.stream, *peers, link->unloaded_time(peers->bytes).value);
  } else {
    launch_copy(std::move(kernel));
  }
  if (!copy.blocking) return Issue::kDone;
  ideal_.wait(copy.stream);
  return wait_after({Wait::Kind::kStream, copy.stream, 0});
}

// Throws InputError for memory that no fault moves: the effect of such calls on it is not modelled.
void HostThread::refuse_in_place(trace::ObjectId id, const char* what) const {
  const layout::Placement& placement = layout_.find(id);
  const bool pinned = placement.kind == MemoryKind::kPinned;
  const bool in_place = config::uses_system_memory_in_place(process_.options.system);
  if (!pinned && (placement.kind == MemoryKind::kManaged || !in_place)) return;
  throw_input_error("{} object {}, which is {} memory; allowed: managed memory{}", what, id,
                    pinned ? "pinned" : "system", in_place ? "" : ", and system memory with hmm");
}

void HostThread::check_device(std::int32_t device, const char* what) const {
  if (device < static_cast<std::int32_t>(process_.gpus.size())) return;
  throw_input_error("{} device {}; allowed: -1 (host) to {}", what, device, process_.gpus.size() - 1);
}

HostThread::Issue HostThread::issue(const trace::Prefetch& prefetch) {
  if (!wait_for_room(prefetch.stream)) return Issue::kRetry;
  if (!wait_for({Wait::Kind::kMarks, prefetch.stream, 0})) return Issue::kRetry;
  check_device(prefetch.destination, "prefetch to");
  refuse_in_place(prefetch.object, "prefetch of");
  check_bytes(layout_, prefetch.object, prefetch.offset, prefetch.bytes);
  PrefetchOperation work{{prefetch.object, prefetch.offset, prefetch.bytes}, process_.processor(prefetch.destination)};
  if (!streams_.idle(prefetch.stream)) {
    pay(process_.options.system.costs.prefetch_deferred_call_ns);
    return launch(prefetch.stream, std::move(work), 0);
  }
  // On an idle stream the caller's thread does the driver's work itself.
  process_.advance_kernels(events_.now());
  accounts_.work_starts(WorkKind::kPrefetch, "prefetch", prefetch.stream,
                        work.destination.is_host() ? -1 : static_cast<std::int32_t>(work.destination.gpu()),
                        record_number_, time_);
  const auto [returned, done] = driver_.user_calls().prefetch(
      spans_of(layout_, prefetch.object, prefetch.offset, prefetch.bytes), work.destination, time_);
  work.done = done;
  launch(prefetch.stream, std::move(work), 0);
  time_ = std::max(time_, returned);
  return Issue::kDone;
}

HostThread::Issue HostThread::issue(const trace::Advise& advise) {
  check_device(advise.device, "advice for");
  refuse_in_place(advise.object, "advice on");
  if (advise.advice == trace::Advice::kSetReadMostly) process_.machine.ledger.copies_dropped = true;
  accounts_.host_acts();
  time_ = driver_.user_calls().advise(advised_spans(advise), advise.advice, process_.processor(advise.device), time_);
  pay(process_.costs().launch_ns);
  return Issue::kDone;
}

// Returns the spans to advise one by one. Blocks without state take the hint in whole runs, at no cost: none of their
// pages moves or is mapped.
std::vector<driver::BlockSpan> HostThread::advised_spans(const trace::Advise& advise) {
  AddressSpace& space = process_.machine.space;
  const bool pins = advise.advice == trace::Advice::kSetPinned || advise.advice == trace::Advice::kUnsetPinned;
  if (pins) return spans_of(layout_, advise.object, advise.offset, advise.bytes);
  check_bytes(layout_, advise.object, advise.offset, advise.bytes);
  const layout::Placement& placement = layout_.find(advise.object);
  if (!placement.managed || advise.bytes == 0) return {};
  // The first and the last block get state, as the advice may cover only part of them.
  const std::uint64_t first = placement.first_page(advise.offset);
  const std::uint64_t end = placement.end_page(advise.offset + advise.bytes);
  for (const std::uint64_t page : {first, end - 1}) space.block(placement.blocks[page / kPagesPerBlock]);
  const ProcessorId processor = process_.processor(advise.device);
  placement.blocks.part(first / kPagesPerBlock, (end - 1) / kPagesPerBlock - first / kPagesPerBlock + 1)
      .for_each_run([&](const layout::BlockList::Run& run) {
        space.change_hints_of_unused(run.first, run.count,
                                     [&](Hints& hints) { driver::UserCalls::change(hints, advise.advice, processor); });
      });
  return used_spans_of(layout_, space, advise.object, advise.offset, advise.bytes);
}

HostThread::Issue HostThread::issue(const trace::Discard& discard) {
  if (!wait_for_room(discard.stream)) return Issue::kRetry;
  refuse_in_place(discard.object, "discard of");
  check_bytes(layout_, discard.object, discard.offset, discard.bytes);
  return launch(discard.stream, DiscardOperation{{discard.object, discard.offset, discard.bytes}}, 0);
}

// Returns the event's recording that the host issued last. Before the first one no wait blocks (CUDA driver API,
// cuStreamWaitEvent and cuEventSynchronize).
std::optional<std::size_t> HostThread::recording_of(std::uint64_t event) const {
  const auto last = events_recorded_.find(event);
  if (last == events_recorded_.end()) return std::nullopt;
  return last->second;
}

HostThread::Issue HostThread::issue(const trace::Sync& sync) {
  if (!wait_for_any_room()) return Issue::kRetry;
  switch (sync.kind) {
    case trace::SyncKind::kDevice:
      return wait_for_device() ? Issue::kDone : Issue::kWait;
    case trace::SyncKind::kStream:
      ideal_.wait(sync.stream);
      return wait_after({Wait::Kind::kStream, sync.stream, 0});
    case trace::SyncKind::kEventSynchronize:
      ideal_.host_waits_event(sync.event);
      if (const auto recording = recording_of(sync.event)) return wait_after({Wait::Kind::kEvent, 0, *recording});
      break;
    case trace::SyncKind::kEventRecord:
      ideal_.record(sync.event, sync.stream);
      submit(sync.stream, EventOperation{events_recorded_[sync.event] = streams_.new_recording(), false});
      break;
    case trace::SyncKind::kEventWait:
      ideal_.wait_event(sync.stream, sync.event);
      if (const auto recording = recording_of(sync.event)) submit(sync.stream, EventOperation{*recording, true});
      break;
  }
  return Issue::kDone;
}

HostThread::Issue HostThread::issue(trace::Range& range) {
  if (!wait_for_any_room()) return Issue::kRetry;
  accounts_.range(range, record_number_);
  submit(0, MarkOperation{range.kind, std::move(range.name), range.index, ideal_.arrival(0)});
  return Issue::kDone;
}

// Returns the copy as one between device memory of two linked GPUs, if it is that.
std::optional<PeerCopyOperation> HostThread::peer_copy(const trace::Memcpy& copy) const {
  if (copy.src.object == trace::kNoObject || copy.dst.object == trace::kNoObject || copy.bytes == 0) {
    return std::nullopt;
  }
  const auto gpu_of = [&](trace::ObjectId id) -> std::optional<unsigned> {
    const layout::Placement& placement = layout_.find(id);
    if (!placement.device || placement.gpu < 0 || static_cast<std::size_t>(placement.gpu) >= process_.gpus.size()) {
      return std::nullopt;
    }
    return process_.gpus[static_cast<std::size_t>(placement.gpu)];
  };
  const auto from = gpu_of(copy.src.object), to = gpu_of(copy.dst.object);
  if (!from || !to || *from == *to || process_.machine.topology.peer(*from, *to) == nullptr) return std::nullopt;
  return PeerCopyOperation{*from, *to, copy.bytes};
}

// Touches pages until one faults. When that fault is served, the host goes on there.
HostThread::Issue HostThread::issue(const trace::HostAccess& access) {
  const layout::Placement& placement = layout_.find(access.object);
  if (!placement.managed) return Issue::kDone;
  if (driver_.coherent_counters() != nullptr) driver_.coherent_counters()->advance_all(events_.now());
  for (; touched_.part < part_count(access); ++touched_.part, touched_.page = 0) {
    const auto [pages, write] = touch_of(access, touched_.part, placement, process_.header.quantum_bytes);
    for (; pages.begin + touched_.page < pages.end; ++touched_.page) {
      const std::uint64_t page = pages.begin + touched_.page;
      if (!touch(placement.blocks[page / kPagesPerBlock], static_cast<unsigned>(page % kPagesPerBlock), write)) {
        return Issue::kRetry;
      }
    }
  }
  touched_ = {};
  return Issue::kDone;
}

// Returns false if the access faulted, which takes time.
bool HostThread::touch(BlockIndex block, unsigned page, bool write) {
  driver::HostFaults& faults = driver_.host_faults();
  if (driver::SystemMemory* const memory = driver_.system_memory(); memory != nullptr && memory->serves(block)) {
    if (faults.access(block, page, write)) {
      pay(memory->cpu_detour_ns(block, page, write));
      return true;
    }
  }
  if (faults.access(block, page, write)) return true;
  process_.advance_kernels(events_.now());
  accounts_.host_acts();
  time_ = faults.touch(block, page, write, time_);
  if (faults.mapped(block, page, write)) ++touched_.page;  // else it was throttled, and is repeated
  schedule(time_);
  return false;
}

// Frees an object or tensor. cudaFree synchronises the device and drops the pages without write-back. Returns false if
// the host waits.
bool HostThread::free(trace::ObjectId id, bool tensor) {
  const layout::Placement& placement = layout_.find(id);
  const bool is_call = placement.owns && (placement.managed || placement.device);
  if (is_call && !wait_for_device()) return false;
  if (placement.device && placement.owns) {
    driver_.device_memory().give_back(process_.processor(placement.gpu).gpu(), placement.bytes);
  }
  const config::RuntimeCosts& costs = process_.costs();
  const bool managed = placement.kind == MemoryKind::kManaged;
  const std::uint64_t ns = placement.device
                               ? costs.device_free_ns + (placement.bytes >> 20) * costs.device_free_ns_per_gib / 1024
                           : is_call && managed ? managed_free_ns(placement.blocks, placement.bytes)
                                                : 0;
  if (Plans* plans = driver_.plans()) plans->freed(id, record_number_);
  accounts_.freed(id, record_number_, time_);
  if (!is_call) {
    free_in_place(id, tensor);
    return true;
  }
  const auto release = [this](BlockIndex first, std::uint64_t count) { this->release(first, count); };
  tensor ? layout_.free_tensor(id, release) : layout_.free(id, release);
  driver_.freed(record_number_);
  pay_for_allocation(ns);
  return true;
}

// Frees an object or tensor without a cudaFree. The framework may reuse a tensor's memory at once, but kernels launched
// before still name the tensor.
void HostThread::free_in_place(trace::ObjectId id, bool tensor) {
  if (!tensor) return layout_.free(id, {});
  layout_.free_tensor(id, {});
  retired_tensors_.emplace_back(record_number_, id);
  const std::uint64_t oldest = streams_.oldest_record(record_number_ + 1);
  while (!retired_tensors_.empty() && retired_tensors_.front().first < oldest) {
    layout_.forget(retired_tensors_.front().second);
    retired_tensors_.pop_front();
  }
}

// Returns the time of a cudaFree. Populated memory of up to 2 MB has one price. Memory that has pages on the host costs
// more, wherever its content is now, as the driver keeps these pages (measured: configs/measurements).
std::uint64_t HostThread::managed_free_ns(const layout::BlockList& blocks, std::uint64_t bytes) const {
  const AddressSpace& space = process_.machine.space;
  std::uint64_t pages = 0, host_blocks = 0;
  blocks.for_each_run([&](const layout::BlockList::Run& run) {
    space.for_each_used(run.first, run.count, [&](BlockIndex b) {
      pages += space.resident_anywhere(b).count();
      host_blocks += space.block(b).host_backed.empty() ? 0 : 1;
    });
  });
  pages = std::min(pages, (bytes + kBasePageBytes - 1) / kBasePageBytes);
  const config::RuntimeCosts& costs = process_.costs();
  const std::uint64_t host_ns =
      host_blocks == 0 ? 0 : costs.free_host_ns + (host_blocks - 1) * costs.free_host_block_ns;
  if (pages == 0) return host_ns + costs.free_ns + (bytes >> 20) * costs.free_untouched_ns_per_gib / 1024;
  return host_ns + costs.free_touched_ns +
         (pages - std::min<std::uint64_t>(pages, kPagesPerBlock)) * costs.free_ns_per_mib / 256;
}

// Releases blocks. Those without state hold no pages.
void HostThread::release(BlockIndex first, std::uint64_t count) {
  process_.machine.space.for_each_used(first, count, [&](BlockIndex b) {
    accounts_.drops(b, PageMask::all(), time_);
    driver_.release(b);
  });
}

// Frees the memory that the layout's allocator gave back. Returns false if the host waits.
bool HostThread::free_released() {
  if (layout_.released().empty()) return true;
  if (!wait_for_device()) return false;
  for (const layout::Released& memory : layout_.released()) {
    pay_for_allocation(managed_free_ns(memory.blocks, memory.bytes));
  }
  layout_.drop_released([this](BlockIndex first, std::uint64_t count) { release(first, count); });
  driver_.freed(record_number_);
  return true;
}

void HostThread::add_state(StateDigest& digest) {
  for (; !retired_tensors_.empty(); retired_tensors_.pop_front()) layout_.forget(retired_tensors_.front().second);
  digest.add_past(events_.now());
  for (const auto& [event, last] : events_recorded_) {  // no wait is pending, so all recordings are done
    StateDigest part = digest.part();
    part.add(event);
    digest.add_unordered(part);
  }
  ideal_.add_state(digest);
}

}  // namespace uvmsim::engine
