// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/harvest_moves.h"

#include <algorithm>

#include "sim/driver/mappings.h"

namespace uvmsim::driver {

HarvestMoves::HarvestMoves(Harvest& harvest, DriverContext& context, Residency& residency)
    : harvest_(harvest), context_(context), residency_(residency) {
  context.harvest_moves = this;
  context.harvest = &harvest;
}

// Copies pages into the chunk of a peer. Returns when they have arrived.
Nanoseconds HarvestMoves::push_to_spare(Work& work, BlockIndex b, ProcessorId from, unsigned spare, Nanoseconds start,
                                        const Load& load) {
  GpuMemory& memory = context_.gpus[spare].memory;
  const Nanoseconds arrived = residency_.copies().push(work, b, {from, gpu_processor(spare)}, start, load);
  memory.chunk(memory.whole(b)).ready = arrived;
  context_.space.pages(b, gpu_processor(spare)).resident |= load.pages();
  context_.gpus[spare].add_resident(context_.space.block(b), load.pages().count());
  return arrived;
}

void HarvestMoves::take(Work& work, BlockIndex b, unsigned gpu, unsigned spare, const PageMask& gone,
                        const PageMask& copied) {
  const GpuMemory& memory = context_.gpus[spare].memory;
  Departures& departures = residency_.departures();
  const ChunkId chunk = harvest_.holds(b) ? memory.whole(b) : harvest_.take(work, spare, b, gpu);
  const Nanoseconds unmapped = departures.unmap_victim(work, b, gpu, gone);
  const Nanoseconds arrived =
      push_to_spare(work, b, gpu_processor(gpu), spare, std::max(unmapped, memory.chunk(chunk).ready),
                    {copied, {}, TransferCause::kEvict});
  departures.leave(work, b, gpu, gone);
  ++context_.counters.evictions_to_peers;
  harvest_.arrives(b, arrived);
}

Nanoseconds HarvestMoves::write_back(BlockIndex b, unsigned spare, Nanoseconds start) {
  VaBlock& block = context_.space.block(b);
  ProcessorPages& host = context_.space.pages(b, kHost);
  const PageMask written = context_.space.pages(b, gpu_processor(spare)).resident - host.resident - block.discarded;
  Work writer(start);
  // Pages that bounced may still be mapped from there: a write to them must fault.
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) unmap(context_, b, gpu, written);
  HostTier& host_tier = residency_.host_tier();
  host_tier.back(writer, b, written);
  if (written.empty()) return writer.done();
  const Nanoseconds ready = std::max(writer.cpu, host_tier.admit(writer.cpu, b, written));
  const Nanoseconds read =
      residency_.copies().push(writer, b, {gpu_processor(spare), kHost}, ready, {written, {}, TransferCause::kEvict});
  host.resident |= written;
  context_.host_resident_pages += written.count();
  block.read_duplicated |= written;
  ++context_.counters.peer_write_backs;
  GpuMemory& memory = context_.gpus[spare].memory;
  memory.chunk(memory.whole(b)).ready = read;
  return writer.done();
}

void HarvestMoves::drop_spare_copy(Work& work, BlockIndex b, unsigned spare) {
  const PageMask here = context_.space.pages(b, gpu_processor(spare)).resident;
  work.spend(context_.costs().evict_chunk_ns);
  residency_.departures().drop_copies(work, b, spare, here);
  // The host keeps the pages, and so do the processors that they were duplicated for.
  PageMask elsewhere;
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) {
    elsewhere |= context_.space.pages(b, gpu_processor(gpu)).resident;
  }
  context_.space.block(b).read_duplicated -= here - elsewhere;
}

policy::Route HarvestMoves::way_ahead(Work& helper, BlockIndex b, unsigned gpu, TransferCause cause,
                                      std::uint32_t full) {
  const PageMask pages = context_.space.pages(b, kHost).resident - context_.space.block(b).discarded;
  policy::Move move = move_of(b, kHost, gpu_processor(gpu), pages, move_cause(cause));
  move.may_stay = may_go_to_spare(b);
  move.may_wait = cause == TransferCause::kPrefetch;
  return choose_route(context_, helper, gpu, move, full);
}

void HarvestMoves::fetch_to_spare(Work& helper, BlockIndex b, unsigned gpu, unsigned spare, TransferCause cause) {
  VaBlock& block = context_.space.block(b);
  const PageMask pages = context_.space.pages(b, kHost).resident - block.discarded;
  const ChunkId chunk = harvest_.take(helper, spare, b, gpu);
  const Nanoseconds ready = std::max(
      {helper.cpu, context_.gpus[spare].memory.chunk(chunk).ready, residency_.host_tier().fetch(helper.cpu, b, pages)});
  helper.spend(context_.costs().block_ns);
  // The copy is valid until the host's pages are written: the CPU loses its mappings, and GPUs lose theirs.
  ProcessorPages& host = context_.space.pages(b, kHost);
  (host.mapped & pages).for_each_run([&](unsigned, unsigned count) {
    helper.spend(context_.costs().unmap_host_run_ns + context_.costs().unmap_host_page_ns * count);
  });
  host.mapped -= pages;
  host.writable -= pages;
  for (unsigned other = 0; other < context_.space.gpu_count(); ++other) unmap(context_, b, other, pages);
  const Load load = cause == TransferCause::kPrefetch ? Load{{}, pages, cause} : Load{pages, {}, cause};
  const Nanoseconds arrived = push_to_spare(helper, b, kHost, spare, ready, load);
  block.read_duplicated |= pages;
  harvest_.arrives(b, arrived, true);
}

bool HarvestMoves::may_go_to_spare(BlockIndex b) const {
  const VaBlock& block = context_.space.block(b);
  const PageMask pages = context_.space.pages(b, kHost).resident - block.discarded;
  const bool alone = !pages.empty() && pages == context_.space.resident_anywhere(b);
  return alone && !block.hints.any() && block.full_size() && !harvest_.holds(b);
}

void HarvestMoves::after_arrival(Work& work, BlockIndex served, unsigned gpu, std::span<const BlockIndex> spared,
                                 Moved& moved) {
  if (!harvest_.choice().pre_evict) return;
  const GpuMemory& memory = context_.gpus[gpu].memory;
  Work keeper(std::max(harvest_.keeper_free_at(gpu), work.cpu));
  const BlockIndex alone[] = {served};
  const Demand demand{served, gpu, spared.empty() ? std::span<const BlockIndex>(alone) : spared};
  while (memory.free_chunks() + harvest_.lent(gpu) < harvest_.choice().reserve_chunks) {
    if (!residency_.chunks().pre_evict(keeper, demand, moved)) break;
  }
  harvest_.keeper_free_at(gpu) = keeper.cpu;
}

bool HarvestMoves::fetch_far_block(Work& helper, unsigned gpu, BlockIndex b) {
  if (context_.space.block(b).evicted.empty() || !may_go_to_spare(b)) return false;
  const policy::Route way = way_ahead(helper, b, gpu, TransferCause::kFault);
  if (way.way != policy::Route::Way::kSpare) return false;
  fetch_to_spare(helper, b, gpu, way.gpu, TransferCause::kFault);
  ++context_.counters.parallel_fetches;
  helper.cpu = helper.done();  // one block at a time
  return true;
}

}  // namespace uvmsim::driver
