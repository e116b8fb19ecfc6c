// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/fault_service.h"

#include <algorithm>

#include "sim/driver/mappings.h"
#include "sim/driver/system_memory.h"

namespace uvmsim::driver {

namespace {

PageMask missing_pages(const AddressSpace& space, BlockIndex b) {
  if (b.value >= space.block_count() || !space.block(b).live) return {};
  PageMask pages = space.block(b).extent();
  // Pages on another GPU stay there: two GPUs that took pages from each other ahead of need might never get on.
  for (unsigned gpu = 0; gpu < space.gpu_count(); ++gpu) pages -= space.pages(b, gpu_processor(gpu)).resident;
  return pages;
}

// The queries that a prefetcher may make when a GPU's blocks are served.
struct GpuQueries final : policy::PrefetchQueries {
  GpuQueries(const DriverContext& served_by, unsigned served) : context(served_by), gpu(served) {}
  PageMask missing(BlockIndex block) const override { return missing_pages(context.space, block); }
  std::uint32_t free_chunks() const override { return context.gpus[gpu].memory.free_chunks(); }
  const DriverContext& context;
  const unsigned gpu;
};

}  // namespace

Prefetched prefetch_pages(DriverContext& context, Work& work, BlockIndex b, const BlockPart& part,
                          ProcessorId destination, const PageMask& faulted, const PageMask& thrashing,
                          const PageMask& unmapped, const LookBeyond* beyond) {
  AddressSpace& space = context.space;
  VaBlock& block = space.block(b);
  PageMask pages = context.whole_pages(b, faulted);
  // Drivers from 590 on do no tree prefetch away from a preferred location.
  const bool away = !part.hints.preferred.is_none() && part.hints.preferred != destination;
  const bool asked = !(away && context.system.driver.version_major >= 590);
  if (!asked && pages == faulted) return {};

  const ProcessorPages& there = space.pages(b, destination);
  const PageMask extent = part.extent();
  const policy::FaultedBlock faulted_block{
      .block = b,
      .allocation = {PageIndex(block.range_first.value * kPagesPerBlock),
                     PageIndex((block.range_first.value + block.range_blocks) * kPagesPerBlock)},
      .first_page = block.first_page,
      .end_page = block.end_page,
      .resident = there.resident & extent,
      .faulted = faulted,
      .thrashing = thrashing,
      .destination_is_preferred = part.hints.preferred == destination,
      .resident_nowhere = !space.resident_anywhere(b).intersects(extent),
      .to_host = destination.is_host(),
      .process = context.process,
      .now = work.cpu,
  };
  if (asked) {
    pages |= context.prefetcher.prefetch(faulted_block) & extent;
    if (beyond != nullptr) context.prefetcher.prefetch_beyond(faulted_block, beyond->queries, beyond->spans);
    work.cpu += context.prefetch_decision_cost;
  }
  pages -= faulted;
  pages -= thrashing;
  const PageMask already = (pages & there.resident) - unmapped;
  if (destination.is_host()) {
    pages -= (there.resident & there.mapped) - unmapped;
    // Of pages on the SSD, only those in the units of the faulted pages are fetched.
    pages -= context.host_memory.swapped(b, there.resident) - context.host_memory.whole_units(faulted);
  } else {
    pages -= there.resident - unmapped;
  }
  context.counters.prefetched_pages += (pages - there.resident).count();
  return {pages, already};
}

BatchSummary FaultService::service(unsigned gpu, std::span<const gmmu::FaultEntry> entries, Nanoseconds start) {
  sorted_.clear();
  for (const gmmu::FaultEntry& entry : entries) {
    sorted_.emplace_back(entry.fault.page.value, entry.fault.access, entry.instances);
  }
  std::sort(sorted_.begin(), sorted_.end(), [](const SortedFault& a, const SortedFault& b) { return a.key < b.key; });

  const std::uint64_t lowest_page = sorted_.empty() ? 0 : sorted_.front().page();
  const std::uint64_t highest_page = sorted_.empty() ? 0 : sorted_.back().page();
  const bool lowest_is_write = !sorted_.empty() && sorted_.front().write();
  policy::Batcher* const batcher = context_.gpus[gpu].batcher.get();
  if (batcher != nullptr || !context_.listeners.empty()) tell_batch(entries, start, batcher);

  const auto copies = [&] {
    return context_.counters.htod_fault_transactions + context_.counters.dtoh_fault_transactions +
           context_.counters.dtod_fault_transactions;
  };
  const std::uint64_t copies_before = copies();
  const std::uint64_t populated_before = context_.counters.populated_pages;
  BatchSummary summary;
  if (thrashing_.pins_expired(start)) expire_pins(context_, thrashing_, start);
  served_.clear();
  beyond_.clear();
  Work work(start);
  std::uint64_t fetched = 0;
  for (const SortedFault& fault : sorted_) fetched += fault.instances;
  const config::ListenerCosts& listener = context_.system.listener;
  work.spend(context_.costs().batch_ns + context_.costs().raw_fault_ns * fetched +
             listener.of(listener.batch_ns + listener.raw_fault_ns * fetched));
  MoveHooks& hooks = *context_.hooks;
  hooks.batch_begins(gpu);
  if (context_.system_memory != nullptr) context_.system_memory->begin_batch();
  // A helper thread may fetch blocks from the other end of the batch, until the two meet.
  const bool far_blocks = hooks.fetches_far_blocks();
  Work helper(work.cpu);
  std::size_t tail = sorted_.size();
  for (std::size_t i = 0; i < sorted_.size();) {
    const BlockIndex block(sorted_[i].page() / kPagesPerBlock);
    while (far_blocks && helper.cpu <= work.cpu && tail > i) {
      const BlockIndex far(sorted_[tail - 1].page() / kPagesPerBlock);
      if (far == block) break;
      while (tail > i && sorted_[tail - 1].page() / kPagesPerBlock == far.value) --tail;
      hooks.fetch_far_block(helper, gpu, far);
    }
    PageMask reads;
    PageMask writes;
    std::uint64_t previous = ~std::uint64_t{0};
    for (; i < sorted_.size() && sorted_[i].page() / kPagesPerBlock == block.value; ++i) {
      const SortedFault& fault = sorted_[i];
      summary.duplicates += fault.page() == previous ? fault.instances : fault.instances - 1;
      if (fault.page() == previous) continue;  // the most intrusive access of the page came first
      previous = fault.page();
      (fault.write() ? writes : reads).set(static_cast<unsigned>(fault.page() % kPagesPerBlock));
    }
    // The cost is per page, as duplicates are skipped at once (uvm_gpu_replayable_faults.c).
    work.spend(context_.costs().fault_entry_ns * (reads | writes).count());
    const std::uint32_t serviced = service_block(work, gpu, block, reads, writes, summary.throttled);
    summary.faulting_pages += serviced;
    ++summary.blocks;
    served_.push_back(block);
  }
  if (batcher != nullptr) std::sort(served_.begin(), served_.end());
  if (!beyond_.empty()) bring_beyond(work, gpu, served_);
  if (!sorted_.empty()) {
    summary.lowest_address = lowest_page * kBasePageBytes;
    summary.lowest_is_write = lowest_is_write;
    hooks.batch_served(gpu, PageIndex(lowest_page), PageIndex(highest_page), helper.cpu);
  }
  // Page tables, translations and the replay wait for the last copy (uvm_gpu_replayable_faults.c: the batch's tracker).
  if (copies() != copies_before) {
    work.cpu = work.done();
    work.spend(context_.costs().after_copies_ns);
  }
  summary.gpu_memory_changed = context_.counters.populated_pages != populated_before || copies() != copies_before;
  summary.end = work.done();
  context_.counters.blocks_serviced += summary.blocks;
  context_.counters.faulting_pages += summary.faulting_pages;
  context_.counters.duplicate_faults += summary.duplicates;
  return summary;
}

// Reports a batch to the policies; a batch policy then names the blocks that are served first.
void FaultService::tell_batch(std::span<const gmmu::FaultEntry> entries, Nanoseconds now, policy::Batcher* batcher) {
  if (entries.empty()) return;
  records_.clear();
  for (const gmmu::FaultEntry& entry : entries) {
    records_.push_back({entry.fault.page, entry.fault.arrival, entry.fault.sm, entry.instances,
                        entry.fault.access >= gmmu::FaultAccess::kWrite});
  }
  const policy::FaultBatch batch{context_.process, now, records_};
  for (policy::FeatureListener* listener : context_.listeners) listener->on_faults(batch);
  if (batcher == nullptr) return;
  first_.clear();
  batcher->arrange(batch, first_);
  std::size_t front = 0;
  for (const BlockIndex block : first_) {
    const auto end_of = [&](std::size_t begin) {
      std::size_t end = begin;
      while (end < sorted_.size() && sorted_[end].page() / kPagesPerBlock == block.value) ++end;
      return end;
    };
    const auto begin = std::lower_bound(
        sorted_.begin() + static_cast<std::ptrdiff_t>(front), sorted_.end(), block.value * kPagesPerBlock,
        [](const SortedFault& fault, std::uint64_t page) { return fault.page() < page; });
    const auto at = static_cast<std::size_t>(begin - sorted_.begin());
    const std::size_t end = end_of(at);
    // A block that is not in the batch, or was named before, changes nothing.
    std::rotate(sorted_.begin() + static_cast<std::ptrdiff_t>(front), begin,
                sorted_.begin() + static_cast<std::ptrdiff_t>(end));
    front += end - at;
  }
}

// Services the parts of a block that have hints of their own, which are blocks of their own to the driver.
std::uint32_t FaultService::service_block(Work& work, unsigned gpu, BlockIndex b, const PageMask& reads,
                                          const PageMask& writes, bool& throttled) {
  std::uint32_t serviced = 0;
  context_.space.for_each_part(b, [&](const BlockPart& part) {
    const bool split = context_.space.block(b).split != 0;
    const PageMask mine = split ? part.extent() : PageMask::all();
    if (split && !mine.intersects(reads | writes)) return;
    serviced += service_part(work, gpu, b, part, reads & mine, writes & mine, throttled);
  });
  return serviced;
}

std::uint32_t FaultService::service_part(Work& work, unsigned gpu, BlockIndex b, const BlockPart& part,
                                         const PageMask& reads, const PageMask& writes, bool& throttled) {
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  const ProcessorId self = gpu_processor(gpu);
  const ProcessorPages& mine = space.pages(b, self);
  const PageMask served_reads = reads & mine.mapped;
  const PageMask served_writes = writes & mine.mapped & mine.writable;
  context_.counters.stale_faults += served_reads.count() + served_writes.count();
  const PageMask wanted_reads = reads - served_reads;
  const PageMask wanted_writes = writes - served_writes;
  const PageMask wanted = wanted_reads | wanted_writes;
  if (wanted.empty() || !block.live) {  // stale faults, or faults on memory that was freed meanwhile
    context_.counters.stale_faults += wanted_reads.count() + wanted_writes.count();
    work.spend(context_.costs().stale_block_ns);
    return 0;
  }
  work.spend(context_.costs().block_ns);
  if (context_.system_memory != nullptr && context_.system_memory->serves(b)) {
    if (context_.accounts != nullptr) tell_faulted(work, gpu, b, wanted_reads, wanted_writes);
    return context_.system_memory->populate(work, gpu, b, wanted_reads, wanted_writes);
  }
  context_.hooks->before_block(work, gpu, b);
  for (const KnownFuture& known : context_.futures) {
    const std::uint64_t first = virtual_address(b, wanted.next_set(0));
    known.future->arrive(policy::ContentIndex(first / known.content_bytes));
  }
  context_.access_bits.mark(b, wanted);
  context_.prefetch_history.used(b, wanted);
  PageMask thrashing;
  Destinations to;
  // Pages in lent memory move, whether the host has a copy or not.
  const bool single = block.read_duplicated.empty() || context_.hooks->holds(b);
  const bool simple = single && !part.hints.any() && !thrashing_.tracks(b);
  if (simple) {
    to.local = wanted;
    if (context_.gpus[gpu].migrator != nullptr) let_rest(work, gpu, b, wanted_reads, wanted_writes, to);
  } else {
    to = choose(b, part, gpu, wanted_reads, wanted_writes, work.cpu, TransferCause::kFault);
    thrashing = thrashing_.pages(b);
    throttled = throttled || !to.throttled.empty();
  }
  to.written = context_.whole_pages(b, wanted_writes);
  if (context_.accounts != nullptr) {
    tell_faulted(work, gpu, b, wanted_reads - to.throttled, wanted_writes - to.throttled);
  }
  carry_out(work, gpu, b, part, to, thrashing, TransferCause::kFault);
  // Written pages hold data again. (Pages that moved were cleared on the way.)
  if (!block.discarded.empty()) block.discarded -= to.local & wanted_writes;
  if (PlanHooks* plan = context_.gpus[gpu].plan; plan != nullptr) plan->on_faulted(b, wanted - to.throttled);
  return (wanted - to.throttled).count();
}

// Asks the migrate policy which faulted pages stay on the host, and checks its answer.
void FaultService::let_rest(Work& work, unsigned gpu, BlockIndex b, const PageMask& reads, const PageMask& writes,
                            Destinations& to) {
  AddressSpace& space = context_.space;
  const VaBlock& block = space.block(b);
  const PageMask& mine = space.pages(b, gpu_processor(gpu)).resident;
  const PageMask& on_host = space.pages(b, kHost).resident;
  const PageMask elsewhere = space.resident_anywhere(b) - on_host;  // on this GPU or another one
  const PageMask asked = to.local - elsewhere;
  if (asked.empty()) return;
  const PageMask asked_reads = reads & asked, asked_writes = writes & asked;
  policy::RestingPages rest = context_.gpus[gpu].migrator->rest({.block = b,
                                                                 .range = block.range_first,
                                                                 .reads = asked_reads,
                                                                 .writes = asked_writes,
                                                                 .on_host = on_host,
                                                                 .memory = memory_use(context_.gpus[gpu]),
                                                                 .now = work.cpu,
                                                                 .process = context_.process});
  work.cpu += context_.migrate_decision_cost;
  rest.pages &= asked | (block.extent() - mine - elsewhere);
  to.resting = {rest.pages, rest.writable & rest.pages};
  // A write to a page that is mapped read-only would fault for ever.
  to.resting.pages -= asked_writes - to.resting.writable;
  to.local -= to.resting.pages;
}

void FaultService::tell_faulted(const Work& work, unsigned gpu, BlockIndex b, const PageMask& reads,
                                const PageMask& writes) const {
  for (const bool write : {false, true}) {
    (write ? writes : reads).for_each_run([&](unsigned first, unsigned count) {
      context_.accounts->on(FaultedPagesEvent{static_cast<std::int32_t>(gpu), work.cpu, virtual_address(b, first),
                                              count * kBasePageBytes, write});
    });
  }
}

void FaultService::carry_out(Work& work, unsigned gpu, BlockIndex b, const BlockPart& part, const Destinations& to,
                             const PageMask& thrashing, TransferCause cause) {
  AddressSpace& space = context_.space;
  const VaBlock& block = space.block(b);
  const ProcessorId self = gpu_processor(gpu);
  const ProcessorPages& mine = space.pages(b, self);
  const PageMask to_gpu = to.local | to.duplicate;
  if (!to_gpu.empty()) {
    PageMask prefetched, there;
    const GpuQueries queries(context_, gpu);
    const LookBeyond beyond{queries, beyond_};
    if (to.host.empty() && to.peers.empty()) {
      const Prefetched answer = prefetch_pages(context_, work, b, part, self, to_gpu, thrashing | to.resting.pages,
                                               to.written - mine.writable, &beyond);
      prefetched = answer.coming;
      there = answer.there;
    }
    const bool duplicate_prefetch = part.hints.read_mostly;
    const PageMask prefetched_to_write = prefetched & to.written;
    const PageMask moved =
        thrashing_.interested() ? ((to.local | prefetched) - mine.resident) & space.resident_anywhere(b) : PageMask{};
    if (!to.duplicate.empty() || duplicate_prefetch) {
      // With read-mostly, pages that the tree names beside the faulted ones count as reads, also those that are there
      // already: pages that the GPU wrote before become read-only. (uvm_va_block_get_prefetch_hint; 535 to 595)
      const PageMask named = duplicate_prefetch ? (prefetched - prefetched_to_write) | there : PageMask{};
      end_writing(context_, thrashing_, work, b, to.duplicate | named);
      thrashing_.reset(b, (to.duplicate | prefetched) - mine.resident);
      residency_.to_gpu(work, b, gpu, {to.duplicate, prefetched - prefetched_to_write, cause, true});
      if (!to.local.empty()) residency_.to_gpu(work, b, gpu, {to.local, prefetched_to_write, cause, false});
    } else {
      residency_.to_gpu(work, b, gpu, {to.local, prefetched, cause, false});
    }
    if (duplicate_prefetch) {
      thrashing_.reset(b, moved);
    } else if (!moved.empty()) {
      thrashing_.on_migration(b, moved, self, work.cpu);
    }
    // A read fault maps for writing too if no other processor loses access; not under read duplication.
    PageMask writable = to.local | prefetched_to_write;
    if (!duplicate_prefetch) writable |= prefetched;
    // In a short block, bringing the written pages may evict the duplicated ones again.
    const PageMask here = (to_gpu | prefetched) & mine.resident;
    map_local(context_, work, b, gpu, here, writable - block.read_duplicated);
  }
  if (!to.host.empty()) {
    PageMask prefetched;
    if (to_gpu.empty() && to.peers.empty()) {
      prefetched =
          prefetch_pages(context_, work, b, part, kHost, to.host, thrashing, context_.whole_pages(b, to.host)).coming;
    }
    const PageMask all = to.host | prefetched;
    const PageMask moved = (all - space.pages(b, kHost).resident) & space.resident_anywhere(b);
    residency_.to_host(work, b, {to.host, prefetched, cause, false});
    if (!moved.empty()) thrashing_.on_migration(b, moved, kHost, work.cpu);
    map_remote(context_, work, b, gpu, all, all - block.read_duplicated);
  }
  for (const auto& [peer, pages] : to.peers) {
    PageMask prefetched;
    if (to_gpu.empty() && to.host.empty() && to.peers.size() == 1) {
      prefetched = prefetch_pages(context_, work, b, part, peer, pages, thrashing, part.extent()).coming;
    }
    const PageMask all = pages | prefetched;
    const PageMask absent = all - space.pages(b, peer).resident;
    const PageMask moved = absent & space.resident_anywhere(b);
    if (!absent.empty()) residency_.to_gpu(work, b, peer.gpu(), {pages & absent, prefetched & absent, cause, false});
    if (!moved.empty()) thrashing_.on_migration(b, moved, peer, work.cpu);
    const PageMask there = all & space.pages(b, peer).resident;
    map_remote(context_, work, b, gpu, there, there - block.read_duplicated);
  }
  if (!to.resting.pages.empty()) {
    const PageMask& on_host = space.pages(b, kHost).resident;
    const PageMask fresh = (to.resting.pages - on_host) | (to.resting.pages & context_.host_memory.swapped(b, on_host));
    if (!fresh.empty()) residency_.to_host(work, b, {fresh, {}, cause, false});
    map_remote(context_, work, b, gpu, to.resting.pages, to.resting.writable);
  }
  map_pinned(context_, work, b, to.pinned_mappings);
}

void FaultService::bring_beyond(Work& work, unsigned gpu, std::vector<BlockIndex>& served) {
  for (const policy::PageSpan& span : beyond_) {
    const std::uint64_t end = std::min(span.end.value, context_.space.block_count() * kPagesPerBlock);
    for (std::uint64_t page = span.first.value; page < end;) {
      const BlockIndex b(page / kPagesPerBlock);
      const std::uint64_t next = std::min(end, (b.value + 1) * kPagesPerBlock);
      const auto spared = std::lower_bound(served.begin(), served.end(), b);
      const bool is_served = spared != served.end() && *spared == b;
      const PageMask wanted =
          PageMask::range(static_cast<unsigned>(page % kPagesPerBlock), static_cast<unsigned>(next - page));
      if (bring(work, gpu, b, wanted, served) && !is_served) served.insert(spared, b);
      page = next;
    }
  }
  beyond_.clear();
}

// Migrates the missing pages of a block without faults in this batch. Returns false if none comes.
bool FaultService::bring(Work& work, unsigned gpu, BlockIndex b, const PageMask& wanted,
                         std::span<const BlockIndex> spared) {
  AddressSpace& space = context_.space;
  const VaBlock& block = space.block(b);
  if (block.hints.any() || !block.read_duplicated.empty()) return false;
  const ProcessorId self = gpu_processor(gpu);
  const ProcessorPages& mine = space.pages(b, self);
  PageMask pages = wanted & missing_pages(space, b);
  if (thrashing_.tracks(b)) pages -= thrashing_.pages(b);
  if (pages.empty() || !residency_.chunks().has_room({b, gpu, spared}, pages)) return false;
  work.spend(context_.costs().block_ns);
  context_.counters.prefetched_pages += pages.count();
  const PageMask moved = thrashing_.interested() ? pages & space.resident_anywhere(b) : PageMask{};
  residency_.to_gpu(work, b, gpu,
                    {.demanded = {}, .prefetched = pages, .cause = TransferCause::kPrefetch, .spared = spared});
  if (!moved.empty()) thrashing_.on_migration(b, moved, self, work.cpu);
  map_local(context_, work, b, gpu, pages & mine.resident, pages);
  return true;
}

std::uint32_t FaultService::migrate_remote(Work& work, unsigned gpu, BlockIndex b, const PageMask& pages) {
  std::uint32_t moved = 0;
  beyond_.clear();
  context_.space.for_each_part(b, [&](const BlockPart& part) {
    const PageMask here = pages & part.extent();
    if (here.empty()) return;
    Destinations to = choose(b, part, gpu, here, PageMask{}, work.cpu, TransferCause::kAccessCounter);
    // Pages that are to stay where they are need no work.
    to.host -= context_.space.pages(b, kHost).resident;
    const std::uint32_t coming = (to.local | to.duplicate).count();
    if (coming == 0 && to.host.empty()) return;
    moved += coming;
    work.spend(context_.costs().block_ns);
    carry_out(work, gpu, b, part, to, thrashing_.pages(b), TransferCause::kAccessCounter);
  });
  served_.assign(1, b);
  if (!beyond_.empty()) bring_beyond(work, gpu, served_);
  return moved;
}

void FaultService::Destinations::place(ProcessorId requester, ProcessorId at, const PageMask& pages) {
  if (at == requester) {
    local |= pages;
  } else if (at.is_host()) {
    host |= pages;
  } else if (!pages.empty()) {
    auto entry = std::find_if(peers.begin(), peers.end(), [&](const OnPeer& other) { return other.gpu == at; });
    if (entry == peers.end()) entry = peers.insert(entry, {at, PageMask{}});
    entry->pages |= pages;
  }
}

FaultService::Destinations FaultService::choose(BlockIndex b, const BlockPart& part, unsigned gpu,
                                                const PageMask& reads, const PageMask& writes, Nanoseconds now,
                                                TransferCause cause) {
  const AddressSpace& space = context_.space;
  const VaBlock& block = space.block(b);
  const ProcessorId self = gpu_processor(gpu);
  Destinations to;
  PageMask rest = reads | writes;
  Thrashing::Verdict verdict;
  if (thrashing_.tracks(b)) {
    verdict = thrashing_.ask(b, rest, self, now);
    to.throttled = verdict.throttled;
    rest -= verdict.throttled;
  }
  // 1. Read duplication: reads make copies, writes leave one copy.
  if (part.hints.read_mostly || !block.read_duplicated.empty()) {
    const PageMask duplicable =
        rest & (part.hints.read_mostly ? PageMask::all() : block.read_duplicated - verdict.pinned());
    to.local = context_.whole_pages(b, writes & duplicable) & duplicable;
    to.duplicate = duplicable - to.local;
    rest -= duplicable;
  }
  // 2. The faulting GPU is the preferred location.
  if (part.hints.preferred == self) {
    to.local |= rest;
    return to;
  }
  const auto accessible = [&](ProcessorId owner) {
    return owner.is_host() || (owner.is_gpu() && context_.topology.peer(owner.gpu(), gpu) != nullptr);
  };
  const ProcessorId preferred = part.hints.preferred;
  const bool to_preferred = !preferred.is_none() && accessible(preferred);
  // 4. Thrashing.
  to.host |= verdict.pinned_to_host & rest;
  to.local |= verdict.pinned_here & rest;
  (verdict.pinned_to_peer & rest).for_each([&](unsigned page) {
    to.place(self, thrashing_.pin_location(b, page), PageMask::range(page, 1));
  });
  to.pinned_mappings = std::move(verdict.mappings);
  rest -= verdict.pinned();
  // 5. Pages resident nowhere go to the preferred location if this GPU can map it, else to the faulting GPU.
  const PageMask nowhere = rest - space.resident_anywhere(b);
  to.place(self, to_preferred ? preferred : self, nowhere);
  rest -= nowhere;
  // Pages that are on this GPU already and lack a permission stay, by 6, 8 and 10 alike.
  const PageMask here = rest & space.pages(b, self).resident;
  to.local |= here;
  rest -= here;
  // 6. Accessed-by, not for access counters: pages that this GPU can map stay where they are. GPUs are closer.
  if ((part.hints.accessed_by & self.bit()) != 0 && cause != TransferCause::kAccessCounter) {
    for (unsigned p = space.processor_count(); p-- > 0 && !rest.empty();) {
      const ProcessorId holder{static_cast<std::uint8_t>(p)};
      const PageMask stay = rest & space.pages(b, holder).resident;
      if (stay.empty() || !accessible(holder)) continue;
      to.place(self, holder, stay);
      rest -= stay;
    }
  }
  to.place(self, to_preferred ? preferred : self, rest);  // 8. and 10.
  return to;
}

}  // namespace uvmsim::driver
