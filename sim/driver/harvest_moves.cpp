// SPDX-License-Identifier: Apache-2.0
// How pages get into spare memory of a peer, on to the host, and back out: Residency's part of Harvest.
#include <algorithm>

#include "sim/driver/harvest.h"
#include "sim/driver/residency.h"

namespace uvmsim::driver {

// The last copy of `runs_` brought the pages into the chunk of a peer.
Nanoseconds Residency::arrive_in_spare(BlockIndex b, unsigned spare, const PageMask& pages) {
  GpuMemory& memory = context_.gpus[spare].memory;
  const Nanoseconds arrived = runs_.back().end;
  memory.chunk(memory.whole(b)).ready = arrived;
  context_.space.pages(b, gpu_processor(spare)).resident |= pages;
  context_.gpus[spare].add_resident(context_.space.block(b), pages.count());
  return arrived;
}

// A victim that a peer may take.
bool Residency::may_leave_to_spare(BlockIndex b) const {
  const VaBlock& block = context_.space.block(b);
  return context_.harvest != nullptr && context_.harvest->choice().victims && !block.hints.any() &&
         block.read_duplicated.empty();
}

// A whole block goes to a peer, `copied` of the pages there that are gone. What is left of it in spare memory already,
// the rest joins.
void Residency::evict_to_spare(Work& work, unsigned gpu, BlockIndex b, unsigned spare, const PageMask& gone,
                               const PageMask& copied) {
  Harvest& harvest = *context_.harvest;
  const GpuMemory& memory = context_.gpus[spare].memory;
  const ChunkId chunk = harvest.holds(b) ? memory.whole(b) : harvest.take(work, spare, b, gpu);
  const Nanoseconds unmapped = unmap_victim(work, b, gpu, gone);
  copy(work, b, {gpu_processor(gpu), gpu_processor(spare)}, std::max(unmapped, memory.chunk(chunk).ready), copied,
       PageMask{}, TransferCause::kEvict);
  const Nanoseconds arrived = arrive_in_spare(b, spare, copied);
  leave_evicted(work, b, gpu, gone);
  ++context_.counters.evictions_to_peers;
  harvest.arrives(b, arrived);
}

Nanoseconds Residency::write_back(BlockIndex b, unsigned spare, Nanoseconds start) {
  VaBlock& block = context_.space.block(b);
  ProcessorPages& host = context_.space.pages(b, kHost);
  const PageMask written = context_.space.pages(b, gpu_processor(spare)).resident - host.resident - block.discarded;
  Work writer(start);
  // Pages that bounced may be mapped there all the same: a write to them then faults.
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) unmap_gpu(b, gpu, written);
  back_on_host(writer, b, written);
  if (written.empty()) return writer.done();
  const Nanoseconds ready = std::max(writer.cpu, host_tier_.admit(writer.cpu, b, written));
  copy(writer, b, {gpu_processor(spare), kHost}, ready, written, PageMask{}, TransferCause::kEvict);
  host.resident |= written;
  context_.host_resident_pages += written.count();
  block.read_duplicated |= written;
  ++context_.counters.peer_write_backs;
  GpuMemory& memory = context_.gpus[spare].memory;
  memory.chunk(memory.whole(b)).ready = runs_.back().end;
  return writer.done();
}

void Residency::drop_spare_copy(Work& work, BlockIndex b, unsigned spare) {
  ProcessorPages& theirs = context_.space.pages(b, gpu_processor(spare));
  const PageMask here = theirs.resident;
  work.spend(context_.costs().evict_chunk_ns);
  drop_copies(work, b, spare, here);
  // The host has them, and so have the processors that they were duplicated for.
  PageMask elsewhere;
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) {
    elsewhere |= context_.space.pages(b, gpu_processor(gpu)).resident;
  }
  context_.space.block(b).read_duplicated -= here - elsewhere;
}

