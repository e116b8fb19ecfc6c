// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/program.h"

#include <algorithm>
#include <optional>
#include <set>
#include <variant>

#include "sim/bounds/certain_touches.h"
#include "sim/bounds/issue_order.h"
#include "sim/common/error.h"
#include "sim/engine/calls.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/record_feed.h"
#include "sim/layout/layout.h"

namespace uvmsim::bounds {

namespace {

constexpr std::uint64_t page_index(BlockIndex block, std::uint64_t page) { return block.value * kPagesPerBlock + page; }

bool reads_and_writes(const trace::Kernel& kernel) {
  const auto both = [](const std::vector<trace::Extent>& extents) {
    return std::any_of(extents.begin(), extents.end(),
                       [](const trace::Extent& extent) { return extent.mode == trace::AccessMode::kReadWrite; });
  };
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                     [&](const trace::ObjectAccess& access) { return both(access.extents); });
}

// Follows Program::issue: the same layout, the same waits, the same calls of the ideal clock.
class Reader {
 public:
  Reader(const trace::Header& header, const RunOptions& options, std::uint64_t capacity_bytes)
      : header_(header),
        options_(options),
        is_planned_(!options.entry(policy::Slot::kPlan).is_drivers_own),
        capacity_bytes_(capacity_bytes),
        space_(static_cast<unsigned>(options.system.gpus.size())),
        layout_(options.layout, space_) {}

  void add(const trace::Record& record, bool is_segment, std::uint64_t number);
  Program finish() {
    program_.gpus.assign(gpus_.begin(), gpus_.end());
    return std::move(program_);
  }

 private:
  using Call = ClockCall::Kind;

  void call(Call kind, std::uint32_t stream = 0, std::int64_t ns = 0, std::uint64_t event = 0) {
    program_.clock.push_back({kind, false, stream, ns, event});
  }
  void host(std::int64_t ns) {
    if (ns > 0) call(Call::kHost, 0, ns);
  }
  void wait_all() {
    call(Call::kWaitAll);
    order_.host_waits_for_device();
  }
  // `runs` of program_.runs from first_run on.
  void add_work(const trace::Record& record, Action action, std::uint32_t stream, std::int64_t ns,
                std::size_t first_run);
  void add_on_host(Action action, std::size_t first_run);
  void add_run(std::uint64_t first, std::uint64_t end, std::size_t first_run);
  void merge_runs(std::size_t first_run);
  void add_pages(const layout::Placement& placement, std::uint64_t page, std::uint64_t end, std::size_t first_run);
  std::size_t add_bytes(trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes);
  void add_kernel(const trace::Record& record, const trace::Kernel& kernel);
  void add_host_access(const trace::HostAccess& access);
  void free_object(trace::ObjectId id, bool tensor);
  void free_released();
  void release(const std::vector<PageRun>& pages);
  void note_dead(const layout::Placement& placement);

