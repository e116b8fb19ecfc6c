// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/coherent_counters.h"

#include <algorithm>

#include "sim/config/coherence.h"

namespace uvmsim::driver {

CoherentCounters::CoherentCounters(DriverContext& context, FaultService& service, SystemMemory& system)
    : context_(context),
      service_(service),
      system_(system),
      moves_system_(config::counters_move_system(context.system)),
      moves_managed_(config::counters_move_managed(context.system)),
      gpus_(context.space.gpu_count()) {}

bool CoherentCounters::counts(unsigned gpu, BlockIndex b) const {
  const MemoryKind kind = context_.space.block(b).kind;
  if (kind == MemoryKind::kPinned) return false;
  if (context_.gpus[gpu].migrator != nullptr) return true;
  return kind == MemoryKind::kSystem ? moves_system_ : moves_managed_;
}

CoherentCounters::Region& CoherentCounters::region_of(Gpu& state, BlockIndex b) const {
  std::vector<Region>& regions = state.regions;
  const auto found =
      std::find_if(regions.rbegin(), regions.rend(), [&](const Region& region) { return region.block == b; });
  if (found != regions.rend()) {
    std::rotate(found.base() - 1, found.base(), regions.end());
  } else {
    if (regions.size() == context_.system.coherence.access_counters) regions.erase(regions.begin());
    regions.push_back({b, 0, {}});
  }
  return regions.back();
}

void CoherentCounters::count(unsigned gpu, BlockIndex b, unsigned page, std::uint64_t read_bytes,
                             std::uint64_t written_bytes, Nanoseconds at) {
  const config::CoherenceConfig& coherence = context_.system.coherence;
  const std::uint64_t threshold = context_.system.driver.access_counter_threshold;
  Gpu& state = gpus_[gpu];
  Region& region = region_of(state, b);
  region.touched |= PageMask::range(page, 1).grown_to_big_pages();
  region.accesses += read_bytes / coherence.counted_read_bytes + written_bytes / coherence.counted_write_bytes;
  if (region.accesses < threshold) return;
  region.accesses %= threshold;
  ++context_.counters.access_counter_notifications;
  const auto delay = static_cast<std::int64_t>(coherence.notification_delay_ns);
  state.queue.push_back({at + Nanoseconds(delay), b, page, region.touched});
  region.touched.clear();
}

void CoherentCounters::advance(unsigned gpu, Nanoseconds now) {
  Gpu& state = gpus_[gpu];
  for (;;) {
    if (!state.move.empty()) {
      const Move move = state.move.front();
      if (move.end > now) return;
      state.move.clear();
      system_.arrive(gpu, move.block, move.pages, move.start, move.end);
    }
    if (state.queue.empty()) return;
    const Notification next = state.queue.front();
    const Nanoseconds start = std::max(next.due, state.busy_until);
    if (start > now) return;
    state.queue.pop_front();
    serve(gpu, next, start);
  }
}

PageMask CoherentCounters::fetched_by_policy(unsigned gpu, const Notification& notification) const {
  const GpuState& state = context_.gpus[gpu];
  const VaBlock& block = context_.space.block(notification.block);
  return block.extent() & state.migrator->fetch({.block = notification.block,
                                                 .range = block.range_first,
                                                 .pages = notification.touched,
                                                 .accesses = context_.system.driver.access_counter_threshold,
                                                 .memory = memory_use(state),
                                                 .process = context_.process});
}

void CoherentCounters::serve(unsigned gpu, const Notification& notification, Nanoseconds start) {
  Gpu& state = gpus_[gpu];
  const BlockIndex b = notification.block;
  const VaBlock& block = context_.space.block(b);
  const PageMask& on_host = context_.space.pages(b, kHost).resident;
  const bool by_policy = context_.gpus[gpu].migrator != nullptr;
  if (block.kind == MemoryKind::kManaged) {
    const bool one_page = context_.system.host.large_pages && block.full_size();
    const PageMask named =
        one_page ? notification.touched : system_.host_pages(b, PageMask::range(notification.page, 1));
    const PageMask pages = (by_policy ? fetched_by_policy(gpu, notification) : named) & on_host;
    if (pages.empty()) return;
    Work work(start);
    work.spend(context_.costs().batch_ns);
    service_.migrate_remote(work, gpu, b, pages);
    state.busy_until = work.done();
    return;
  }
  PageMask pages;
  if (by_policy) {
    const PageMask fetched = system_.host_pages(b, fetched_by_policy(gpu, notification)) & on_host;
    if (fetched.empty() || system_.coming(gpu, b, fetched.next_set(0)).empty()) return;
    pages = fetched;
  } else {
    pages = system_.coming(gpu, b, notification.page);
  }
  if (pages.empty()) return;
  state.busy_until = start + Nanoseconds(static_cast<std::int64_t>(system_.move_ns(b, pages)));
  state.move.push_back({b, pages, start, state.busy_until});
}

void CoherentCounters::forget(BlockIndex b) {
  for (Gpu& gpu : gpus_) {
    const auto is_its = [&](const auto& item) { return item.block == b; };
    std::erase_if(gpu.regions, is_its);
    std::erase_if(gpu.queue, is_its);
    std::erase_if(gpu.move, is_its);
  }
}

void CoherentCounters::add_state(StateDigest& digest) const {
  for (const Gpu& gpu : gpus_) {
    if (!gpu.queue.empty() || !gpu.move.empty()) digest.refuse();
    digest.add(gpu.regions.size());
    for (const Region& region : gpu.regions) {
      digest.add(region.block.value);
      digest.add(region.accesses);
      add_mask(digest, region.touched);
    }
    digest.add_future(gpu.busy_until);
  }
}

}  // namespace uvmsim::driver
