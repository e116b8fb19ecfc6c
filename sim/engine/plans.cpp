// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/plans.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/layout/segments.h"

namespace uvmsim::engine {

Plans::Plans(std::vector<std::shared_ptr<policy::Planner>> planners, const policy::PolicyInfo& info,
             const policy::KernelFuture* future, const layout::Layout& layout, driver::DriverContext& context,
             driver::Residency& residency, driver::Thrashing& thrashing,
             std::vector<std::unique_ptr<FaultLoop>>& fault_loops, EventQueue& events)
    : future_(future), layout_(layout), launches_(context.gpus.size(), 0) {
  for (unsigned gpu = 0; gpu < context.gpus.size(); ++gpu) {
    threads_.push_back(std::make_unique<MigrationThread>(
        gpu, std::move(planners[gpu]), info,
        MigrationThread::Parts{context, residency, thrashing, fault_loops, live_memory_, events}));
    context.gpus[gpu].plan = threads_.back().get();
  }
}

void Plans::allocated(trace::ObjectId id, std::uint64_t record, bool is_segment) {
  if (is_segment) return live_memory_.allocated_segment(id);
  live_memory_.allocated(id, layout_.find(id).blocks, record);
}

void Plans::issues(const trace::Record& record, std::uint64_t number) {
  layout::for_each_touched(record, [&](trace::ObjectId id) {
    if (live_memory_.is_segment(id)) live_memory_.segment_used(id, layout_.find(id).blocks, number);
  });
  if (std::holds_alternative<trace::HostAccess>(record)) live_memory_.begins(number);
}

std::uint64_t Plans::launched(const trace::Kernel& kernel) {
  const auto gpu = static_cast<unsigned>(kernel.device);
  const std::uint64_t launch = launches_[gpu]++;
  UVMSIM_CHECK(future_ == nullptr || (launch < future_->kernels.size() &&
                                      future_->kernels[launch].duration == Nanoseconds(kernel.duration_ns)),
               "kernel {} ('{}') is not the one that was foreseen", launch, kernel.name);
  if (policy::Planner* planner = threads_[gpu]->kernel_listener()) planner->on_launched(view(kernel, launch));
  return launch;
}

void Plans::kernel_begins(const trace::Kernel& kernel, std::uint64_t launch) {
  policy::Planner* planner = threads_[static_cast<unsigned>(kernel.device)]->kernel_listener();
  if (planner != nullptr) planner->on_begin(view(kernel, launch));
}

void Plans::kernel_ends(const trace::Kernel& kernel, std::uint64_t launch) {
  policy::Planner* planner = threads_[static_cast<unsigned>(kernel.device)]->kernel_listener();
  if (planner != nullptr) planner->on_end(launch);
}

void Plans::keep(const KernelWork& work, unsigned gpu, Nanoseconds end) {
  work.for_each_segment([&](const Segment& segment, bool) { threads_[gpu]->keep(segment.block, end); });
  for (const PageRef& page : work.touches) threads_[gpu]->keep(page.block, end);
}

policy::KernelLaunch Plans::view(const trace::Kernel& kernel, std::uint64_t launch) {
  arguments_.clear();
  runs_.clear();
  std::size_t runs = 0;
  for (const trace::ObjectAccess& access : kernel.accesses) {
    layout_.find(access.object).blocks.for_each_run([&](const layout::BlockList::Run&) { ++runs; });
  }
  runs_.reserve(runs);  // arguments_ points into it, so it must not move
  for (const trace::ObjectAccess& access : kernel.accesses) {
    const layout::Placement& placement = layout_.find(access.object);
    if (placement.blocks.empty()) continue;
    const std::uint64_t address = driver::virtual_address(placement.blocks.front(), 0) + placement.offset;
    if (placement.bytes == 0) {
      arguments_.push_back({address, {}});
      continue;
    }
    // Blocks before the one of the first page are left out.
    const std::size_t before = runs_.size();
    const std::uint64_t first_page = placement.first_page(0), left_out = first_page / kPagesPerBlock;
    placement.blocks.for_each_run([&](const layout::BlockList::Run& run) {
      const std::uint64_t skipped = left_out - std::min(left_out, run.at);
      if (skipped < run.count) runs_.push_back({BlockIndex(run.first.value + skipped), run.count - skipped});
    });
    arguments_.push_back(
        {address,
         {std::span<const policy::BlockRun>(runs_).subspan(before), first_page - left_out * kPagesPerBlock,
          placement.end_page(placement.bytes) - left_out * kPagesPerBlock}});
  }
  return {launch, kernel.name, kernel.grid.count(), kernel.block.count(), arguments_};
}

}  // namespace uvmsim::engine
