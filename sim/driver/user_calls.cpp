// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/user_calls.h"

#include "sim/driver/mappings.h"

namespace uvmsim::driver {

// Drivers with larger pages migrate each page that a range touches, and discard only pages that lie wholly in it.
PageMask UserCalls::touched(const BlockSpan& span) const { return context_.whole_pages(span.block, span.mask()); }

PageMask UserCalls::enclosed(const BlockSpan& span) const {
  const PageMask extent = context_.space.block(span.block).extent();
  const PageMask pages = span.mask() & extent;
  return pages - context_.whole_pages(span.block, extent - pages);
}

UserCalls::UserCalls(DriverContext& context, Residency& residency, Thrashing& thrashing)
    : context_(context), residency_(residency), thrashing_(thrashing), call_costs_(context.system.costs) {
  for (std::uint64_t config::DriverCosts::*cost :
       {&config::DriverCosts::new_chunk_ns, &config::DriverCosts::unmap_host_run_ns,
        &config::DriverCosts::unmap_host_page_ns, &config::DriverCosts::unmap_peer_ns,
        &config::DriverCosts::after_push_ns, &config::DriverCosts::map_block_ns, &config::DriverCosts::map_page_ns,
        &config::DriverCosts::populate_page_ns, &config::DriverCosts::protect_block_ns,
        &config::DriverCosts::dma_map_chunk_ns}) {
    call_costs_.*cost = 0;
  }
}

UserCalls::Times UserCalls::prefetch(std::span<const BlockSpan> spans, ProcessorId destination, Nanoseconds start) {
  Work work(start);
  work.spend(context_.costs().prefetch_call_ns);
  context_.call_costs = &call_costs_;
  bool moves = false;
  const auto first_pass = [&](const BlockSpan& span) {
    if (charge(work, span, destination) && !moves) {
      moves = true;
      work.spend(context_.costs().prefetch_move_ns);
    }
    migrate(work, span, destination);
    if (destination.is_host()) work.cpu = work.done();
  };
  // Two passes run if the range has several blocks: all transfers first, then the same again with mappings
  // (uvm_migrate.c). A block that the rest of the range evicted meanwhile moves twice.
  for (const BlockSpan& span : spans) first_pass(span);
  for (const BlockSpan& span : spans) {
    if (spans.size() > 1) migrate(work, span, destination);
    map(work, span, destination);
  }
  context_.call_costs = nullptr;
  return {work.cpu, work.done()};
}

// Charges the thread's time for a block. Returns false if all pages are at the destination already.
bool UserCalls::charge(Work& work, const BlockSpan& span, ProcessorId destination) const {
  const config::DriverCosts& costs = context_.costs();
  const PageMask coming = touched(span) - context_.space.pages(span.block, destination).resident;
  const unsigned copied = (coming & context_.space.resident_anywhere(span.block)).count();
  work.spend(costs.prefetch_block_ns);
  if (coming.empty()) return false;
  if (destination.is_host()) {
    work.spend(costs.prefetch_host_block_ns + costs.prefetch_host_page_ns * coming.count());
  } else {
    if (copied != 0) work.spend(costs.prefetch_copy_block_ns + costs.prefetch_copy_page_ns * copied);
    if (copied < coming.count()) work.spend(costs.prefetch_populate_block_ns);
  }
  return true;
}

void UserCalls::migrate(Work& work, const BlockSpan& span, ProcessorId destination) {
  const PageMask pages = touched(span);
  const PageMask moved = pages - context_.space.pages(span.block, destination).resident;
  unmap_unpinned(context_, span.block, thrashing_.reset(span.block, moved));
  const PageMask copied = pages & context_.read_mostly(span.block);
  if (!copied.empty()) end_writing(context_, thrashing_, work, span.block, copied);
  for (const bool duplicate : {true, false}) {
    const Migration migration{duplicate ? copied : pages - copied, {}, TransferCause::kUser, duplicate};
    if (!migration.demanded.empty()) residency_.move(work, span.block, destination, migration);
  }
}

void UserCalls::map(Work& work, const BlockSpan& span, ProcessorId destination) {
  const VaBlock& block = context_.space.block(span.block);
  const PageMask pages = touched(span);
  const PageMask writable = pages - context_.read_mostly(span.block) - block.read_duplicated;
  if (destination.is_gpu()) {
    map_local(context_, work, span.block, destination.gpu(), pages, writable);
  } else {
    ProcessorPages& host = context_.space.pages(span.block, kHost);
    host.mapped |= pages;
    host.writable |= writable;
  }
}

Nanoseconds UserCalls::advise(std::span<const BlockSpan> spans, trace::Advice advice, ProcessorId processor,
                              Nanoseconds start) {
  Work work(start);
  for (const BlockSpan& span : spans) {
    const BlockIndex b = span.block;
    const PageMask pages = touched(span);
    unmap_unpinned(context_, b, thrashing_.reset(b, pages));
    context_.space.change_hints(b, span.first, span.first + span.count,
                                [&](Hints& hints) { change(hints, advice, processor); });
    switch (advice) {
      case trace::Advice::kSetPreferredLocation:
        spend_on_host_block(work, b, pages);
        set_preferred(work, b, pages, processor);
        break;
      case trace::Advice::kUnsetPreferredLocation:
        spend_on_host_block(work, b, pages);
        break;
      case trace::Advice::kSetAccessedBy:
        if (context_.space.resident_anywhere(b).intersects(pages)) work.spend(context_.costs().advise_map_block_ns);
        map_after_migration(context_, work, b, pages);
        break;
      case trace::Advice::kUnsetAccessedBy:
        break;
      case trace::Advice::kSetReadMostly:
        set_read_mostly(work, b, pages);
        break;
      case trace::Advice::kUnsetReadMostly:
        unset_read_mostly(work, b, pages);
        break;
      case trace::Advice::kSetPinned:
      case trace::Advice::kUnsetPinned:
        context_.space.pin(b, advice == trace::Advice::kSetPinned);
        break;
    }
  }
  return work.done();
}

void UserCalls::change(Hints& hints, trace::Advice advice, ProcessorId processor) {
  switch (advice) {
    case trace::Advice::kSetPreferredLocation:
      hints.preferred = processor;
      break;
    case trace::Advice::kUnsetPreferredLocation:
      hints.preferred = kNoProcessor;
      break;
    case trace::Advice::kSetAccessedBy:
      hints.accessed_by |= processor.bit();
      break;
    case trace::Advice::kUnsetAccessedBy:
      hints.accessed_by &= ~processor.bit();
      break;
    case trace::Advice::kSetReadMostly:
      hints.read_mostly = true;
      break;
    case trace::Advice::kUnsetReadMostly:
      hints.read_mostly = false;
      break;
    case trace::Advice::kSetPinned:
    case trace::Advice::kUnsetPinned:
      break;
  }
}

// Charges for remaking the CPU's mappings of a block.
void UserCalls::spend_on_host_block(Work& work, BlockIndex b, const PageMask& pages) const {
  if (context_.space.pages(b, kHost).mapped.intersects(pages)) work.spend(context_.costs().advise_host_block_ns);
}

void UserCalls::set_preferred(Work& work, BlockIndex b, const PageMask& pages, ProcessorId processor) {
  // A preferred processor has no remote mappings: it faults and migrates the pages to itself. The previous preferred
  // processor may have some from now on.
  if (processor.is_gpu()) unmap(context_, b, processor.gpu(), pages - context_.space.pages(b, processor).resident);
  map_after_migration(context_, work, b, pages);
}

// Makes all copies read-only. Other remote mappings are removed, so that later reads make copies.
void UserCalls::set_read_mostly(Work& work, BlockIndex b, const PageMask& pages) {
  unmap_unpinned(context_, b, pages);
  const PageMask protect = context_.space.pages(b, kHost).writable & pages;
  if (!protect.empty()) {
    work.spend(context_.costs().advise_protect_page_ns * protect.count());
    thrashing_.on_revocation(b, protect, kHost, work.cpu);
  }
  context_.space.pages(b, kHost).writable -= pages;
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) {
    ProcessorPages& theirs = context_.space.pages(b, gpu_processor(gpu));
    if (!theirs.mapped.intersects(pages)) continue;
    if (const PageMask ended = theirs.writable & theirs.resident & pages; !ended.empty()) {
      thrashing_.on_revocation(b, ended, gpu_processor(gpu), work.cpu);
    }
    theirs.writable -= pages;
    context_.space.note_unmap(gpu);
    context_.gpus[gpu].mmu.invalidate_pages(b, pages);
  }
}

// Keeps one copy: on the preferred location if it has one, else on the host. (uvm_va_block_unset_read_duplication)
void UserCalls::unset_read_mostly(Work& work, BlockIndex b, const PageMask& pages) {
  const PageMask& duplicated = context_.space.block(b).read_duplicated;
  context_.space.for_each_part(b, [&](const BlockPart& part) {
    if (!part.hints.preferred.is_gpu()) return;
    const ProcessorId preferred = part.hints.preferred;
    const PageMask kept = duplicated & pages & part.extent() & context_.space.pages(b, preferred).resident;
    if (!kept.empty()) residency_.to_gpu(work, b, preferred.gpu(), {kept, {}, TransferCause::kFault, false});
  });
  const PageMask rest = duplicated & pages;
  if (!rest.empty()) residency_.to_host(work, b, {rest, {}, TransferCause::kFault, false});
}

void UserCalls::discard(std::span<const BlockSpan> spans) {
  for (const BlockSpan& span : spans) residency_.departures().discard(span.block, enclosed(span), /*drop=*/true);
}

}  // namespace uvmsim::driver
