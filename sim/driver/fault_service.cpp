// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/fault_service.h"

#include <algorithm>

#include "sim/driver/chunk_prefetch.h"
#include "sim/driver/mappings.h"
#include "sim/driver/system_memory.h"

namespace uvmsim::driver {

namespace {

PageMask missing_pages(const AddressSpace& space, BlockIndex b) {
  if (b.value >= space.block_count() || !space.block(b).live) return {};
  PageMask pages = space.block(b).extent();
  // Pages on another GPU stay there: two GPUs that prefetch pages from each other might never make progress.
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

policy::FaultedBlock describe_fault(const DriverContext& context, BlockIndex b, const PageMask& resident,
                                    const PageMask& faulted, const PageMask& thrashing, Nanoseconds now) {
  const VaBlock& block = context.space.block(b);
  return {.block = b,
          .allocation = {PageIndex(block.range_first.value * kPagesPerBlock),
                         PageIndex((block.range_first.value + block.range_blocks) * kPagesPerBlock)},
          .first_page = block.first_page,
          .end_page = block.end_page,
          .resident = resident,
          .faulted = faulted,
          .thrashing = thrashing,
          .process = context.process,
          .now = now};
}

policy::RestingPages ask_migrator(DriverContext& context, Work& work, unsigned gpu, BlockIndex b, const PageMask& reads,
                                  const PageMask& writes) {
  const policy::RestingPages rest = context.gpus[gpu].migrator->rest({.block = b,
                                                                      .range = context.space.block(b).range_first,
                                                                      .reads = reads,
                                                                      .writes = writes,
                                                                      .on_host = context.space.pages(b, kHost).resident,
                                                                      .memory = memory_use(context.gpus[gpu]),
                                                                      .now = work.cpu,
                                                                      .process = context.process});
  work.cpu += context.migrate_decision_cost;
  return rest;
}

Prefetched prefetch_pages(DriverContext& context, Work& work, BlockIndex b, const BlockPart& part,
                          ProcessorId destination, const PageMask& faulted, const PageMask& thrashing,
                          const PageMask& unmapped, const LookBeyond* beyond) {
  AddressSpace& space = context.space;
  PageMask pages = context.whole_pages(b, faulted);
  // Drivers from 590 on do not use the tree to prefetch away from a preferred location.
  const bool away = !part.hints.preferred.is_none() && part.hints.preferred != destination;
  const bool asked = !(away && context.system.driver.version_major >= 590);
  if (!asked && pages == faulted) return {};

  const ProcessorPages& there = space.pages(b, destination);
  const PageMask extent = part.extent();
  const PageMask resident = there.resident & extent;
  policy::FaultedBlock faulted_block = describe_fault(context, b, resident, faulted, thrashing, work.cpu);
  faulted_block.destination_is_preferred = part.hints.preferred == destination;
  faulted_block.resident_nowhere = !space.resident_anywhere(b).intersects(extent);
  faulted_block.to_host = destination.is_host();
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
  BatchSummary summary;
  std::uint64_t fetched = 0;
  sorted_.clear();
  for (const gmmu::FaultEntry& entry : entries) {
    sorted_.emplace_back(entry.fault.page.value, entry.fault.access, entry.instances);
    fetched += entry.instances;
  }
  std::sort(sorted_.begin(), sorted_.end(), [](const SortedFault& a, const SortedFault& b) { return a.key < b.key; });
  const std::uint64_t lowest = sorted_.empty() ? 0 : sorted_.front().page();
  const std::uint64_t highest = sorted_.empty() ? 0 : sorted_.back().page();
  summary.lowest_address = lowest * kBasePageBytes;
  summary.lowest_is_write = !sorted_.empty() && sorted_.front().write();
  policy::Batcher* const batcher = context_.gpus[gpu].batcher.get();
  if (batcher != nullptr || !context_.listeners.empty()) tell_batch(entries, start, batcher);

  if (thrashing_.pins_expired(start)) expire_pins(context_, thrashing_, start);
  served_.clear();
  beyond_.clear();
  Work work(start);
  const config::ListenerCosts& listener = context_.system.listener;
  work.spend(context_.costs().batch_ns + context_.costs().raw_fault_ns * fetched +
             listener.of(listener.batch_ns + listener.raw_fault_ns * fetched));
  if (context_.ahead != nullptr) context_.ahead->stop(gpu);
  if (context_.system_memory != nullptr) context_.system_memory->begin_batch();
  // A helper thread may fetch blocks from the other end of the batch, until the two meet.
  Work helper(work.cpu);
  std::size_t tail = context_.harvest != nullptr && context_.harvest->choice().parallel_fetch ? sorted_.size() : 0;
  for (std::size_t i = 0; i < sorted_.size();) {
    const BlockIndex b(sorted_[i].page() / kPagesPerBlock);
    while (helper.cpu <= work.cpu && tail > i) {
      const BlockIndex far(sorted_[tail - 1].page() / kPagesPerBlock);
      if (far == b) break;
      while (tail > i && sorted_[tail - 1].page() / kPagesPerBlock == far.value) --tail;
      summary.moved.copied |= context_.harvest_moves->fetch_far_block(helper, gpu, far);
    }
    PageMask reads, writes;
    i = gather_block(i, reads, writes, summary);
    // The cost is per page, as duplicates are skipped at once (uvm_gpu_replayable_faults.c).
    work.spend(context_.costs().fault_entry_ns * (reads | writes).count());
    // The driver treats parts of a block that have hints of their own as separate blocks.
    context_.space.for_each_part(b, [&](const BlockPart& part) {
      const bool split = context_.space.block(b).split != 0;
      const PageMask mine = split ? part.extent() : PageMask::all();
      if (!split || mine.intersects(reads | writes)) {
        service_part(work, gpu, b, part, reads & mine, writes & mine, summary);
      }
    });
    ++summary.blocks;
    served_.push_back(b);
  }
  if (batcher != nullptr) std::sort(served_.begin(), served_.end());
  if (!beyond_.empty()) bring_beyond(work, gpu, served_, summary.moved);
  if (context_.ahead != nullptr && !sorted_.empty()) {
    context_.ahead->plan(gpu, PageIndex(lowest), PageIndex(highest), helper.cpu);
  }

  // Page tables, translations and the replay wait for the last copy (uvm_gpu_replayable_faults.c: the batch's tracker).
  if (summary.moved.copied) {
    work.cpu = work.done();
    work.spend(context_.costs().after_copies_ns);
  }
  summary.end = work.done();
  context_.counters.blocks_serviced += summary.blocks;
  context_.counters.faulting_pages += summary.faulting_pages;
  context_.counters.duplicate_faults += summary.duplicates;
  return summary;
}

// Collects the pages of the block of the fault `first`, and counts duplicates. Returns the first fault of another
// block.
std::size_t FaultService::gather_block(std::size_t first, PageMask& reads, PageMask& writes,
                                       BatchSummary& summary) const {
  const std::uint64_t block = sorted_[first].page() / kPagesPerBlock;
  std::uint64_t previous = ~std::uint64_t{0};
  for (; first < sorted_.size() && sorted_[first].page() / kPagesPerBlock == block; ++first) {
    const SortedFault& fault = sorted_[first];
    summary.duplicates += fault.page() == previous ? fault.instances : fault.instances - 1;
    if (fault.page() == previous) continue;  // the most intrusive access of the page came first
    previous = fault.page();
    (fault.write() ? writes : reads).set(static_cast<unsigned>(fault.page() % kPagesPerBlock));
  }
  return first;
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

void FaultService::service_part(Work& work, unsigned gpu, BlockIndex b, const BlockPart& part, const PageMask& reads,
                                const PageMask& writes, BatchSummary& summary) {
  const ProcessorPages& mine = context_.space.pages(b, gpu_processor(gpu));
  const PageMask wanted_reads = reads - mine.mapped;
  const PageMask wanted_writes = writes - (mine.mapped & mine.writable);
  const PageMask wanted = wanted_reads | wanted_writes;
  // Stale faults, and faults on memory that was freed meanwhile, need no service.
  const bool stale = wanted.empty() || !context_.space.block(b).live;
  context_.counters.stale_faults += (reads.count() + writes.count()) - (stale ? 0 : wanted.count());
  work.spend(stale ? context_.costs().stale_block_ns : context_.costs().block_ns);
  if (stale) return;
  if (context_.system_memory != nullptr && context_.system_memory->serves(b)) {
    if (context_.accounts != nullptr) tell_faulted(work, gpu, b, wanted_reads, wanted_writes);
    summary.moved += context_.system_memory->populate(work, gpu, b, wanted_reads, wanted_writes);
    summary.faulting_pages += wanted.count();
  } else {
    serve(work, gpu, b, part, wanted_reads, wanted_writes, summary);
  }
}

// Services faults on managed memory: chooses where the pages go, moves and maps them.
void FaultService::serve(Work& work, unsigned gpu, BlockIndex b, const BlockPart& part, const PageMask& reads,
                         const PageMask& writes, BatchSummary& summary) {
  VaBlock& block = context_.space.block(b);
  const PageMask wanted = reads | writes;
  if (context_.ahead != nullptr) context_.ahead->await(work, gpu, b);
  for (const KnownFuture& known : context_.futures) {
    const std::uint64_t first = virtual_address(b, wanted.next_set(0));
    known.future->arrive(policy::ContentIndex(first / known.content_bytes));
  }
  context_.access_bits.mark(b, wanted);
  context_.prefetch_history.used(b, wanted);

  Destinations to;
  // Pages in lent memory move whether or not the host has a copy.
  const bool single = block.read_duplicated.empty() || is_lent(context_, b);
  if (single && !part.hints.any() && !thrashing_.tracks(b)) {
    to.local = wanted;
    if (context_.gpus[gpu].migrator != nullptr) let_rest(work, gpu, b, reads, writes, to);
  } else {
    to = choose(b, part, gpu, reads, writes, work.cpu, TransferCause::kFault);
  }
  to.written = context_.whole_pages(b, writes);
  if (context_.accounts != nullptr) tell_faulted(work, gpu, b, reads - to.throttled, writes - to.throttled);
  summary.moved += carry_out(work, gpu, b, part, to);
  // Written pages hold data again. (Pages that moved were cleared on the way.)
  if (!block.discarded.empty()) block.discarded -= to.local & writes;
  if (PlanHooks* plan = context_.gpus[gpu].plan; plan != nullptr) plan->on_faulted(b, wanted - to.throttled);
  summary.throttled |= !to.throttled.empty();
  summary.faulting_pages += (wanted - to.throttled).count();
}

// Asks the migrate policy which faulted pages stay on the host, and checks its answer.
void FaultService::let_rest(Work& work, unsigned gpu, BlockIndex b, const PageMask& reads, const PageMask& writes,
                            Destinations& to) {
  AddressSpace& space = context_.space;
  const VaBlock& block = space.block(b);
  const PageMask& mine = space.pages(b, gpu_processor(gpu)).resident;
  const PageMask elsewhere = space.resident_anywhere(b) - space.pages(b, kHost).resident;  // on this GPU or another one
  const PageMask asked = to.local - elsewhere;
  if (asked.empty()) return;
  const PageMask asked_writes = writes & asked;
  policy::RestingPages rest = ask_migrator(context_, work, gpu, b, reads & asked, asked_writes);
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

Moved FaultService::carry_out(Work& work, unsigned gpu, BlockIndex b, const BlockPart& part, const Destinations& to) {
  Moved moved;
  if (!(to.local | to.duplicate).empty()) moved += come(work, gpu, b, part, to);
  if (!to.host.empty()) moved += go(work, gpu, b, part, to, kHost, to.host);
  for (const auto& [peer, pages] : to.peers) moved += go(work, gpu, b, part, to, peer, pages);
  if (const PageMask& resting = to.resting.pages; !resting.empty()) {
    const PageMask& on_host = context_.space.pages(b, kHost).resident;
    const PageMask fresh = (resting - on_host) | (resting & context_.host_memory.swapped(b, on_host));
    if (!fresh.empty()) moved += residency_.to_host(work, b, {fresh, {}, to.cause});
    map_remote(context_, work, b, gpu, resting, to.resting.writable);
  }
  map_pinned(context_, work, b, to.pinned_mappings);
  return moved;
}

Moved FaultService::come(Work& work, unsigned gpu, BlockIndex b, const BlockPart& part, const Destinations& to) {
  const VaBlock& block = context_.space.block(b);
  const ProcessorId self = gpu_processor(gpu);
  const ProcessorPages& mine = context_.space.pages(b, self);
  const bool read_mostly = part.hints.read_mostly;
  const PageMask faulted = to.local | to.duplicate;
  Prefetched along;
  if (to.one_place()) {
    const GpuQueries queries(context_, gpu);
    const LookBeyond beyond{queries, beyond_};
    along = prefetch_pages(context_, work, b, part, self, faulted, to.thrashing | to.resting.pages,
                           to.written - mine.writable, &beyond);
  }
  const PageMask prefetched_to_write = along.coming & to.written;
  const PageMask bounced = thrashing_.interested()
                               ? ((to.local | along.coming) - mine.resident) & context_.space.resident_anywhere(b)
                               : PageMask{};
  Moved moved;
  if (!to.duplicate.empty() || read_mostly) {
    // With read-mostly, pages that the tree names in addition to the faulted ones count as reads, even if they are on
    // this GPU already: pages that the GPU wrote before become read-only. (uvm_va_block_get_prefetch_hint; 535 to 595)
    const PageMask named = read_mostly ? (along.coming - prefetched_to_write) | along.there : PageMask{};
    end_writing(context_, thrashing_, work, b, to.duplicate | named);
    thrashing_.reset(b, (to.duplicate | along.coming) - mine.resident);
    moved += residency_.to_gpu(work, b, gpu, {to.duplicate, along.coming - prefetched_to_write, to.cause, true});
    if (!to.local.empty()) moved += residency_.to_gpu(work, b, gpu, {to.local, prefetched_to_write, to.cause});
  } else {
    moved += residency_.to_gpu(work, b, gpu, {to.local, along.coming, to.cause});
  }
  if (read_mostly) {
    thrashing_.reset(b, bounced);
  } else if (!bounced.empty()) {
    thrashing_.on_migration(b, bounced, self, work.cpu);
  }
  // A read fault maps for writing too if no other processor loses access; not under read duplication.
  const PageMask writable = to.local | (read_mostly ? prefetched_to_write : along.coming);
  // In a short block, migrating the written pages may evict the duplicated ones again.
  map_local(context_, work, b, gpu, (faulted | along.coming) & mine.resident, writable - block.read_duplicated);
  return moved;
}

Moved FaultService::go(Work& work, unsigned gpu, BlockIndex b, const BlockPart& part, const Destinations& to,
                       ProcessorId destination, const PageMask& pages) {
  const PageMask& there = context_.space.pages(b, destination).resident;
  PageMask all = pages;
  if (to.one_place()) {
    const PageMask unmapped = destination.is_host() ? context_.whole_pages(b, pages) : part.extent();
    all |= prefetch_pages(context_, work, b, part, destination, pages, to.thrashing, unmapped).coming;
  }
  const PageMask bounced = (all - there) & context_.space.resident_anywhere(b);
  // A move to the host ends the duplication of pages that it holds already, and reads pages back from the SSD.
  const PageMask moving = destination.is_host() ? all : all - there;
  Moved moved;
  if (!moving.empty()) moved += residency_.move(work, b, destination, {pages & moving, moving - pages, to.cause});
  if (!bounced.empty()) thrashing_.on_migration(b, bounced, destination, work.cpu);
  const PageMask mapped = all & there;
  map_remote(context_, work, b, gpu, mapped, mapped - context_.space.block(b).read_duplicated);
  return moved;
}

void FaultService::bring_beyond(Work& work, unsigned gpu, std::vector<BlockIndex>& served, Moved& moved) {
  for (const policy::PageSpan& span : beyond_) {
    const std::uint64_t end = std::min(span.end.value, context_.space.block_count() * kPagesPerBlock);
    for (std::uint64_t page = span.first.value; page < end;) {
      const BlockIndex b(page / kPagesPerBlock);
      const std::uint64_t next = std::min(end, (b.value + 1) * kPagesPerBlock);
      const auto spared = std::lower_bound(served.begin(), served.end(), b);
      const bool is_served = spared != served.end() && *spared == b;
      const PageMask wanted =
          PageMask::range(static_cast<unsigned>(page % kPagesPerBlock), static_cast<unsigned>(next - page));
      if (bring(work, gpu, b, wanted, served, moved) && !is_served) served.insert(spared, b);
      page = next;
    }
  }
  beyond_.clear();
}

// Migrates the missing pages of a block without faults in this batch. Returns false if no page is to migrate.
bool FaultService::bring(Work& work, unsigned gpu, BlockIndex b, const PageMask& wanted,
                         std::span<const BlockIndex> spared, Moved& moved) {
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
  const PageMask bounced = thrashing_.interested() ? pages & space.resident_anywhere(b) : PageMask{};
  moved += residency_.to_gpu(
      work, b, gpu, {.demanded = {}, .prefetched = pages, .cause = TransferCause::kPrefetch, .spared = spared});
  if (!bounced.empty()) thrashing_.on_migration(b, bounced, self, work.cpu);
  map_local(context_, work, b, gpu, pages & mine.resident, pages);
  return true;
}

std::uint32_t FaultService::migrate_remote(Work& work, unsigned gpu, BlockIndex b, const PageMask& pages) {
  std::uint32_t moved = 0;
  Moved done;
  beyond_.clear();
  context_.space.for_each_part(b, [&](const BlockPart& part) {
    const PageMask here = pages & part.extent();
    if (here.empty()) return;
    Destinations to = choose(b, part, gpu, here, PageMask{}, work.cpu, TransferCause::kAccessCounter);
    // Pages that stay where they are need no work.
    to.host -= context_.space.pages(b, kHost).resident;
    const std::uint32_t coming = (to.local | to.duplicate).count();
    if (coming == 0 && to.host.empty()) return;
    moved += coming;
    work.spend(context_.costs().block_ns);
    done += carry_out(work, gpu, b, part, to);
  });
  served_.assign(1, b);
  if (!beyond_.empty()) bring_beyond(work, gpu, served_, done);
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
  to.cause = cause;
  PageMask rest = reads | writes;
  Thrashing::Verdict verdict;
  if (thrashing_.tracks(b)) {
    verdict = thrashing_.ask(b, rest, self, now);
    to.thrashing = thrashing_.pages(b);
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
  // Pages that are on this GPU already and lack a permission stay; rules 6, 8 and 10 agree on this.
  const PageMask here = rest & space.pages(b, self).resident;
  to.local |= here;
  rest -= here;
  // 6. Accessed-by, except for access counters: pages that this GPU can map stay where they are. GPUs are closer than
  //    the host.
  if ((part.hints.accessed_by & self.bit()) != 0 && cause != TransferCause::kAccessCounter) {
    for (unsigned p = space.processor_count(); p-- > 0 && !rest.empty();) {
      const ProcessorId holder{static_cast<std::uint8_t>(p)};
      const PageMask stay = rest & space.pages(b, holder).resident;
      if (stay.empty() || !accessible(holder)) continue;
      to.place(self, holder, stay);
      rest -= stay;
    }
  }
  to.place(self, to_preferred ? preferred : self, rest);  // rules 8 and 10
  return to;
}

}  // namespace uvmsim::driver
