// SPDX-License-Identifier: Apache-2.0
// Tests of spare memory of a peer as a victim cache (HUVM): where evicted blocks go, how they return, and what is
// evicted.
#include <gmock/gmock.h>

#include "sim/common/random.h"
#include "tests/driver/harvest_machine.h"

namespace uvmsim::driver {
namespace {

TEST(Harvest, AVictimGoesOverNvlinkAndIsWrittenOnToTheHost) {
  Harvesting machine(2);
  const BlockIndex first = machine.allocate(3 * kBlockBytes);
  for (unsigned i = 0; i < 3; ++i) machine.gpu_fill(block_of(first, i), true);
  EXPECT_EQ(machine.counters.evictions, 1u);
  EXPECT_EQ(machine.counters.evictions_to_peers, 1u);
  EXPECT_EQ(machine.counters.dtod_evict_bytes, kBlockBytes);
  EXPECT_EQ(machine.on(first, gpu_processor(1)), 512u);
  machine.check();
  machine.wait();
  EXPECT_EQ(machine.counters.peer_write_backs, 1u);
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, kBlockBytes);
  EXPECT_EQ(machine.on(first, kHost), 512u);
  EXPECT_EQ(machine.on(first, gpu_processor(1)), 512u) << "a copy: the peer keeps it";
  EXPECT_EQ(machine.harvest.lent(1) - machine.harvest.pending(1), 1u);
  machine.check();
}

TEST(Harvest, AFaultBringsTheBlockBackFromThePeerAndFreesItsChunk) {
  for (const bool written : {false, true}) {
    SCOPED_TRACE(written);
    Harvesting machine(2);
    const BlockIndex first = machine.allocate(3 * kBlockBytes);
    for (unsigned i = 0; i < 3; ++i) machine.gpu_fill(block_of(first, i), true);
    if (written) machine.wait();
    const std::uint64_t from_host = machine.counters.htod_fault_bytes + machine.counters.htod_prefetch_bytes;
    machine.gpu_fill(first, false);
    EXPECT_EQ(machine.counters.htod_fault_bytes + machine.counters.htod_prefetch_bytes, from_host);
    EXPECT_EQ(machine.counters.dtod_fault_bytes + machine.counters.dtod_prefetch_bytes, kBlockBytes);
    EXPECT_EQ(machine.on(first, gpu_processor(0)), 512u);
    EXPECT_EQ(machine.on(first, gpu_processor(1)), 0u);
    EXPECT_EQ(machine.on(first, kHost), 0u) << "moved, not copied";
    EXPECT_FALSE(machine.harvest.holds(first));
    // Another block has taken its place in spare memory.
    EXPECT_EQ(machine.gpus[1].memory.free_chunks(), 1u);
    machine.check();
  }
}

TEST(Harvest, TheOwnerTakesSafeMemoryBackWithoutACopy) {
  Harvesting machine(2);
  const BlockIndex first = machine.allocate(4 * kBlockBytes);
  for (unsigned i = 0; i < 4; ++i) machine.gpu_fill(block_of(first, i), true);
  machine.wait();
  EXPECT_EQ(machine.harvest.lent(1) - machine.harvest.pending(1), 2u);
  EXPECT_EQ(machine.gpus[1].memory.free_chunks(), 0u);
  const BlockIndex own = machine.allocate(2 * kBlockBytes);
  const std::uint64_t up = machine.counters.dtoh_evict_bytes, evictions = machine.counters.evictions;
  machine.gpu_write(own, pages({0}), 1);
  EXPECT_EQ(machine.counters.spare_chunks_given_back, 1u);
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, up);
  EXPECT_EQ(machine.counters.evictions, evictions);
  EXPECT_EQ(machine.on(first, kHost), 512u);
  EXPECT_EQ(machine.on(first, gpu_processor(1)), 0u) << "the oldest one goes";
  EXPECT_EQ(machine.on(block_of(first, 1), gpu_processor(1)), 512u);
  machine.check();
}

TEST(Harvest, TheOwnerWaitsForTheWriterWhereNothingIsSafe) {
  Harvesting machine(1);
  const BlockIndex first = machine.allocate(2 * kBlockBytes);
  machine.gpu_fill(first, true);
  machine.gpu_write(block_of(first, 1), pages({0}));
  ASSERT_TRUE(machine.harvest.holds(first));
  const BlockIndex own = machine.allocate();
  const Nanoseconds before = machine.now;
  const BatchSummary summary = machine.gpu_write(own, pages({0}), 1);
  EXPECT_GT((summary.end - before).value, static_cast<std::int64_t>(kBlockBytes * 1000 / 50000)) << "2 MB at 50 GB/s";
  EXPECT_EQ(machine.on(first, kHost), 512u);
  EXPECT_EQ(machine.counters.peer_write_backs, 1u);
  machine.check();
}