policy::Route Residency::way_ahead(Work& helper, BlockIndex b, unsigned gpu, TransferCause cause, std::uint32_t full) {
  const PageMask pages = context_.space.pages(b, kHost).resident - context_.space.block(b).discarded;
  return routing_.ask(helper, gpu,
                      {.block = b,
                       .from = kHost,
                       .to = gpu_processor(gpu),
                       .bytes = pages.count() * kBasePageBytes,
                       .cause = move_cause(cause),
                       .may_stay = may_go_to_spare(b),
                       .may_wait = cause == TransferCause::kPrefetch},
                      full);
}

bool Residency::fetch_nearer(Work& helper, BlockIndex b, unsigned gpu) {
  if (!may_go_to_spare(b)) return false;
  const policy::Route way = way_ahead(helper, b, gpu, TransferCause::kFault);
  if (way.way != policy::Route::Way::kSpare) return false;
  fetch_to_spare(helper, b, gpu, way.gpu, TransferCause::kFault);
  return true;
}

void Residency::fetch_to_spare(Work& helper, BlockIndex b, unsigned gpu, unsigned spare, TransferCause cause) {
  Harvest& harvest = *context_.harvest;
  VaBlock& block = context_.space.block(b);
  const PageMask pages = context_.space.pages(b, kHost).resident - block.discarded;
  const ChunkId chunk = harvest.take(helper, spare, b, gpu);
  const Nanoseconds ready =
      std::max({helper.cpu, context_.gpus[spare].memory.chunk(chunk).ready, host_tier_.fetch(helper.cpu, b, pages)});
  helper.spend(context_.costs().block_ns);
  // The copy is valid until the host's pages are written: the CPU loses its mappings, and GPUs lose theirs.
  ProcessorPages& host = context_.space.pages(b, kHost);
  (host.mapped & pages).for_each_run([&](unsigned, unsigned count) {
    helper.spend(context_.costs().unmap_host_run_ns + context_.costs().unmap_host_page_ns * count);
  });
  host.mapped -= pages;
  host.writable -= pages;
  for (unsigned other = 0; other < context_.space.gpu_count(); ++other) unmap_gpu(b, other, pages);
  const bool prefetch = cause == TransferCause::kPrefetch;
  copy(helper, b, {kHost, gpu_processor(spare)}, ready, prefetch ? PageMask{} : pages, prefetch ? pages : PageMask{},
       cause);
  const Nanoseconds arrived = arrive_in_spare(b, spare, pages);
  block.read_duplicated |= pages;
  harvest.arrives(b, arrived, true);
}

bool Residency::may_go_to_spare(BlockIndex b) const {
  const VaBlock& block = context_.space.block(b);
  const PageMask pages = context_.space.pages(b, kHost).resident - block.discarded;
  const bool alone = !pages.empty() && pages == context_.space.resident_anywhere(b);
  return alone && !block.hints.any() && block.full_size() && !context_.harvest->holds(b);
}

void Residency::keep_reserve(Work& work, BlockIndex served, unsigned gpu) {
  Harvest& harvest = *context_.harvest;
  GpuMemory& memory = context_.gpus[gpu].memory;
  Work keeper(std::max(harvest.keeper_free_at(gpu), work.cpu));
  const BlockIndex alone[] = {served};
  const std::span<const BlockIndex> others = spared_;
  spared_ = others.empty() ? std::span<const BlockIndex>(alone) : others;
  while (memory.free_chunks() + harvest.lent(gpu) < harvest.choice().reserve_chunks) {
    const ChunkId victim = select_victim(keeper, gpu, content(served, 0, gpu), false);
    if (!victim.valid()) break;
    empty_root(keeper, gpu, victim);
    memory.release(victim, GpuMemory::Reuse::kLast);
    ++context_.counters.pre_evictions;
  }
  spared_ = others;
  harvest.keeper_free_at(gpu) = keeper.cpu;
}

}  // namespace uvmsim::driver
