// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/chunk_prefetch.h"

#include <algorithm>

#include "sim/driver/mappings.h"

namespace uvmsim::driver {

ChunkPrefetch::ChunkPrefetch(DriverContext& context, Residency& residency, Thrashing& thrashing, HarvestMoves& moves)
    : context_(context), residency_(residency), thrashing_(thrashing), moves_(moves), helpers_(context.gpus.size()) {
  context.ahead = this;
}

void ChunkPrefetch::stop(unsigned gpu) {
  Helper& helper = helpers_[gpu];
  for (Thread* thread : {&helper.from_peers, &helper.from_host}) {
    context_.counters.chunk_prefetches_dropped += thread->waiting.size();
    thread->waiting.clear();
  }
}

void ChunkPrefetch::plan(unsigned gpu, PageIndex first, PageIndex last, Nanoseconds start) {
  const Harvest& harvest = moves_.harvest();
  const HarvestChoice& choice = harvest.choice();
  const AddressSpace& space = context_.space;
  Helper& helper = helpers_[gpu];
  const bool up = !helper.began || first.value > helper.last.value;
  helper.began = true;
  helper.last = last;
  const std::uint64_t base = (up ? last : first).value / kPagesPerBlock;
  const unsigned region = space.block(BlockIndex(base)).region;
  for (std::uint64_t k = choice.prefetch_chunks; k > 0; --k) {
    const std::uint64_t away = k * choice.prefetch_stride;
    if (up ? base + away >= space.block_count() : away > base) continue;
    const BlockIndex b(up ? base + away : base - away);
    const VaBlock& block = space.block(b);
    if (!block.live || block.region != region || !space.pages(b, gpu_processor(gpu)).resident.empty()) continue;
    if (harvest.holds(b)) {
      if (harvest.where(b) != gpu) helper.from_peers.waiting.push_back(b);
    } else if (!space.pages(b, kHost).resident.empty()) {
      helper.from_host.waiting.push_back(b);
    }
  }
  for (Thread* thread : {&helper.from_peers, &helper.from_host}) thread->free_at = std::max(thread->free_at, start);
}

void ChunkPrefetch::step(unsigned gpu, Nanoseconds now) {
  Helper& helper = helpers_[gpu];
  helper.now = now;
  std::erase_if(helper.copies, [&](const Copy& copy) {
    if (copy.done > now) return false;
    const VaBlock& block = context_.space.block(copy.block);
    const PageMask here = copy.pages & context_.space.pages(copy.block, gpu_processor(gpu)).resident;
    Work paid(now);  // already charged when the copy began
    if (!here.empty() && block.live && !block.hints.any() && block.read_duplicated.empty()) {
      map_local(context_, paid, copy.block, gpu, here, here);
    }
    return true;
  });
  run(gpu, helper.from_peers, &ChunkPrefetch::begin_from_peer);
  run(gpu, helper.from_host, &ChunkPrefetch::begin_from_host);
}

void ChunkPrefetch::run(unsigned gpu, Thread& thread, Outcome (ChunkPrefetch::*begin)(Work&, unsigned, BlockIndex)) {
  const Nanoseconds now = helpers_[gpu].now;
  while (!thread.waiting.empty() && thread.free_at <= now) {
    Work work(now);
    const Outcome outcome = (this->*begin)(work, gpu, thread.waiting.back());
    if (outcome == Outcome::kPathBusy) return;
    thread.waiting.pop_back();
    if (outcome == Outcome::kBegan) thread.free_at = std::max(work.cpu, now + Nanoseconds(1));
  }
}

Nanoseconds ChunkPrefetch::next_step(unsigned gpu) const {
  const Helper& helper = helpers_[gpu];
  Nanoseconds next(INT64_MAX);
  for (const Copy& copy : helper.copies) next = std::min(next, copy.done);
  for (const Thread* thread : {&helper.from_peers, &helper.from_host}) {
    // An idle thread waits for a busy path; the end of a copy (above) wakes it.
    if (!thread->waiting.empty() && thread->free_at > helper.now) next = std::min(next, thread->free_at);
  }
  return next;
}

Nanoseconds ChunkPrefetch::arrival(unsigned gpu, BlockIndex b) const {
  Nanoseconds done{};
  for (const Copy& copy : helpers_[gpu].copies) {
    if (copy.block == b && !copy.pages.empty()) done = std::max(done, copy.done);
  }
  return done;
}

void ChunkPrefetch::await(Work& work, unsigned gpu, BlockIndex b) {
  const Nanoseconds done = arrival(gpu, b);
  if (done <= work.cpu) return;
  ++context_.counters.chunk_prefetches_late;
  work.cpu = done;
}

bool ChunkPrefetch::path_busy(const Helper& helper, ProcessorId from, ProcessorId to) const {
  return std::count_if(helper.copies.begin(), helper.copies.end(),
                       [&](const Copy& copy) { return copy.from == from && copy.to == to; }) >= kMostCopies;
}

ChunkPrefetch::Outcome ChunkPrefetch::begin_from_peer(Work& work, unsigned gpu, BlockIndex b) {
  const Harvest& harvest = moves_.harvest();
  if (!harvest.holds(b) || harvest.where(b) == gpu) return Outcome::kNotNeeded;
  return bring(work, gpu, b, gpu_processor(harvest.where(b)), context_.counters.chunk_prefetches_from_peers, nullptr);
}

ChunkPrefetch::Outcome ChunkPrefetch::begin_from_host(Work& work, unsigned gpu, BlockIndex b) {
  Harvest& harvest = moves_.harvest();
  Helper& helper = helpers_[gpu];
  if (harvest.holds(b) || context_.space.pages(b, kHost).resident.empty()) return Outcome::kNotNeeded;
  std::uint32_t full = 0;
  for (unsigned peer = 0; peer < context_.gpus.size(); ++peer) {
    if (path_busy(helper, kHost, gpu_processor(peer))) full |= std::uint32_t{1} << peer;
  }
  const policy::Route way = moves_.way_ahead(work, b, gpu, TransferCause::kPrefetch, full);
  if (way.way == policy::Route::Way::kLater) return Outcome::kPathBusy;
  if (way.way == policy::Route::Way::kSpare) {
    if ((full >> way.gpu & 1) != 0) return Outcome::kPathBusy;
    moves_.fetch_to_spare(work, b, gpu, way.gpu, TransferCause::kPrefetch);
    ++context_.counters.chunk_prefetches_to_peers;
    harvest.note_prefetched(b);
    helper.copies.push_back({work.done(), b, PageMask{}, kHost, gpu_processor(way.gpu)});
    return Outcome::kBegan;
  }
  return bring(work, gpu, b, kHost, context_.counters.chunk_prefetches_from_host, &way);
}

// Begins the copy of a block to the GPU itself.
ChunkPrefetch::Outcome ChunkPrefetch::bring(Work& work, unsigned gpu, BlockIndex b, ProcessorId from,
                                            std::uint64_t& counter, const policy::Route* way) {
  Helper& helper = helpers_[gpu];
  AddressSpace& space = context_.space;
  const VaBlock& block = space.block(b);
  const ProcessorId self = gpu_processor(gpu);
  const bool duplicated = from.is_host() && !block.read_duplicated.empty();
  if (!block.live || block.hints.any() || duplicated || thrashing_.tracks(b)) return Outcome::kNotNeeded;
  const PageMask held = space.pages(b, from).resident | space.pages(b, kHost).resident;
  const PageMask pages = held - space.pages(b, self).resident - block.discarded;
  if (pages.empty() || !residency_.chunks().has_room({b, gpu}, pages)) return Outcome::kNotNeeded;
  if (path_busy(helper, from, self)) return Outcome::kPathBusy;
  ++counter;
  context_.counters.prefetched_pages += pages.count();
  work.spend(context_.costs().block_ns + context_.costs().map_block_ns + context_.costs().map_page_ns * pages.count());
  residency_.to_gpu(work, b, gpu, {.demanded = {}, .prefetched = pages, .way = way});
  if (thrashing_.interested()) thrashing_.on_migration(b, pages, self, work.cpu);
  helper.copies.push_back({work.done(), b, pages, from, self});
  return Outcome::kBegan;
}

}  // namespace uvmsim::driver