TEST(Harvest, WhoeverTakesAChunkBackPaysAsForAnEviction) {
  const auto took = [](std::uint64_t evict_chunk_ns, bool lent) {
    config::SystemConfig system = nvlink();
    system.costs.evict_chunk_ns = evict_chunk_ns;
    Harvesting machine(1, {.victims = lent, .reserve_chunks = 0}, system);
    const BlockIndex first = machine.allocate(2 * kBlockBytes);
    for (unsigned i = 0; i < 2; ++i) machine.gpu_fill(block_of(first, i), true);
    machine.wait();
    EXPECT_EQ(machine.harvest.lent(1) - machine.harvest.pending(1), lent ? 1u : 0u);
    const BlockIndex own = machine.allocate();
    const Nanoseconds before = machine.now;
    return machine.gpu_write(own, pages({0}), 1).end - before;
  };
  for (const std::uint64_t cost : {0u, 7000u}) {
    EXPECT_EQ((took(cost, true) - took(cost, false)).value, static_cast<std::int64_t>(cost));
  }
}

TEST(Harvest, NothingIsLentFromTheReserve) {
  Harvesting machine(3, {.victims = true, .reserve_chunks = 2});
  const BlockIndex first = machine.allocate(6 * kBlockBytes);
  for (unsigned i = 0; i < 6; ++i) {
    machine.gpu_fill(block_of(first, i), true);
    // Chunks with a copy elsewhere can be taken at once, like free ones.
    EXPECT_GE(machine.gpus[1].memory.free_chunks() + machine.harvest.lent(1) - machine.harvest.pending(1), 2u);
  }
  EXPECT_GE(machine.counters.evictions_to_peers, 1u);
  machine.check();
}

TEST(Harvest, WithoutASwitchOrALinkTheHostTakesTheVictim) {
  Harvesting off(1, {.pre_evict = true, .reserve_chunks = 0});
  const BlockIndex first = off.allocate(2 * kBlockBytes);
  off.gpu_fill(first, true);
  off.gpu_fill(block_of(first, 1), true);
  EXPECT_EQ(off.counters.evictions_to_peers, 0u);
  EXPECT_EQ(off.on(first, kHost), 512u);

  Machine apart(1, tiny_system(2));
  apart.use_router("min_pending");
  Harvest harvest({.victims = true, .reserve_chunks = 0}, apart.topology, apart.gpus);
  HarvestMoves moves(harvest, apart.context, apart.residency);
  harvest.connect(0, moves);
  const BlockIndex b = apart.allocate(2 * kBlockBytes);
  apart.gpu_fill(b, true);
  apart.gpu_fill(block_of(b, 1), true);
  EXPECT_EQ(apart.counters.evictions_to_peers, 0u);
}

TEST(Harvest, WithoutARouterTheHostTakesTheVictim) {
  Harvesting machine(1);
  for (GpuState& gpu : machine.gpus) gpu.router = nullptr;
  const BlockIndex first = machine.allocate(2 * kBlockBytes);
  machine.gpu_fill(first, true);
  machine.gpu_fill(block_of(first, 1), true);
  EXPECT_EQ(machine.counters.evictions_to_peers, 0u);
  EXPECT_EQ(machine.on(first, kHost), 512u);
}

// Returns where blocks 0 to 2 go when they are evicted. `with_time`: the writer has time in between.
std::vector<unsigned> where_victims_go(const std::string& route, bool with_time) {
  Harvesting machine(3, {.victims = true, .reserve_chunks = 0}, nvlink(3), route);
  const BlockIndex first = machine.allocate(6 * kBlockBytes);
  for (unsigned i = 0; i < 6; ++i) {
    machine.gpu_fill(block_of(first, i), true);
    if (with_time) machine.wait();
  }
  std::vector<unsigned> gpus;
  for (unsigned i = 0; i < 3; ++i) gpus.push_back(machine.harvest.where(block_of(first, i)));
  return gpus;
}

