// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/accounts.h"

#include <algorithm>

#include "sim/driver/context.h"

namespace uvmsim::engine {

namespace {

// Calls f(address, bytes) for the contiguous stretches of bytes [offset, offset + bytes) of a placement.
template <class F>
void for_each_run(const layout::Placement& placement, std::uint64_t offset, std::uint64_t bytes, F&& f) {
  const std::uint64_t begin = placement.offset + offset, end = begin + bytes;
  placement.blocks.for_each_run([&](const layout::BlockList::Run& run) {
    const std::uint64_t run_begin = run.at * kBlockBytes, run_end = run_begin + run.count * kBlockBytes;
    const std::uint64_t first = std::max(begin, run_begin), stop = std::min(end, run_end);
    if (first < stop) f(run.first.value * kBlockBytes + (first - run_begin), stop - first);
  });
}

}  // namespace

void Accounts::allocated(trace::ObjectId id, std::string_view name, bool tensor, std::uint64_t record, Nanoseconds at) {
  if (sink_ == nullptr) return;
  const layout::Placement& placement = layout_.find(id);
  if (!placement.managed) return;
  runs_.clear();
  for_each_run(placement, 0, placement.bytes, [&](std::uint64_t address, std::uint64_t bytes) {
    runs_.push_back({address, bytes});
  });
  sink_->on(AllocationEvent{id, name, placement.bytes, tensor, placement.owns, runs_, record, at});
}

void Accounts::drops(BlockIndex block, const PageMask& pages, Nanoseconds at) {
  if (sink_ == nullptr) return;
  for (unsigned gpu = 0; gpu < space_.gpu_count(); ++gpu) {
    const PageMask gone = space_.pages(block, gpu_processor(gpu)).resident & pages;
    driver::tell_residency(*sink_, gpu, block, gone, ResidencyChange::kDropped, at);
  }
}

void Accounts::range(const trace::Range& range, std::uint64_t record) {
  if (sink_ == nullptr) return;
  // In the order of trace::RangeKind.
  constexpr RangeEdge kEdges[] = {RangeEdge::kPush, RangeEdge::kPop, RangeEdge::kIterationBegin,
                                  RangeEdge::kIterationEnd};
  sink_->on(HostRangeEvent{kEdges[static_cast<std::size_t>(range.kind)], range.name, range.index, record});
}

void Accounts::kernel_starts(const trace::Kernel& kernel, bool is_copy, bool misfit, std::uint32_t stream,
                             std::uint64_t record, Nanoseconds start) {
  if (sink_ == nullptr) return;
  touches_.clear();
  for (const trace::Touch& touch : kernel.touches) {
    add_touch(kernel.accesses[touch.slot].object, touch.quantum, 1, touch.mode);
  }
  if (kernel.touches.empty()) {
    for (const trace::ObjectAccess& access : kernel.accesses) {
      for (const trace::Extent& extent : access.extents) {
        add_touch(access.object, extent.first, extent.count, extent.mode);
      }
    }
  }
  sink_->on(WorkStartEvent{is_copy ? WorkKind::kCopy : WorkKind::kKernel, kernel.name, stream, kernel.device, record,
                           start, touches_, misfit});
}

void Accounts::add_touch(trace::ObjectId id, std::uint64_t first_quantum, std::uint64_t quanta,
                         trace::AccessMode mode) {
  const layout::Placement& placement = layout_.find(id);
  const std::uint64_t first = first_quantum * quantum_bytes_;
  if (!placement.managed || first >= placement.bytes) return;
  const std::uint64_t bytes = std::min(quanta * quantum_bytes_, placement.bytes - first);
  for_each_run(placement, first, bytes, [&](std::uint64_t address, std::uint64_t length) {
    touches_.push_back({id, address, length, mode != trace::AccessMode::kWrite, mode != trace::AccessMode::kRead});
  });
}

}  // namespace uvmsim::engine
