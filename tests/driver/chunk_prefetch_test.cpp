// SPDX-License-Identifier: Apache-2.0
// Tests of the prefetch beyond a fault batch (HUVM's): which blocks are prefetched, over which path and when, until the
// next batch.
#include "sim/driver/chunk_prefetch.h"

#include <gmock/gmock.h>

#include "tests/driver/harvest_machine.h"

namespace uvmsim::driver {
namespace {

using ::testing::ElementsAre;

constexpr Nanoseconds kEver(INT64_MAX - 1);

HarvestChoice ahead(std::uint32_t chunks = 3, std::uint32_t stride = 1) {
  return {.victims = true, .reserve_chunks = 0, .prefetch = true, .prefetch_chunks = chunks, .prefetch_stride = stride};
}

// GPUs with room for all of eight blocks, which are on the host and not mapped there.
struct OnHost : Harvesting {
  explicit OnHost(const HarvestChoice& choice, const std::string& route = "min_pending", unsigned gpus = 2,
                  const policy::GivenParameters& parameters = {})
      : Harvesting(16, choice, nvlink(gpus), route, parameters), first(allocate(8 * kBlockBytes)) {
    for (unsigned i = 0; i < 8; ++i) {
      cpu_fill(block(i));
      on_host(block(i)).mapped.clear();
      on_host(block(i)).writable.clear();
    }
    events.clear();
  }
  BlockIndex block(unsigned i) const { return block_of(first, i); }
  // Returns the blocks that have pages on the GPU.
  std::vector<unsigned> here(unsigned gpu = 0) const {
    std::vector<unsigned> blocks;
    for (unsigned i = 0; i < 8; ++i) {
      if (on(block(i), gpu_processor(gpu)) == kPagesPerBlock) blocks.push_back(i);
    }
    return blocks;
  }
  // Returns the copies that were prefetched to the GPU from its host link or a peer, in order.
  std::vector<TransferEvent> prefetched(unsigned gpu, int source = -1) const {
    std::vector<TransferEvent> out;
    for (const TransferEvent& copy : events.transfers) {
      if (copy.cause == TransferCause::kPrefetch && copy.bytes == kBlockBytes && copy.source == source &&
          copy.device == static_cast<int>(gpu)) {
        out.push_back(copy);
      }
    }
    return out;
  }
  BlockIndex first;
};

TEST(ChunkPrefetch, BlocksAStrideApartComeOverTheOwnLink) {
  OnHost machine(ahead(3, 2));
  machine.gpu_read(machine.block(0), pages({0}));
  machine.prefetch_until(kEver);
  EXPECT_THAT(machine.here(), ElementsAre(2, 4, 6));
  EXPECT_EQ(machine.counters.chunk_prefetches_from_host, 3u);
  EXPECT_EQ(machine.counters.chunk_prefetches_dropped, 0u);
  for (const unsigned i : {2u, 4u, 6u}) {
    EXPECT_EQ(machine.on_gpu(machine.block(i)).mapped, PageMask::all());
    EXPECT_EQ(machine.on(machine.block(i), kHost), 0u) << "moved";
  }
  const std::uint64_t batches = machine.counters.htod_fault_bytes;
  machine.gpu_read(machine.block(2), pages({7}));
  EXPECT_EQ(machine.counters.htod_fault_bytes, batches) << "nothing to bring";
  // The link works without a pause: each copy takes the gap between pushes, the latency and its bytes.
  const auto copies = machine.prefetched(0);
  ASSERT_EQ(copies.size(), 3u);
  const auto& link = machine.system.host_links[0].host_to_device;
  const std::uint64_t bytes_ns = (kBlockBytes * 1000 + link.bytes_per_us - 1) / link.bytes_per_us;
  const std::uint64_t step = machine.system.costs.push_gap_ns + link.latency_ns + bytes_ns;
  EXPECT_EQ((copies[1].end - copies[0].end).value, static_cast<std::int64_t>(step));
  EXPECT_EQ((copies[2].end - copies[1].end).value, static_cast<std::int64_t>(step));
  machine.check();
}

TEST(ChunkPrefetch, ItGoesTheWayTheBatchesGo) {
  OnHost machine(ahead(1));
  machine.gpu_read(machine.block(2), pages({0}));
  machine.prefetch_until(kEver);
  EXPECT_THAT(machine.here(), ElementsAre(3)) << "the first one goes up";
  machine.gpu_read(machine.block(6), pages({0}));
  machine.prefetch_until(kEver);
  EXPECT_THAT(machine.here(), ElementsAre(3, 7));
  machine.gpu_read(machine.block(5), pages({0}));
  machine.prefetch_until(kEver);
  EXPECT_THAT(machine.here(), ElementsAre(3, 4, 7)) << "down";
}

TEST(ChunkPrefetch, ANewBatchDropsWhatHasNotBegun) {
  OnHost machine(ahead(6));
  machine.gpu_read(machine.block(0), pages({0}));
  machine.prefetch_until(machine.now);  // the batch is served
  const std::uint64_t begun = machine.counters.chunk_prefetches_from_host;
  EXPECT_GE(begun, 1u);
  EXPECT_LE(begun, 3u) << "no more than two on their way over one path";
  machine.ahead->stop(0);
  machine.prefetch_until(kEver);
  EXPECT_EQ(machine.counters.chunk_prefetches_from_host, begun);
  EXPECT_EQ(machine.counters.chunk_prefetches_dropped, 6 - begun);
  EXPECT_EQ(machine.here().size(), begun) << "what has begun comes";
  machine.check();
}

TEST(ChunkPrefetch, AFaultOnABlockOnItsWayWaitsForIt) {
  OnHost machine(ahead(1));
  machine.gpu_read(machine.block(0), pages({0}));
  // The copy begins as soon as the helper can.
  machine.ahead->step(0, machine.ahead->next_step(0));
  const Nanoseconds arrival = machine.ahead->arrival(0, machine.block(1));
  ASSERT_GT(arrival, machine.now);
  EXPECT_EQ(machine.ahead->arrival(0, machine.block(2)), Nanoseconds{});
  const BatchSummary summary = machine.gpu_read(machine.block(1), pages({0}));
  EXPECT_GE(summary.end, arrival);
  EXPECT_EQ(machine.counters.chunk_prefetches_late, 1u);
  EXPECT_EQ(machine.prefetched(0).size(), 1u) << "it comes once";
  machine.check();
}

TEST(ChunkPrefetch, SpareMemoryIsReadOverNvlinkAndGivenBack) {
  Harvesting machine(4, ahead(2), nvlink(3), "round_robin");
  const BlockIndex first = machine.allocate(8 * kBlockBytes);
  for (unsigned i = 0; i < 8; ++i) machine.gpu_fill(block_of(first, i), true);
  machine.prefetch_until(kEver);
  machine.wait();
  for (unsigned i = 0; i < 4; ++i) ASSERT_TRUE(machine.harvest.holds(block_of(first, i)));
  const std::uint64_t from_host = machine.counters.htod_prefetch_bytes;
  machine.gpu_read(block_of(first, 3), pages({0}));  // below the last batch
  machine.prefetch_until(kEver);
  EXPECT_EQ(machine.counters.chunk_prefetches_from_peers, 2u);
  EXPECT_EQ(machine.counters.htod_prefetch_bytes, from_host);
  for (const unsigned i : {1u, 2u}) {
    EXPECT_EQ(machine.on_gpu(block_of(first, i)).mapped, PageMask::all());
    EXPECT_FALSE(machine.harvest.holds(block_of(first, i)));
  }
  EXPECT_TRUE(machine.harvest.holds(first));
  machine.check();
}

TEST(ChunkPrefetch, MultiPathBringsBlocksOverThePeersLinkAndAFaultMovesThemOn) {
  OnHost machine(ahead(2), "multipath");
  machine.gpu_read(machine.block(0), pages({0}));
  machine.prefetch_until(kEver);
  EXPECT_THAT(machine.here(0), ElementsAre());
  EXPECT_THAT(machine.here(1), ElementsAre(1, 2));
  EXPECT_EQ(machine.counters.chunk_prefetches_to_peers, 2u);
  EXPECT_EQ(machine.prefetched(1).size(), 2u) << "over the link of GPU 1";
  EXPECT_EQ(machine.on(machine.block(1), kHost), kPagesPerBlock) << "a copy";
  EXPECT_EQ(machine.harvest.lent(1) - machine.harvest.pending(1), 2u) << "its owner may have the memory back at once";
  machine.events.clear();
  machine.gpu_read(machine.block(1), pages({0}));
  EXPECT_EQ(machine.counters.chunk_prefetches_moved_on, 1u);
  for (const TransferEvent& copy : machine.events.transfers) EXPECT_EQ(copy.source, 1) << "NVLink";
  machine.check();
}

TEST(ChunkPrefetch, WhatTheCpuMapsIsUnmappedFirstAndItsWriteEndsTheCopy) {
  OnHost machine(ahead(1), "multipath");
  const BlockIndex block = machine.block(1);
  machine.cpu_write(block, 0);
  ASSERT_FALSE(machine.on_host(block).mapped.empty());
  machine.gpu_read(machine.block(0), pages({0}));
  machine.prefetch_until(kEver);
  ASSERT_EQ(machine.counters.chunk_prefetches_to_peers, 1u);
  EXPECT_TRUE(machine.on_host(block).mapped.empty());
  machine.cpu_write(block, 3);
  EXPECT_EQ(machine.on(block, gpu_processor(1)) + machine.on_host(block).writable.count(), kPagesPerBlock)
      << "what the CPU may write is on no GPU";
  EXPECT_TRUE(machine.on_host(block).writable.test(3));
  machine.check();
}

TEST(ChunkPrefetch, PathsOfSeveralPeersWorkAtTheSameTime) {
  OnHost machine(ahead(4), "multipath", 3, {{"target", "round_robin"}});
  machine.gpu_read(machine.block(0), pages({0}));
  machine.prefetch_until(kEver);
  EXPECT_THAT(machine.here(1), ElementsAre(1, 3));
  EXPECT_THAT(machine.here(2), ElementsAre(2, 4));
  const auto one = machine.prefetched(1), two = machine.prefetched(2);
  ASSERT_EQ(one.size(), 2u);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_LT(two[0].start, one[0].end);
  EXPECT_LT(two[1].start, one[1].end);
}

TEST(ChunkPrefetch, WhereABusyPathLeavesAnotherThatOneIsTaken) {
  // By the fewest pending blocks GPU 1 would get all three blocks; two copies are in progress to it, so the third goes
  // to GPU 2.
  OnHost machine(ahead(3), "multipath", 3);
  machine.gpu_read(machine.block(0), pages({0}));
  machine.prefetch_until(kEver);
  EXPECT_THAT(machine.here(1), ElementsAre(1, 2));
  EXPECT_THAT(machine.here(2), ElementsAre(3));
}

TEST(ChunkPrefetch, WhereMoreHarvestThanLendOrNobodyHasRoomTheOwnLinkIsTaken) {
  OnHost pair(ahead(2), "multipath");
  pair.harvest.note_eviction(0);  // one GPU that harvests and one that lends
  pair.gpu_read(pair.block(0), pages({0}));
  pair.prefetch_until(kEver);
  EXPECT_EQ(pair.counters.chunk_prefetches_to_peers, 2u);

  OnHost crowded(ahead(2), "multipath");
  crowded.harvest.note_eviction(0);
  crowded.harvest.note_eviction(1);
  crowded.gpu_read(crowded.block(0), pages({0}));
  crowded.prefetch_until(kEver);
  EXPECT_THAT(crowded.here(0), ElementsAre(1, 2));
  EXPECT_EQ(crowded.counters.chunk_prefetches_to_peers, 0u);

  HarvestChoice choice = ahead(2);
  choice.reserve_chunks = 16;
  OnHost full(choice, "multipath");
  full.gpu_read(full.block(0), pages({0}));
  full.prefetch_until(kEver);
  EXPECT_THAT(full.here(0), ElementsAre(1, 2));
  EXPECT_EQ(full.counters.chunk_prefetches_from_host, 2u);
}

TEST(ChunkPrefetch, OtherProgramsBlocksAreNotTouched) {
  Harvesting machine(8, ahead(4));
  const std::uint64_t regions[] = {2, 512};
  machine.space.divide(regions);
  const BlockIndex mine = machine.space.allocate(0, 2 * kBlockBytes, 0);
  const BlockIndex theirs = machine.space.allocate(0, kBlockBytes, 1);
  ASSERT_EQ(theirs.value - mine.value, 512u);
  machine.cpu_fill(theirs);
  machine.cpu_fill(block_of(mine, 1));
  machine.ahead->plan(0, PageIndex((theirs.value - 3) * kPagesPerBlock), PageIndex((theirs.value - 3) * kPagesPerBlock),
                      machine.now);
  machine.prefetch_until(kEver);
  EXPECT_EQ(machine.counters.chunk_prefetches_from_host, 0u);
}

}  // namespace
}  // namespace uvmsim::driver