TEST(Harvest, TheVictimGoesToThePeerWithTheFewestPending) {
  using ::testing::ElementsAre;
  EXPECT_THAT(where_victims_go("min_pending", true), ElementsAre(1, 1, 1)) << "equal: the first";
  Harvesting machine(2, {.victims = true, .reserve_chunks = 0}, nvlink(3));
  const BlockIndex first = machine.allocate(4 * kBlockBytes);
  // One block is on GPU 1 already and stays for a while.
  Work work(machine.now);
  machine.harvest.take(work, 1, block_of(first, 3), 0);
  machine.harvest.arrives(block_of(first, 3), Nanoseconds(1000000000));
  for (unsigned i = 0; i < 3; ++i) machine.gpu_fill(block_of(first, i), true);
  EXPECT_EQ(machine.harvest.where(first), 2u);
}

TEST(Harvest, OrToThePeersInTurn) {
  using ::testing::ElementsAre;
  EXPECT_THAT(where_victims_go("round_robin", true), ElementsAre(1, 2, 1));
  EXPECT_THAT(where_victims_go("round_robin", false), ElementsAre(1, 2, 1));
}

TEST(Harvest, PreEvictionKeepsAReserveFree) {
  Harvesting machine(6, {.pre_evict = true, .reserve_chunks = 2});
  const BlockIndex first = machine.allocate(12 * kBlockBytes);
  for (unsigned i = 0; i < 12; ++i) {
    machine.gpu_fill(block_of(first, i), true);
    EXPECT_GE(machine.gpus[0].memory.free_chunks(), 2u);
    EXPECT_EQ(machine.on(block_of(first, i), gpu_processor(0)), 512u) << "not what was just brought";
  }
  EXPECT_EQ(machine.counters.pre_evictions, machine.counters.evictions) << "nobody had to wait for one";
  machine.check();
}

// The copy of a victim from the peer to the host is one piece, or one piece per page.
TEST(Harvest, LargePagesSaveTheWriterAllPiecesButOne) {
  const auto busy = [](bool large_pages) {
    config::SystemConfig system = nvlink();
    system.host.large_pages = large_pages;
    system.host_links[1].device_to_host.run_ns = 40;
    Harvesting machine(1, {.victims = true, .reserve_chunks = 0}, system);
    const BlockIndex first = machine.allocate(2 * kBlockBytes);
    for (unsigned i = 0; i < 2; ++i) machine.gpu_fill(block_of(first, i), true);
    const std::uint64_t before = machine.counters.dtoh_busy_ns;
    machine.wait();
    EXPECT_EQ(machine.counters.peer_write_backs, 1u);
    return machine.counters.dtoh_busy_ns - before;
  };
  EXPECT_NEAR(static_cast<double>(busy(false) - busy(true)), (kPagesPerBlock - 1) * 40, kPagesPerBlock)
      << "a nanosecond of rounding per piece";
}

// Puts four blocks on the host and returns a batch of faults on them.
std::vector<gmmu::FaultEntry> four_from_host(Harvesting& machine, BlockIndex first) {
  for (unsigned i = 0; i < 8; ++i) machine.gpu_fill(block_of(first, i), true);
  std::vector<gmmu::FaultEntry> batch;
  for (unsigned i = 0; i < 4; ++i) {
    gmmu::FaultEntry entry;
    entry.fault.page = PageIndex(block_of(first, i).value * kPagesPerBlock);
    entry.fault.access = gmmu::FaultAccess::kRead;
    entry.fault.arrival = machine.now;
    batch.push_back(entry);
  }
  return batch;
}

TEST(Harvest, ParallelFetchSharesTheBytesBetweenTwoLinks) {
  constexpr std::uint64_t kFaultBytes = 64 << 10;  // bytes that a single fault fetches over the GPU's own link
  const auto main_link_bytes = [](bool parallel) {
    Harvesting machine(4, {.pre_evict = !parallel, .parallel_fetch = parallel, .reserve_chunks = 0});
    const BlockIndex first = machine.allocate(8 * kBlockBytes);
    const auto batch = four_from_host(machine, first);
    machine.events.clear();
    machine.faults.service(0, batch, machine.now);
    std::uint64_t bytes = 0;
    for (const TransferEvent& transfer : machine.events.transfers) {
      if (transfer.direction == TransferDirection::kHostToDevice && transfer.device == 0) bytes += transfer.bytes;
    }
    EXPECT_EQ(bytes, (4 - machine.counters.parallel_fetches) * kFaultBytes) << "each block comes from the host once";
    return bytes;
  };
  EXPECT_EQ(main_link_bytes(false), 4 * kFaultBytes);
  EXPECT_LT(main_link_bytes(true), 4 * kFaultBytes);
}