  const trace::Header& header_;
  const RunOptions& options_;
  const bool is_planned_;  // a planner drops what is dead
  std::uint64_t capacity_bytes_;
  AddressSpace space_;  // of the layout; in it no page holds anything
  layout::Layout layout_;
  IssueOrder order_;
  std::set<unsigned> gpus_{0};
  std::uint64_t number_ = 0;  // of the record in hand
  Program program_;
};

void Reader::add_run(std::uint64_t first, std::uint64_t end, std::size_t first_run) {
  std::vector<PageRun>& runs = program_.runs;
  if (runs.size() > first_run && runs.back().end == first) {
    runs.back().end = end;
  } else if (first < end) {
    runs.push_back({first, end});
  }
}

// Phases touch the same pages again and again, in pieces.
void Reader::merge_runs(std::size_t first_run) {
  std::vector<PageRun>& runs = program_.runs;
  const auto begin = runs.begin() + static_cast<std::ptrdiff_t>(first_run);
  std::sort(begin, runs.end(), [](const PageRun& a, const PageRun& b) { return a.first < b.first; });
  std::size_t kept = first_run;
  for (std::size_t i = first_run; i < runs.size(); ++i) {
    if (i != first_run && runs[i].first <= runs[kept].end) {
      runs[kept].end = std::max(runs[kept].end, runs[i].end);
    } else if (i != first_run) {
      runs[++kept] = runs[i];
    }
  }
  if (runs.size() > first_run) runs.resize(kept + 1);
}

// Adds pages [page, end) of the placement.
void Reader::add_pages(const layout::Placement& placement, std::uint64_t page, std::uint64_t end,
                       std::size_t first_run) {
  placement.for_each_stretch(
      page, end, [&](std::uint64_t first, std::uint64_t count) { add_run(first, first + count, first_run); });
}

// Adds the pages of bytes of an object, none if its memory is not managed. Returns the first run.
std::size_t Reader::add_bytes(trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes) {
  engine::check_bytes(layout_, id, offset, bytes);
  const layout::Placement& placement = layout_.find(id);
  const std::size_t first_run = program_.runs.size();
  if (!placement.managed || bytes == 0) return first_run;
  add_pages(placement, placement.first_page(offset), placement.end_page(offset + bytes), first_run);
  return first_run;
}

void Reader::add_work(const trace::Record& record, Action action, std::uint32_t stream, std::int64_t ns,
                      std::size_t first_run) {
  host(static_cast<std::int64_t>(options_.system.runtime.launch_ns));
  call(Call::kEnqueue, stream, ns);
  if (program_.runs.size() == first_run) return order_.follow(record);
  program_.clock.back().operation = true;
  const std::size_t after = order_.add(record, stream);
  const std::size_t end_run = program_.runs.size();
  program_.operations.push_back({action, false, stream, after, number_, first_run, end_run, end_run});
}

void Reader::add_on_host(Action action, std::size_t first_run) {
  if (program_.runs.size() == first_run) return;
  call(Call::kHostOperation);
  const std::size_t after = order_.add_on_host();
  const std::size_t end_run = program_.runs.size();
  program_.operations.push_back({action, true, 0, after, number_, first_run, end_run, end_run});
}

void Reader::add_kernel(const trace::Record& record, const trace::Kernel& kernel) {
  if (kernel.device < 0 || static_cast<std::size_t>(kernel.device) >= options_.system.gpus.size()) {
    throw_input_error("kernel '{}' runs on device {}; system '{}' has {}", kernel.name, kernel.device,
                      options_.system.name, options_.system.gpus.size());
  }
  gpus_.insert(static_cast<unsigned>(kernel.device));
  const auto plan = [&](const AddressSpace* space) {
    return engine::plan_kernel(kernel, header_.quantum_bytes, layout_, space, options_.system, capacity_bytes_, 0);
  };
  const engine::KernelWork none = plan(&space_);
  std::optional<engine::KernelWork> all;
  if (reads_and_writes(kernel)) all = plan(nullptr);
  const CertainTouches touches(kernel, none, all ? *all : none);
  const std::size_t first_run = program_.runs.size();
  touches.for_each_segment([&](const engine::Segment& segment) {
    const std::uint64_t first = page_index(segment.block, segment.first);
    add_run(first, first + segment.count, first_run);
  });
  merge_runs(first_run);
  add_work(record, Action::kUse, kernel.stream, touches.least_duration_ns(), first_run);
}

void Reader::add_host_access(const trace::HostAccess& access) {
  const layout::Placement& placement = layout_.find(access.object);
  if (!placement.managed) return;
  const std::size_t first_run = program_.runs.size();
  for (std::size_t part = 0; part < engine::part_count(access); ++part) {
    const engine::PageRange pages = engine::touch_of(access, part, placement, header_.quantum_bytes).pages;
    add_pages(placement, pages.begin, pages.end, first_run);
  }
  add_on_host(Action::kHostTouch, first_run);
}

void Reader::release(const std::vector<PageRun>& pages) {
  const std::size_t first_run = program_.runs.size();
  for (const PageRun& run : pages) add_run(run.first, run.end, first_run);
  add_on_host(Action::kFree, first_run);
}

void Reader::note_dead(const layout::Placement& placement) {
  if (program_.operations.empty()) return;
  Operation& last = program_.operations.back();
  add_pages(placement, placement.first_page(0), placement.end_page(placement.bytes), last.end_run);
  last.end_dead_run = program_.runs.size();
}

void Reader::free_object(trace::ObjectId id, bool tensor) {
  const layout::Placement& placement = layout_.find(id);
  const bool waits = placement.owns && (placement.managed || placement.device);
  if (!waits && is_planned_) note_dead(placement);
  if (waits) wait_all();
  std::vector<PageRun> pages;
  const auto note = [&](BlockIndex first, std::uint64_t count) {
    pages.push_back({page_index(first, 0), page_index(first, count * kPagesPerBlock)});
  };
  if (tensor) {
    layout_.free_tensor(id, note);
    if (!waits) layout_.forget(id);
  } else {
    layout_.free(id, note);
  }
  release(pages);
}

void Reader::free_released() {
  if (layout_.released().empty()) return;
  wait_all();
  std::vector<PageRun> pages;
  layout_.drop_released([&](BlockIndex first, std::uint64_t count) {
    pages.push_back({page_index(first, 0), page_index(first, count * kPagesPerBlock)});
  });
  release(pages);
}

void Reader::add(const trace::Record& record, bool is_segment, std::uint64_t number) {
  number_ = number;
  if (options_.include_host_gaps) host(engine::host_gap_ns(record));
  free_released();
  layout_.follow(record);
  const config::SystemConfig& system = options_.system;
  const std::uint64_t quantum = header_.quantum_bytes;
  if (const auto* kernel = std::get_if<trace::Kernel>(&record)) return add_kernel(record, *kernel);
  if (const auto* set = std::get_if<trace::Memset>(&record)) {
    return add_kernel(record, engine::kernel_of(*set, layout_, quantum, system));
  }
  if (const auto* copy = std::get_if<trace::Memcpy>(&record)) {
    add_kernel(record, engine::kernel_of(*copy, layout_, quantum, system));
    if (copy->blocking) call(Call::kWait, copy->stream);
    return;
  }
  if (const auto* prefetch = std::get_if<trace::Prefetch>(&record)) {
    if (prefetch->destination >= static_cast<std::int32_t>(system.gpus.size())) {
      throw_input_error("prefetch to device {}; allowed: -1 (host) to {}", prefetch->destination,
                        system.gpus.size() - 1);
    }
    const bool to_host = prefetch->destination < 0;
    if (!to_host) gpus_.insert(static_cast<unsigned>(prefetch->destination));
    const std::size_t first = add_bytes(prefetch->object, prefetch->offset, prefetch->bytes);
    return add_work(record, to_host ? Action::kToHost : Action::kUse, prefetch->stream, 0, first);
  }
  if (const auto* discard = std::get_if<trace::Discard>(&record)) {
    const std::size_t first = add_bytes(discard->object, discard->offset, discard->bytes);
    return add_work(record, Action::kDiscard, discard->stream, 0, first);
  }
  order_.follow(record);
  if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
    layout_.allocate(*object, is_segment);
  } else if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) {
    layout_.allocate(*tensor);
    free_released();
  } else if (const auto* freed = std::get_if<trace::ObjectFree>(&record)) {
    free_object(freed->id, false);
    free_released();
  } else if (const auto* tensor_freed = std::get_if<trace::TensorFree>(&record)) {
    free_object(tensor_freed->id, true);
  } else if (const auto* advise = std::get_if<trace::Advise>(&record)) {
    add_on_host(Action::kHint, add_bytes(advise->object, advise->offset, advise->bytes));
  } else if (const auto* access = std::get_if<trace::HostAccess>(&record)) {
    add_host_access(*access);
  } else if (const auto* sync = std::get_if<trace::Sync>(&record)) {
    switch (sync->kind) {
      case trace::SyncKind::kDevice:
        return call(Call::kWaitAll);
      case trace::SyncKind::kStream:
        return call(Call::kWait, sync->stream);
      case trace::SyncKind::kEventRecord:
        return call(Call::kRecord, sync->stream, 0, sync->event);
      case trace::SyncKind::kEventWait:
        return call(Call::kWaitEvent, sync->stream, 0, sync->event);
      case trace::SyncKind::kEventSynchronize:
        return call(Call::kHostWaitsEvent, 0, 0, sync->event);
    }
  }
}

}  // namespace

Program read_program(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                     std::uint64_t capacity_bytes) {
  engine::RecordFeed feed(header, source, options);
  Reader reader(header, options, capacity_bytes);
  feed.for_each([&](const trace::Record& record) { reader.add(record, feed.is_segment(), feed.number()); });
  Program program = reader.finish();
  program.time_scale = feed.time_scale();
  program.pages_may_rest = !options.entry(policy::Slot::kMigrate).is_drivers_own || options.system.driver.replicate;
  return program;
}

}  // namespace uvmsim::bounds
