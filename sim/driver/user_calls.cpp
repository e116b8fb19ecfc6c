#include "sim/driver/user_calls.h"

namespace uvmsim::driver {

Nanoseconds UserCalls::prefetch(std::span<const BlockSpan> spans, ProcessorId destination, Nanoseconds start) {
  Work work(start);
  // Two passes when several blocks are concerned: all transfers first, then the mappings (uvm_migrate.c).
  for (const BlockSpan& span : spans) {
    work.spend(context_.costs().prefetch_call_block_ns);
    const PageMask pages = span.mask() & context_.space.block(span.block).extent();
    const bool duplicate = context_.space.block(span.block).hints.read_mostly;
    thrashing_.reset(span.block);
    const Migration migration{pages, {}, TransferCause::kUser, duplicate};
    if (destination.is_gpu()) {
      residency_.to_gpu(work, span.block, destination.gpu(), migration);
    } else {
      residency_.to_host(work, span.block, migration);
    }
  }
  for (const BlockSpan& span : spans) {
    const PageMask pages = span.mask() & context_.space.block(span.block).extent();
    const VaBlock& block = context_.space.block(span.block);
    if (destination.is_gpu()) {
      // A small GPU may have evicted the range's head again by now.
      const PageMask here = pages & context_.space.pages(span.block, destination).resident;
      residency_.map_local(work, span.block, destination.gpu(), here, here - block.read_duplicated);
      residency_.note_chunk_used(span.block, destination.gpu());
    }
  }
  return work.done();
}

void UserCalls::advise(std::span<const BlockSpan> spans, trace::Advice advice, ProcessorId processor) {
  for (const BlockSpan& span : spans) {
    Hints& hints = context_.space.block(span.block).hints;
    thrashing_.reset(span.block);
    const PageMask extent = context_.space.block(span.block).extent();
    switch (advice) {
      case trace::Advice::kSetPreferredLocation:
        hints.preferred = processor;
        // A preferred processor holds no remote mappings: it faults and pulls the pages.
        if (processor.is_gpu()) {
          const ProcessorPages& mine = context_.space.pages(span.block, processor);
          residency_.unmap_gpu(span.block, processor.gpu(), extent - mine.resident);
        }
        break;
      case trace::Advice::kUnsetPreferredLocation:
        hints.preferred = kNoProcessor;
        break;
      case trace::Advice::kSetAccessedBy:
        hints.accessed_by |= processor.bit();
        if (processor.is_gpu()) {
          Work work{Nanoseconds{}};
          const PageMask on_host = context_.space.pages(span.block, kHost).resident & extent;
          residency_.map_remote(work, span.block, processor.gpu(),
                                on_host - context_.space.pages(span.block, processor).resident, on_host);
        }
        break;
      case trace::Advice::kUnsetAccessedBy:
        hints.accessed_by &= ~processor.bit();
        break;
      case trace::Advice::kSetReadMostly:
        hints.read_mostly = true;
        context_.space.note_unmap();
        for (unsigned p = 0; p < context_.space.processor_count(); ++p) {
          context_.space.pages(span.block, ProcessorId{static_cast<std::uint8_t>(p)}).writable.clear();
        }
        break;
      case trace::Advice::kUnsetReadMostly:
        hints.read_mostly = false;
        break;
    }
  }
}

void UserCalls::discard(std::span<const BlockSpan> spans) {
  for (const BlockSpan& span : spans) {
    residency_.discard(span.block, span.mask() & context_.space.block(span.block).extent());
  }
}

}  // namespace uvmsim::driver