TEST(Harvest, ParallelFetchTakesTheOtherEndOfTheBatch) {
  HarvestChoice choice{.parallel_fetch = true, .reserve_chunks = 0};
  Harvesting machine(4, choice);
  const BlockIndex first = machine.allocate(8 * kBlockBytes);
  const std::vector<gmmu::FaultEntry> batch = four_from_host(machine, first);
  machine.events.clear();
  machine.faults.service(0, batch, machine.now);
  EXPECT_GE(machine.counters.parallel_fetches, 1u);
  EXPECT_LE(machine.counters.parallel_fetches, 3u) << "the head is the main thread's";
  std::uint64_t over_the_peer = 0;
  for (const TransferEvent& transfer : machine.events.transfers) {
    if (transfer.direction == TransferDirection::kHostToDevice && transfer.device == 1) over_the_peer += transfer.bytes;
  }
  EXPECT_EQ(over_the_peer, machine.counters.parallel_fetches * kBlockBytes);
  machine.check();
}

// In random histories no page is lost or duplicated and the model's state is consistent, also if host memory is
// limited.
TEST(Harvest, RandomHistoriesKeepTheBooks) {
  std::uint64_t swapped = 0, prefetched = 0;
  for (std::uint64_t seed = 0; seed < 90; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    HarvestChoice choice{.victims = true,
                         .pre_evict = seed % 2 == 0,
                         .parallel_fetch = seed % 3 == 0,
                         .reserve_chunks = static_cast<std::uint32_t>(seed % 3),
                         .prefetch = seed % 5 >= 2,
                         .prefetch_chunks = 4,
                         .prefetch_stride = static_cast<std::uint32_t>(1 + seed % 2)};
    config::SystemConfig system = nvlink(3);
    if (seed % 7 >= 4) limit_host(system, 6 * kBlockBytes);
    Harvesting machine(
        5, choice, system, "multipath",
        {{"target", seed % 4 == 0 ? "round_robin" : "min_pending"}, {"demand", seed % 8 >= 6 ? "true" : "false"}});
    // Blocks 0 to 7 belong to GPU 0's program, 8 to 15 to GPU 1's.
    const BlockIndex first = machine.allocate(16 * kBlockBytes);
    for (int step = 0; step < 200; ++step) {
      const auto gpu = static_cast<unsigned>(random.below(2));
      const BlockIndex block = block_of(first, gpu * 8 + static_cast<unsigned>(random.below(8)));
      const auto page = static_cast<unsigned>(random.below(512));
      const auto what = random.below(8);
      SCOPED_TRACE(fmt::format("step {}: {} of GPU {}, block {}, page {}", step, what, gpu, block.value, page));
      switch (what) {
        case 0:
          machine.cpu_access(block, page, random.below(2) == 0);
          break;
        case 1:
          machine.wait();
          break;
        case 2:
          machine.gpu_fill(block, random.below(2) == 0);  // on GPU 0, also for the other program's blocks
          break;
        default:
          machine.gpu_access(block, pages({page}), random.below(2) == 0, gpu);
      }
      machine.prefetch_until(machine.now);
      ASSERT_NO_THROW(machine.check());
    }
    swapped += machine.counters.host_reclaimed_pages;
    prefetched += machine.counters.chunk_prefetches_to_peers + machine.counters.chunk_prefetches_from_peers;
  }
  EXPECT_GT(swapped, 0u);
  EXPECT_GT(prefetched, 0u);
}

TEST(Harvest, AWriteBackTakesLimitedHostMemory) {
  config::SystemConfig system = nvlink();
  limit_host(system, 2 * kBlockBytes);
  Harvesting machine(3, {.victims = true, .reserve_chunks = 0}, system);
  const BlockIndex first = machine.allocate(6 * kBlockBytes);
  for (unsigned i = 0; i < 6; ++i) machine.gpu_fill(block_of(first, i), true);
  machine.wait();
  EXPECT_EQ(machine.counters.peer_write_backs, 3u);
  EXPECT_EQ(machine.counters.host_reclaimed_pages, kPagesPerBlock) << "the host has room for two of the three";
  EXPECT_EQ(machine.host.used_pages(), 2 * kPagesPerBlock);
  machine.check();
}

}  // namespace
}  // namespace uvmsim::driver
