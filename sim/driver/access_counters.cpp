// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/access_counters.h"

#include <algorithm>

namespace uvmsim::driver {

AccessCounters::AccessCounters(DriverContext& context, FaultService& service)
    : context_(context), service_(service), gpus_(context.space.gpu_count()) {}

void AccessCounters::on_remote_access(unsigned gpu, BlockIndex b, const PageMask& pages, std::uint64_t accesses) {
  if (!enabled(gpu) || pages.empty() || accesses == 0) return;
  if (context_.gpus[gpu].migrator != nullptr) return ask_policy(gpu, b, pages, accesses);
  Gpu& state = gpus_[gpu];
  Region& region = state.regions[b.value];
  const std::uint32_t threshold = context_.system.driver.access_counter_threshold;
  if (region.accesses >= threshold) return;  // waits to be serviced
  if (region.units == 0) region.first_page = static_cast<std::uint16_t>(pages.next_set(0));
  for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
    if (pages.count_range(unit * kPagesPerBigPage, kPagesPerBigPage) != 0) region.units |= std::uint32_t{1} << unit;
  }
  region.accesses += static_cast<std::uint32_t>(std::min<std::uint64_t>(accesses, threshold - region.accesses));
  if (region.accesses < threshold) return;
  ++context_.counters.access_counter_notifications;
  state.queue.push_back(b);
}

void AccessCounters::ask_policy(unsigned gpu, BlockIndex b, const PageMask& pages, std::uint64_t accesses) {
  const VaBlock& block = context_.space.block(b);
  if (block.hints.any()) return;
  const GpuState& state = context_.gpus[gpu];
  const PageMask coming = block.extent() & state.migrator->fetch({.block = b,
                                                                  .range = block.range_first,
                                                                  .pages = pages,
                                                                  .accesses = accesses,
                                                                  .memory = memory_use(state),
                                                                  .process = context_.process});
  if (coming.empty()) return;
  ++context_.counters.access_counter_notifications;
  gpus_[gpu].fetches.push_back({b, coming});
}

// Services the fetches in batches, as service() does with notifications. Pages may have moved since the policy was
// asked.
void AccessCounters::service_fetches(Work& work, unsigned gpu) {
  std::vector<Fetch>& fetches = gpus_[gpu].fetches;
  std::stable_sort(fetches.begin(), fetches.end(), [](const Fetch& a, const Fetch& b) { return a.block < b.block; });
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    if (i % context_.system.driver.access_counter_batch_count == 0) {
      work.cpu = work.done();
      work.spend(context_.costs().batch_ns);
    }
    const Fetch& fetch = fetches[i];
    const PageMask pages = (fetch.pages & context_.space.pages(fetch.block, kHost).resident) -
                           context_.space.pages(fetch.block, gpu_processor(gpu)).resident;
    if (!pages.empty()) service_.migrate_remote(work, gpu, fetch.block, pages);
  }
  fetches.clear();
}

// Returns the pages to migrate: the accessed 64 KB units if the host backs the block by one physical 2 MB page, else
// only the page that the notification names. Pages that are not on the host, or are on the GPU, are left out.
PageMask AccessCounters::accessed_pages(unsigned gpu, BlockIndex b, const Region& region) const {
  const AddressSpace& space = context_.space;
  PageMask pages;
  if (context_.system.host.large_pages && space.block(b).full_size()) {
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      if ((region.units >> unit & 1) != 0) pages.set_range(unit * kPagesPerBigPage, kPagesPerBigPage);
    }
  } else {
    pages.set(region.first_page);
  }
  return (pages & space.pages(b, kHost).resident) - space.pages(b, gpu_processor(gpu)).resident;
}

Nanoseconds AccessCounters::service(unsigned gpu, Nanoseconds now) {
  if (!pending(gpu)) return now;
  std::vector<BlockIndex>& queue = gpus_[gpu].queue;
  Work work(now);
  service_fetches(work, gpu);
  const std::size_t limit = context_.system.driver.access_counter_batch_count;
  for (std::size_t begin = 0; begin < queue.size(); begin += limit) {
    const std::size_t end = std::min(begin + limit, queue.size());
    const auto at = [&](std::size_t i) { return queue.begin() + static_cast<std::ptrdiff_t>(i); };
    std::sort(at(begin), at(end));
    work.spend(context_.costs().batch_ns);
    for (std::size_t i = begin; i < end; ++i) {
      const BlockIndex b = queue[i];
      Region& region = gpus_[gpu].regions[b.value];
      // A GPU that no longer maps any page of the block will not access it again.
      const bool mapped = !context_.space.pages(b, gpu_processor(gpu)).mapped.empty();
      const PageMask pages = accessed_pages(gpu, b, region);
      region = Region{};
      if (mapped && !pages.empty()) service_.migrate_remote(work, gpu, b, pages);
    }
    work.cpu = work.done();
  }
  queue.clear();
  return work.done();
}

void AccessCounters::forget(BlockIndex b) {
  for (Gpu& gpu : gpus_) {
    if (Region* const region = gpu.regions.find(b.value)) *region = Region{};
    std::erase(gpu.queue, b);
    std::erase_if(gpu.fetches, [&](const Fetch& fetch) { return fetch.block == b; });
  }
}

void AccessCounters::add_state(StateDigest& digest) const {
  for (const Gpu& gpu : gpus_) {
    if (!gpu.queue.empty() || !gpu.fetches.empty()) digest.refuse();
    gpu.regions.for_each([&](std::uint64_t block, const Region& region) {
      if (region.accesses == 0 && region.units == 0) return;
      digest.add(block);
      digest.add(std::uint64_t{region.accesses} << 32 | region.units);
      digest.add(region.first_page);
    });
  }
}

}  // namespace uvmsim::driver
