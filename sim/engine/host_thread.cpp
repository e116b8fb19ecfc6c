// SPDX-License-Identifier: Apache-2.0
// The host thread of a program: issues the records in program order, runs ahead of the GPU, waits where the API waits.
#include <algorithm>

#include "sim/common/error.h"
#include "sim/engine/calls.h"
#include "sim/engine/program.h"

namespace uvmsim::engine {

namespace {

// CUDA's launch queue: a host that is further ahead blocks in the next launch.
constexpr std::size_t kQueueDepth = 1024;
// One host event handles this many records at most, so that progress is reported and events interleave.
constexpr unsigned kRecordsPerEvent = 256;

}  // namespace

void Program::host_gap(std::int64_t ns) {
  if (!options_.include_host_gaps || ns <= 0) return;
  host_time_ += Nanoseconds(ns);
  ideal_.host(ns);
}

void Program::host_step() {
  host_scheduled_ = false;
  host_time_ = std::max(host_time_, events_.now());
  if (host_wait_.kind != HostWait::Kind::kNone) {
    if (!satisfied(host_wait_)) return;
    if (host_wait_.kind != HostWait::Kind::kQueue) host_pays(options_.system.runtime.synchronize_ns);
    host_wait_ = {};
  }
  for (unsigned i = 0; i < kRecordsPerEvent; ++i) {
    if (!have_record_) {
      if (feed_.at_repetition()) before_repetition();
      if (!feed_.next(record_)) {
        source_done_ = true;
        return;
      }
      have_record_ = true;
      gap_paid_ = false;
      ++record_number_;
      recorded_number_ = feed_.number();
      if (feed_.begins_repetition()) {
        for (const unsigned gpu : devices_) gpus_[gpu].mmu.drop_fraction();
        if (observer_.state) observer_.state(digest_of_state());
      }
      if (observer_.progress && record_number_ % 4096 == 0) observer_.progress(record_number_);
    }
    if (!gap_paid_) {
      host_gap(host_gap_ns(record_));
      gap_paid_ = true;
      if (host_time_ > events_.now()) break;  // what the GPU does meanwhile comes first
    }
    bool issued;
    try {
      issued = issue(record_);
    } catch (const InputError& error) {
      throw_input_error("record {}: {}", recorded_number_, error.what());
    }
    if (!issued) return;
    have_record_ = false;
    if (host_time_ > events_.now()) break;
  }
  schedule_host(host_time_);
}

bool Program::satisfied(const HostWait& wait) const {
  const auto idle = [](const Stream& s) { return s.queue.empty(); };
  switch (wait.kind) {
    case HostWait::Kind::kNone:
      return true;
    case HostWait::Kind::kDevice:
      return std::all_of(streams_.begin(), streams_.end(), idle);
    case HostWait::Kind::kStream:
      return wait.stream >= streams_.size() || idle(streams_[wait.stream]);
    case HostWait::Kind::kEvent:
      return recordings_done_[wait.recording];
    case HostWait::Kind::kQueue:
      return streams_[wait.stream].queue.size() < kQueueDepth;
  }
  return true;
}

// True if the host need not wait. Otherwise it is woken when the wait is over.
bool Program::wait_for(HostWait wait) {
  if (satisfied(wait)) return true;
  host_wait_ = wait;
  return false;
}

// The recording of the event that the host issued last. Before there is one, nothing waits (CUDA driver API,
// cuStreamWaitEvent and cuEventSynchronize).
std::optional<std::size_t> Program::recording_of(std::uint64_t event) const {
  const auto last = events_recorded_.find(event);
  if (last == events_recorded_.end()) return std::nullopt;
  return last->second;
}

std::size_t Program::new_recording(std::uint64_t event) {
  recordings_done_.push_back(false);
  return events_recorded_[event] = recordings_done_.size() - 1;
}

void Program::schedule_host(Nanoseconds time) {
  host_scheduled_ = true;
  events_.schedule(time, EventKind::kHost, 0, number_);
}

void Program::wake_host() {
  if (host_wait_.kind == HostWait::Kind::kNone || host_scheduled_ || !satisfied(host_wait_)) return;
  schedule_host(std::max(events_.now(), host_time_));
}

void Program::submit(std::uint32_t stream, Work work) {
  if (stream >= streams_.size()) streams_.resize(std::size_t{stream} + 1);
  if (auto* kernel = std::get_if<KernelOperation>(&work); kernel != nullptr && plans_) {
    kernel->launch = plans_->launched(kernel->kernel);
  }
  streams_[stream].queue.push_back({host_time_, record_number_, recorded_number_, std::move(work)});
  schedule_stream(stream);
}

// Of the machine; the device is one of the trace, below 0 for the host.
ProcessorId Program::processor(std::int32_t device) const {
  return device < 0 ? kHost : gpu_processor(devices_[static_cast<std::size_t>(device)]);
}

bool Program::issue(trace::Record& record) {
  const config::RuntimeCosts& runtime = options_.system.runtime;
  const auto allocation_cost = [&] {  // of what the layout took from the driver
    const layout::Layout::Taken& taken = layout_.taken();
    std::uint64_t ns = taken.calls * runtime.allocate_ns + (taken.bytes >> 20) * runtime.allocate_ns_per_gib / 1024;
    if (taken.device_bytes != 0) {
      ns += runtime.device_allocate_ns + (taken.device_bytes >> 20) * runtime.device_allocate_ns_per_gib / 1024;
    }
    pay_for_allocation(ns);
  };
  const auto queue_has_room = [&](std::uint32_t stream) {
    return stream >= streams_.size() || wait_for({HostWait::Kind::kQueue, stream, 0});
  };
  const auto launch = [&](std::uint32_t stream, Work work, std::int64_t ideal_ns) {
    host_pays(runtime.launch_ns);
    ideal_.host(static_cast<std::int64_t>(runtime.launch_ns));
    ideal_.enqueue(stream, ideal_ns);
    submit(stream, std::move(work));
    return true;
  };

  if (!free_released()) return false;
  layout_.follow(record);
  if (layout_.has_empty_segments()) {
    layout::for_each_touched(record, [&](trace::ObjectId id) {
      layout_.touch(id);
      allocation_cost();
      if (layout_.taken_bytes() != 0) accounts_.allocated(id, "", false, record_number_, host_time_);
    });
  }
  if (plans_) plans_->issues(record, record_number_);
  if (auto* r = std::get_if<trace::ObjectAlloc>(&record)) {
    layout_.allocate(*r, feed_.is_segment());
    allocation_cost();
    if (plans_) plans_->allocated(r->id, record_number_, feed_.is_segment());
    accounts_.allocated(r->id, "", false, record_number_, host_time_);
    return true;
  }
  if (auto* r = std::get_if<trace::TensorAlloc>(&record)) {
    layout_.allocate(*r);
    allocation_cost();
    if (plans_) plans_->allocated(r->id, record_number_);
    accounts_.allocated(r->id, r->name, true, record_number_, host_time_);
    return release_after(record);
  }
  if (auto* r = std::get_if<trace::ObjectFree>(&record)) return issue_free(r->id, false) && release_after(record);
  if (auto* r = std::get_if<trace::TensorFree>(&record)) return issue_free(r->id, true);
  if (auto* r = std::get_if<trace::Kernel>(&record)) {
    if (!queue_has_room(r->stream)) return false;
    if (r->device < 0 || static_cast<std::size_t>(r->device) >= devices_.size()) {
      throw_input_error("kernel '{}' runs on device {}; {} has {}", r->name, r->device,
                        has_all_gpus() ? fmt::format("system '{}'", options_.system.name) : "the program",
                        devices_.size());
    }
    r->device = static_cast<std::int32_t>(devices_[static_cast<std::size_t>(r->device)]);
    const std::uint32_t stream = r->stream;
    const std::int64_t duration = r->duration_ns;
    return launch(stream, KernelOperation{std::move(*r), false}, duration);
  }
  if (auto* r = std::get_if<trace::Memcpy>(&record)) return issue_copy(*r);
  if (auto* r = std::get_if<trace::Memset>(&record)) {
    if (!queue_has_room(r->stream)) return false;
    trace::Kernel kernel = kernel_of(*r, layout_, header_.quantum_bytes, options_.system, devices_.front());
    const std::int64_t duration = kernel.duration_ns;
    if (kernel.accesses.empty()) return launch(r->stream, CopyOperation{Nanoseconds(duration)}, duration);
    return launch(r->stream, KernelOperation{std::move(kernel), true}, duration);
  }
  if (auto* r = std::get_if<trace::Prefetch>(&record)) {
    if (!queue_has_room(r->stream)) return false;
    if (r->destination >= static_cast<std::int32_t>(devices_.size())) {
      throw_input_error("prefetch to device {}; allowed: -1 (host) to {}", r->destination, devices_.size() - 1);
    }
    const ProcessorId to = processor(r->destination);
    return launch(r->stream, PrefetchOperation{spans_of(layout_, r->object, r->offset, r->bytes), to}, 0);
  }
  if (auto* r = std::get_if<trace::Advise>(&record)) {
    if (r->device >= static_cast<std::int32_t>(devices_.size())) {
      throw_input_error("advice for device {}; allowed: -1 (host) to {}", r->device, devices_.size() - 1);
    }
    const ProcessorId who = processor(r->device);
    if (r->advice == trace::Advice::kSetReadMostly) machine_.ledger.copies_dropped = true;
    accounts_.host_acts();
    host_time_ = user_calls_->advise(spans_of(layout_, r->object, r->offset, r->bytes), r->advice, who, host_time_);
    host_pays(runtime.launch_ns);
    return true;
  }
  if (auto* r = std::get_if<trace::Discard>(&record)) {
    if (!queue_has_room(r->stream)) return false;
    return launch(r->stream, DiscardOperation{spans_of(layout_, r->object, r->offset, r->bytes)}, 0);
  }
  if (auto* r = std::get_if<trace::Sync>(&record)) {
    switch (r->kind) {
      case trace::SyncKind::kDevice:
        ideal_.wait_all();
        return wait_for({HostWait::Kind::kDevice, 0, 0});
      case trace::SyncKind::kStream:
        ideal_.wait(r->stream);
        return wait_for({HostWait::Kind::kStream, r->stream, 0});
      case trace::SyncKind::kEventSynchronize:
        ideal_.host_waits_event(r->event);
        if (const auto recording = recording_of(r->event)) return wait_for({HostWait::Kind::kEvent, 0, *recording});
        return true;
      case trace::SyncKind::kEventRecord:
        ideal_.record(r->event, r->stream);
        submit(r->stream, EventOperation{new_recording(r->event), false});
        return true;
      case trace::SyncKind::kEventWait:
        ideal_.wait_event(r->stream, r->event);
        if (const auto recording = recording_of(r->event)) submit(r->stream, EventOperation{*recording, true});
        return true;
    }
  }
  if (auto* r = std::get_if<trace::HostAccess>(&record)) return issue_host_access(*r);
  if (auto* r = std::get_if<trace::Range>(&record)) {
    accounts_.range(*r, record_number_);
    submit(0, MarkOperation{r->kind, std::move(r->name), r->index, ideal_.arrival(0)});
    return true;
  }
  return true;  // TensorAlloc inside an object, UvmCounter: nothing to replay
}

// cudaFree synchronises the device and drops the pages without write-back.
bool Program::issue_free(trace::ObjectId id, bool tensor) {
  const layout::Placement& placement = layout_.find(id);
  if (!placement.owns || !(placement.managed || placement.device)) {
    if (plans_) plans_->freed(id, record_number_);
    accounts_.freed(id, record_number_, host_time_);
    tensor ? retire_tensor(id) : layout_.free(id, {});
    return true;
  }
  ideal_.wait_all();
  if (!wait_for({HostWait::Kind::kDevice, 0, 0})) return false;
  const config::RuntimeCosts& runtime = options_.system.runtime;
  const std::uint64_t ns =
      placement.device ? runtime.device_free_ns + (placement.bytes >> 20) * runtime.device_free_ns_per_gib / 1024
                       : managed_free_ns(placement.blocks, placement.bytes);
  if (plans_) plans_->freed(id, record_number_);
  accounts_.freed(id, record_number_, host_time_);
  const auto release = [this](BlockIndex b) { release_block(b); };
  tensor ? layout_.free_tensor(id, release) : layout_.free(id, release);
  tell_futures_of_frees();
  pay_for_allocation(ns);
  return true;
}

// Of memory that is populated, the first 2 MB cost no more than less of it (measured: configs/measurements).
std::uint64_t Program::managed_free_ns(const std::vector<BlockIndex>& blocks, std::uint64_t bytes) const {
  std::uint64_t pages = 0;
  for (const BlockIndex b : blocks) {
    for (unsigned gpu = 0; gpu < gpus_.size(); ++gpu) pages += space_.pages(b, gpu_processor(gpu)).resident.count();
  }
  pages = std::min(pages, (bytes + kBasePageBytes - 1) / kBasePageBytes);
  const config::RuntimeCosts& runtime = options_.system.runtime;
  if (pages == 0) return runtime.free_ns + (bytes >> 20) * runtime.free_untouched_ns_per_gib / 1024;
  return runtime.free_touched_ns +
         (pages - std::min<std::uint64_t>(pages, kPagesPerBlock)) * runtime.free_ns_per_mib / 256;
}

void Program::release_block(BlockIndex b) {
  accounts_.drops(b, PageMask::all(), host_time_);
  machine_.ledger.released_pages += residency_->release(b);
  thrashing_->forget(b);
  access_counters_->forget(b);
}

void Program::pay_for_allocation(std::uint64_t ns) {
  host_pays(ns);
  result_.counters.host_allocation_ns += ns;
}

// The layout's allocator gave segments back: the record itself is done, the host frees them before the next one.
bool Program::release_after(trace::Record& record) {
  if (layout_.released().empty()) return true;
  record = trace::UvmCounter{};
  return free_released();
}

bool Program::free_released() {
  if (layout_.released().empty()) return true;
  ideal_.wait_all();
  if (!wait_for({HostWait::Kind::kDevice, 0, 0})) return false;
  for (const layout::Released& memory : layout_.released()) {
    pay_for_allocation(managed_free_ns(memory.blocks, memory.bytes));
  }
  layout_.drop_released([this](BlockIndex b) { release_block(b); });
  tell_futures_of_frees();
  return true;
}

// Of the oldest work that is not done.
std::uint64_t Program::oldest_record_at_work() const {
  std::uint64_t oldest = record_number_ + 1;
  for (const Stream& stream : streams_) {
    if (!stream.queue.empty()) oldest = std::min(oldest, stream.queue.front().record);
  }
  return oldest;
}

// The framework may reuse a freed tensor's memory at once, but kernels that were launched before still name it.
void Program::retire_tensor(trace::ObjectId id) {
  layout_.free_tensor(id, {});
  retired_tensors_.emplace_back(record_number_, id);
  const std::uint64_t oldest = oldest_record_at_work();
  while (!retired_tensors_.empty() && retired_tensors_.front().first < oldest) {
    layout_.forget(retired_tensors_.front().second);
    retired_tensors_.pop_front();
  }
}

bool Program::issue_copy(const trace::Memcpy& copy) {
  if (copy.stream < streams_.size() && !wait_for({HostWait::Kind::kQueue, copy.stream, 0})) return false;
  trace::Kernel kernel = kernel_of(copy, layout_, header_.quantum_bytes, options_.system, devices_.front());
  const std::optional<PeerCopyOperation> peers = peer_copy(copy);
  if (peers) kernel.duration_ns = machine_.topology.peer(peers->from, peers->to)->unloaded_time(peers->bytes).value;
  host_pays(options_.system.runtime.launch_ns);
  ideal_.host(static_cast<std::int64_t>(options_.system.runtime.launch_ns));
  ideal_.enqueue(copy.stream, kernel.duration_ns);
  if (peers) {
    submit(copy.stream, *peers);
  } else if (kernel.accesses.empty()) {
    submit(copy.stream, CopyOperation{Nanoseconds(kernel.duration_ns)});
  } else {
    submit(copy.stream, KernelOperation{std::move(kernel), true});
  }
  if (!copy.blocking) return true;
  ideal_.wait(copy.stream);
  // The copy itself is issued; what remains is to wait for it.
  record_ = trace::Sync{trace::SyncKind::kStream, copy.stream, 0, 0};
  return wait_for({HostWait::Kind::kStream, copy.stream, 0});
}

// Between plain memory of two GPUs that a link joins.
std::optional<Program::PeerCopyOperation> Program::peer_copy(const trace::Memcpy& copy) const {
  if (copy.src.object == trace::kNoObject || copy.dst.object == trace::kNoObject || copy.bytes == 0) {
    return std::nullopt;
  }
  const auto gpu_of = [&](trace::ObjectId id) -> std::optional<unsigned> {
    const layout::Placement& placement = layout_.find(id);
    if (!placement.device || placement.gpu < 0 || static_cast<std::size_t>(placement.gpu) >= devices_.size()) {
      return std::nullopt;
    }
    return devices_[static_cast<std::size_t>(placement.gpu)];
  };
  const auto from = gpu_of(copy.src.object), to = gpu_of(copy.dst.object);
  if (!from || !to || *from == *to || machine_.topology.peer(*from, *to) == nullptr) return std::nullopt;
  return PeerCopyOperation{*from, *to, copy.bytes};
}

// Touches until one faults; the host goes on when that fault is served.
bool Program::issue_host_access(const trace::HostAccess& access) {
  const layout::Placement& placement = layout_.find(access.object);
  if (!placement.managed) return true;
  const auto touch = [&](std::uint64_t page, bool write) {  // true: it faulted and time passed
    const BlockIndex block = placement.blocks[page / kPagesPerBlock];
    const auto index = static_cast<unsigned>(page % kPagesPerBlock);
    if (host_faults_->access(block, index, write)) return false;
    advance_kernels(events_.now());
    accounts_.host_acts();
    host_time_ = host_faults_->touch(block, index, write, host_time_);
    if (host_faults_->mapped(block, index, write)) ++host_access_page_;  // else it was throttled: once more
    schedule_host(host_time_);
    return true;
  };
  // Goes on where the last fault interrupted it: part and page within.
  for (; host_access_part_ < part_count(access); ++host_access_part_, host_access_page_ = 0) {
    const auto [pages, write] = touch_of(access, host_access_part_, placement, header_.quantum_bytes);
    for (; pages.begin + host_access_page_ < pages.end; ++host_access_page_) {
      if (touch(pages.begin + host_access_page_, write)) return false;
    }
  }
  host_access_part_ = 0;
  return true;
}

}  // namespace uvmsim::engine
