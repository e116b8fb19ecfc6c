// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/user_calls.h"

#include "sim/driver/mappings.h"

namespace uvmsim::driver {

// A driver with larger pages moves every one that a range touches, and discards those that lie in it as a whole.
PageMask UserCalls::touched(const BlockSpan& span) const { return context_.whole_pages(span.block, span.mask()); }

PageMask UserCalls::enclosed(const BlockSpan& span) const {
  const PageMask extent = context_.space.block(span.block).extent();
  const PageMask pages = span.mask() & extent;
  return pages - context_.whole_pages(span.block, extent - pages);
}

Nanoseconds UserCalls::prefetch(std::span<const BlockSpan> spans, ProcessorId destination, Nanoseconds start) {
  Work work(start);
  // Two passes when several blocks are concerned: all transfers first, then the same again with mappings
  // (uvm_migrate.c). A block that the rest of the range has pushed out meanwhile moves twice.
  if (spans.size() > 1) {
    for (const BlockSpan& span : spans) {
      work.spend(context_.costs().prefetch_call_block_ns);
      migrate(work, span, destination);
    }
  } else {
    work.spend(context_.costs().prefetch_call_block_ns * spans.size());
  }
  for (const BlockSpan& span : spans) {
    migrate(work, span, destination);
    map(work, span, destination);
  }
  return work.done();
}

void UserCalls::migrate(Work& work, const BlockSpan& span, ProcessorId destination) {
  const VaBlock& block = context_.space.block(span.block);
  const PageMask pages = touched(span);
  const PageMask moved = pages - context_.space.pages(span.block, destination).resident;
  unmap_unpinned(context_, span.block, thrashing_.reset(span.block, moved));
  const Migration migration{pages, {}, TransferCause::kUser, block.hints.read_mostly};
  if (destination.is_gpu()) {
    residency_.to_gpu(work, span.block, destination.gpu(), migration);
  } else {
    residency_.to_host(work, span.block, migration);
  }
}

void UserCalls::map(Work& work, const BlockSpan& span, ProcessorId destination) {
  const VaBlock& block = context_.space.block(span.block);
  const PageMask pages = touched(span);
  const PageMask writable = block.hints.read_mostly ? PageMask{} : pages - block.read_duplicated;
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
    VaBlock& block = context_.space.block(span.block);
    unmap_unpinned(context_, span.block, thrashing_.reset(span.block, block.extent()));
    switch (advice) {
      case trace::Advice::kSetPreferredLocation:
        set_preferred(work, span.block, processor);
        break;
      case trace::Advice::kUnsetPreferredLocation:
        block.hints.preferred = kNoProcessor;
        break;
      case trace::Advice::kSetAccessedBy:
        block.hints.accessed_by |= processor.bit();
        map_after_migration(context_, work, span.block, block.extent());
        break;
      case trace::Advice::kUnsetAccessedBy:
        block.hints.accessed_by &= ~processor.bit();
        break;
      case trace::Advice::kSetReadMostly:
        set_read_mostly(span.block);
        break;
      case trace::Advice::kUnsetReadMostly:
        unset_read_mostly(work, span.block);
        break;
      case trace::Advice::kSetPinned:
      case trace::Advice::kUnsetPinned:
        context_.space.pin(span.block, advice == trace::Advice::kSetPinned);
        break;
    }
  }
  return work.done();
}

void UserCalls::set_preferred(Work& work, BlockIndex b, ProcessorId processor) {
  VaBlock& block = context_.space.block(b);
  block.hints.preferred = processor;
  // A preferred processor holds no remote mappings: it faults and pulls the pages. The one before may now hold some.
  if (processor.is_gpu()) {
    unmap(context_, b, processor.gpu(), block.extent() - context_.space.pages(b, processor).resident);
  }
  map_after_migration(context_, work, b, block.extent());
}

// Copies become read-only; mappings of others go, so that their reads make copies.
void UserCalls::set_read_mostly(BlockIndex b) {
  VaBlock& block = context_.space.block(b);
  block.hints.read_mostly = true;
  unmap_unpinned(context_, b, block.extent());
  context_.space.pages(b, kHost).writable.clear();
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) {
    ProcessorPages& theirs = context_.space.pages(b, gpu_processor(gpu));
    if (theirs.mapped.empty()) continue;
    theirs.writable.clear();
    context_.space.note_unmap(gpu);
    context_.gpus[gpu].mmu.invalidate(b);
  }
}

// One copy stays: the preferred location's if it has one, else the host's. (uvm_va_block_unset_read_duplication)
void UserCalls::unset_read_mostly(Work& work, BlockIndex b) {
  VaBlock& block = context_.space.block(b);
  block.hints.read_mostly = false;
  const ProcessorId preferred = block.hints.preferred;
  if (preferred.is_gpu()) {
    const PageMask kept = block.read_duplicated & context_.space.pages(b, preferred).resident;
    if (!kept.empty()) residency_.to_gpu(work, b, preferred.gpu(), {kept, {}, TransferCause::kFault, false});
  }
  const PageMask rest = block.read_duplicated;
  if (!rest.empty()) residency_.to_host(work, b, {rest, {}, TransferCause::kFault, false});
}

void UserCalls::discard(std::span<const BlockSpan> spans) {
  for (const BlockSpan& span : spans) residency_.departures().discard(span.block, enclosed(span), /*drop=*/true);
}

}  // namespace uvmsim::driver
