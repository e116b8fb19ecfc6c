// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/timing_pass.h"

#include <algorithm>

namespace uvmtrace {

namespace {

// A pitched copy or set becomes one record per row up to this number; beyond that several rows share a record.
constexpr std::uint64_t kMaxPieces = 256;
// cudaMemcpyAsync to the device returns at once for up to this many bytes of pageable host memory (CUDA Programming
// Guide, "Asynchronous Concurrent Execution").
constexpr std::uint64_t kStagedAtOnceBytes = 65536;

// Calls f(first row, bytes of the piece) for rows as pieces of contiguous bytes. Adjacent rows without a gap form one
// piece. For a piece of several rows with gaps, the gaps count as copied and the last bytes do not.
template <class F>
void for_each_piece(std::uint64_t rows, std::uint64_t row_bytes, bool contiguous, F&& f) {
  const std::uint64_t step = contiguous ? rows : (rows + kMaxPieces - 1) / kMaxPieces;
  for (std::uint64_t row = 0; row < rows; row += step) f(row, std::min(step, rows - row) * row_bytes);
}

}  // namespace

TimingPass::TimingPass(const PassLog& log, const MergeOptions& options, MergeSummary& summary, std::size_t begin,
                       const std::vector<bool>& kept)
    : log_(log), options_(options), summary_(summary), world_(log), operators_(log), begin_(begin), kept_(kept) {}

trace::ObjectKind TimingPass::kind_of(const Thing& thing) const {
  switch (thing.kind) {
    case MemoryKind::kPinned:
      return trace::ObjectKind::kPinned;
    case MemoryKind::kModule:
      return trace::ObjectKind::kDevice;
    case MemoryKind::kManaged:
      return trace::ObjectKind::kManaged;
    default:
      return options_.as_managed ? trace::ObjectKind::kManaged : trace::ObjectKind::kDevice;
  }
}

trace::ObjectId TimingPass::add_object(const Thing& thing, const Take& take) {
  take(trace::ObjectAlloc{++last_id_, kind_of(thing), thing.bytes, 0, thing.device});
  return last_id_;
}

void TimingPass::change_memory(std::size_t position, const Take& take) {
  const World::Change& change = world_.apply(position);
  for (const ThingIndex index : change.freed) {
    if (ids_[index] == trace::kNoObject) {
      continue;  // it was not kept
    }
    if (world_.things()[index].tensor) {
      take(trace::TensorFree{ids_[index]});
    } else {
      take(trace::ObjectFree{ids_[index]});
    }
  }
  if (change.made == kNothing) return;
  const Thing& thing = world_.things()[change.made];
  ids_.resize(change.made + 1, trace::kNoObject);
  if (!kept_.empty() && !kept_[change.made]) return;
  ids_[change.made] = ++last_id_;
  if (!thing.tensor) {
    take(trace::ObjectAlloc{last_id_, kind_of(thing), thing.bytes, thing.va, thing.device});
    return;
  }
  trace::TensorAlloc tensor;
  tensor.id = last_id_;
  tensor.bytes = thing.bytes;
  tensor.stream = thing.stream;
  if (thing.parent != kNothing) {
    tensor.object = ids_[thing.parent];
    tensor.offset = thing.va - world_.things()[thing.parent].va;
  }
  take(std::move(tensor));
}

TimingPass::Place TimingPass::place(std::uint64_t va, std::uint64_t bytes) const {
  const ThingIndex thing = world_.holder(va, bytes);
  return thing == kNothing ? Place{} : Place{thing, ids_[thing], va - world_.things()[thing].va};
}

void TimingPass::kernel(const Event& event, std::size_t number, const FillAccesses& fill, const Take& take) {
  const Launch& launch = log_.launches[number];
  trace::Kernel out;
  out.name = log_.names[launch.name];
  out.stream = launch.stream;
  out.device = launch.device;
  out.grid = launch.grid;
  out.block = launch.block;
  out.host_gap_ns = gaps_.take();
  ++summary_.launches;
  const auto time = log_.kernel_times.find({launch.corr, launch.node});
  if (time == log_.kernel_times.end()) {
    ++summary_.untimed;
  } else {
    out.duration_ns = std::max<std::int64_t>(time->second.end_ns - time->second.start_ns, 0);
    out.registers_per_thread = time->second.registers;
    out.shared_bytes_per_block = time->second.shared_bytes;
  }
  fill(event, number, out);
  take(std::move(out));
}

trace::CopyKind TimingPass::copy_kind(const CopyEvent& event, const Place& dst, const Place& src) const {
  if (event.kind != trace::CopyKind::kDefault) return event.kind;
  const auto on_device = [this](const Place& end) {
    return end.thing != kNothing && world_.things()[end.thing].kind != MemoryKind::kPinned;
  };
  if (on_device(dst)) return on_device(src) ? trace::CopyKind::kDeviceToDevice : trace::CopyKind::kHostToDevice;
  return on_device(src) ? trace::CopyKind::kDeviceToHost : trace::CopyKind::kHostToHost;
}

void TimingPass::copy(const CopyEvent& event, const Take& take) {
  const bool contiguous = event.dst_pitch <= event.row_bytes && event.src_pitch <= event.row_bytes;
  if (event.row_bytes == 0) return;
  const std::uint64_t total = event.rows * event.row_bytes;
  for_each_piece(event.rows, event.row_bytes, contiguous, [&](std::uint64_t row, std::uint64_t bytes) {
    const Place dst = place(event.dst + row * event.dst_pitch, bytes);
    const Place src = place(event.src + row * event.src_pitch, bytes);
    trace::Memcpy out;
    out.kind = copy_kind(event, dst, src);
    if (out.kind == trace::CopyKind::kHostToHost) {
      return;  // the GPU is not involved
    }
    out.dst = {dst.id, dst.offset};
    out.src = {src.id, src.offset};
    out.bytes = bytes;
    out.stream = event.stream;
    out.host_gap_ns = gaps_.take();
    const bool to_host = out.kind == trace::CopyKind::kDeviceToHost;
    const bool on_device = out.kind == trace::CopyKind::kDeviceToDevice;
    const bool pageable = !on_device && (to_host ? dst : src).thing == kNothing;
    const bool staged = to_host || total > kStagedAtOnceBytes;
    const bool last = bytes >= total - row * event.row_bytes;
    out.blocking = last && !on_device && (event.async ? pageable && staged : true);
    take(std::move(out));
  });
}

void TimingPass::set(const SetEvent& event, const Take& take) {
  if (event.row_bytes == 0) return;
  const bool contiguous = event.pitch <= event.row_bytes;
  for_each_piece(event.rows, event.row_bytes, contiguous, [&](std::uint64_t row, std::uint64_t bytes) {
    const Place target = place(event.va + row * event.pitch, bytes);
    if (target.thing == kNothing) {
      summary_.unplaced_calls += row == 0 ? 1 : 0;
      return;
    }
    if (target.id == trace::kNoObject) {
      return;  // it was not kept
    }
    take(trace::Memset{target.id, target.offset, bytes, event.stream, gaps_.take(), !event.async});
  });
}

void TimingPass::sync(const SyncEvent& event, const Take& take) {
  trace::Sync out;
  out.kind = event.kind;
  out.stream = event.stream;
  if (event.kind == trace::SyncKind::kEventRecord) {
    out.event = events_.try_emplace(event.event, events_.size() + 1).first->second;
  } else if (event.kind == trace::SyncKind::kEventWait || event.kind == trace::SyncKind::kEventSynchronize) {
    const auto found = events_.find(event.event);
    if (found == events_.end()) {
      return;  // CUDA does not wait for an event that was never recorded
    }
    out.event = found->second;
  }
  out.host_gap_ns = gaps_.take();
  take(std::move(out));
}

// Hints apply to the driver's allocations.
template <class Hint, class Fill>
void TimingPass::hint(const Hint& event, Fill&& fill) {
  const ThingIndex object = event.bytes == 0 ? kNothing : world_.object_holder(event.va, event.bytes);
  if (object == kNothing) {
    ++summary_.unplaced_calls;
    return;
  }
  if (ids_[object] != trace::kNoObject) {  // it was kept
    fill(ids_[object], event.va - world_.things()[object].va);
  }
}

void TimingPass::emit_uvm_until(std::int64_t time_ns, const Take& take) {
  for (; next_uvm_ < log_.uvm.size() && log_.uvm[next_uvm_].start_ns <= time_ns; ++next_uvm_) {
    const UvmEvent& event = log_.uvm[next_uvm_];
    trace::UvmCounter out;
    out.kind = event.counter;
    const ThingIndex object = world_.object_at(event.va);
    if (object != kNothing) {
      out.object = ids_[object];
      out.offset = event.va - world_.things()[object].va;
    }
    out.value = event.value;
    out.start_ns = event.start_ns;
    out.end_ns = event.end_ns;
    out.flags = event.flags;
    take(std::move(out));
  }
}

// Adds the effect of a copy before the beginning of the trace on a thing that is kept. If its source no longer exists,
// a copy from the device becomes a set, and one from pinned memory a copy of pageable memory.
void TimingPass::write_of_prologue(const CopyEvent& event, const Take& take) {
  const bool contiguous = event.dst_pitch <= event.row_bytes && event.src_pitch <= event.row_bytes;
  if (event.row_bytes == 0) return;
  for_each_piece(event.rows, event.row_bytes, contiguous, [&](std::uint64_t row, std::uint64_t bytes) {
    const Place dst = place(event.dst + row * event.dst_pitch, bytes);
    const Place src = place(event.src + row * event.src_pitch, bytes);
    if (dst.id == trace::kNoObject || world_.things()[dst.thing].kind == MemoryKind::kPinned) return;
    const trace::CopyKind kind = copy_kind(event, dst, src);
    if (kind == trace::CopyKind::kDeviceToDevice) {
      take(trace::Memset{dst.id, dst.offset, bytes, event.stream, 0});
    } else if (kind == trace::CopyKind::kHostToDevice) {
      trace::Memcpy out;
      out.kind = kind;
      out.dst = {dst.id, dst.offset};
      out.src = {src.id, src.offset};
      out.bytes = bytes;
      out.stream = event.stream;
      out.blocking = true;
      take(std::move(out));
    }
  });
}

void TimingPass::step_before_begin(std::size_t position, const Take& take) {
  const Event& event = log_.events[position];
  change_memory(position, take);
  operators_.apply(position);
  if (const auto* copied = std::get_if<CopyEvent>(&event.what)) {
    write_of_prologue(*copied, take);
  } else if (const auto* range = std::get_if<RangeEvent>(&event.what)) {
    ranges_.apply(*range, log_.names[range->name], event.tid, [](trace::Range) {});
  } else {
    hints_and_sets(event, take);
  }
  gaps_.take();
}

void TimingPass::step(std::size_t position, const FillAccesses& fill, const Take& take) {
  const Event& event = log_.events[position];
  emit_uvm_until(event.begin_ns, take);
  gaps_.call(event);
  change_memory(position, take);
  operators_.apply(position);
  if (const auto* at = std::get_if<LaunchEvent>(&event.what)) {
    kernel(event, at->launch, fill, take);
  } else if (const auto* copied = std::get_if<CopyEvent>(&event.what)) {
    copy(*copied, take);
  } else if (const auto* waited = std::get_if<SyncEvent>(&event.what)) {
    sync(*waited, take);
  } else if (const auto* range = std::get_if<RangeEvent>(&event.what)) {
    ranges_.apply(*range, log_.names[range->name], event.tid, [&](trace::Range out) { take(std::move(out)); });
  } else {
    hints_and_sets(event, take);
  }
}

void TimingPass::hints_and_sets(const Event& event, const Take& take) {
  if (const auto* filled = std::get_if<SetEvent>(&event.what)) {
    set(*filled, take);
  } else if (const auto* prefetch = std::get_if<PrefetchEvent>(&event.what)) {
    hint(*prefetch, [&](trace::ObjectId id, std::uint64_t offset) {
      take(trace::Prefetch{id, offset, prefetch->bytes, prefetch->to, prefetch->stream, gaps_.take()});
    });
  } else if (const auto* advise = std::get_if<AdviseEvent>(&event.what)) {
    hint(*advise, [&](trace::ObjectId id, std::uint64_t offset) {
      take(trace::Advise{id, offset, advise->bytes, advise->advice, advise->to});
    });
  } else if (const auto* discard = std::get_if<DiscardEvent>(&event.what)) {
    hint(*discard, [&](trace::ObjectId id, std::uint64_t offset) {
      take(trace::Discard{id, offset, discard->bytes, discard->stream});
      if (discard->prefetch) {
        take(trace::Prefetch{id, offset, discard->bytes, discard->to, discard->stream, gaps_.take()});
      }
    });
  }
}

// For an iteration that the program does not end: returns the number of events up to the first wait of the host after
// the last work for the GPU. Later events belong to the program's end, which may take seconds. If nothing follows or
// the iteration is ended, returns the number of all events.
std::size_t TimingPass::end_of_last_iteration() const {
  const auto& events = log_.events;
  std::size_t end = events.size();
  for (std::size_t i = events.size(); i-- > begin_;) {
    if (const auto* range = std::get_if<RangeEvent>(&events[i].what);
        range != nullptr &&
        (range->kind == trace::RangeKind::kIterationBegin || range->kind == trace::RangeKind::kIterationEnd)) {
      return events.size();
    }
    if (const auto* sync = std::get_if<SyncEvent>(&events[i].what)) {
      const bool waits = sync->kind != trace::SyncKind::kEventRecord && sync->kind != trace::SyncKind::kEventWait;
      end = waits ? i : end;
    } else if (is_gpu_work(events[i])) {
      break;
    }
  }
  return end;
}

void TimingPass::run(const FillAccesses& fill, const Take& take) {
  for (std::size_t i = 0; i < begin_; ++i) step_before_begin(i, take);
  if (begin_ != 0 && begin_ < log_.events.size()) {
    const std::int64_t start_ns = log_.events[begin_].begin_ns;
    while (next_uvm_ < log_.uvm.size() && log_.uvm[next_uvm_].start_ns < start_ns) ++next_uvm_;
    ranges_.begin_here([&](trace::Range out) { take(std::move(out)); });
  }
  const std::size_t end_of_iteration = end_of_last_iteration();
  for (std::size_t i = begin_; i < log_.events.size(); ++i) {
    step(i, fill, take);
    if (i == end_of_iteration) ranges_.finish_iteration([&](trace::Range out) { take(std::move(out)); });
  }
  emit_uvm_until(INT64_MAX, take);
  ranges_.finish([&](trace::Range out) { take(std::move(out)); });
  summary_.repairs += world_.repairs();
}

}  // namespace uvmtrace
