// SPDX-License-Identifier: Apache-2.0
// Tests of prefetching beyond the faulted block: which pages of other blocks migrate, which are evicted, and what
// policies are told.
#include <gtest/gtest.h>

#include "sim/common/random.h"
#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

// A prefetcher that requests the pages that the test sets, with every fault of a GPU.
class Wanting final : public policy::Prefetcher {
 public:
  PageMask prefetch(const policy::FaultedBlock& block) override {
    allocation = block.allocation;
    return {};
  }
  void prefetch_beyond(const policy::FaultedBlock&, const policy::PrefetchQueries& queries,
                       std::vector<policy::PageSpan>& wanted) override {
    ++asked;
    free_chunks = queries.free_chunks();
    missing = queries.missing(BlockIndex(1));
    EXPECT_TRUE(queries.missing(BlockIndex(1000)).empty());
    wanted.insert(wanted.end(), spans.begin(), spans.end());
  }
  void on_evicted(BlockIndex block, const PageMask& pages, const PageMask& touched) override {
    evicted.push_back({block, pages, touched});
  }

  struct Evicted {
    BlockIndex block;
    PageMask pages, touched;
  };
  std::vector<policy::PageSpan> spans;
  std::vector<Evicted> evicted;
  int asked = 0;
  policy::PageSpan allocation;
  std::uint32_t free_chunks = 0;
  PageMask missing;
};

struct World {
  explicit World(std::uint32_t chunks, const std::string& evictor = "lrm",
                 const policy::GivenParameters& parameters = {})
      : machine(chunks, tiny_system(), evictor, parameters, std::make_unique<Wanting>()),
        policy(static_cast<Wanting&>(*machine.prefetcher)) {}
  void want(std::uint64_t first, std::uint64_t end) { policy.spans.push_back({PageIndex(first), PageIndex(end)}); }

  Machine machine;
  Wanting& policy;
};

TEST(PrefetchBeyond, BringsPagesOfOtherBlocksMapped) {
  World world(4);
  Machine& machine = world.machine;
  machine.allocate(3 * kBlockBytes);
  machine.cpu_fill(BlockIndex(1));
  world.want(500, 530);
  machine.events.clear();
  const Counters before = machine.counters;
  const BatchSummary summary = machine.gpu_read(BlockIndex(0), pages({3}));
  EXPECT_EQ(world.policy.asked, 1);
  EXPECT_EQ(world.policy.allocation, (policy::PageSpan{PageIndex(0), PageIndex(3 * 512)}));
  EXPECT_EQ(world.policy.free_chunks, 4u);
  EXPECT_EQ(world.policy.missing, PageMask::all());
  EXPECT_EQ(machine.on_gpu(BlockIndex(0)).resident, pages({3}) | page_range(500, 512));
  EXPECT_EQ(machine.on_gpu(BlockIndex(1)).resident, page_range(0, 18));
  EXPECT_EQ(machine.on_gpu(BlockIndex(1)).mapped, page_range(0, 18));
  EXPECT_EQ(machine.on_gpu(BlockIndex(1)).writable, page_range(0, 18));
  EXPECT_EQ(machine.counters.prefetched_pages - before.prefetched_pages, 30u);
  EXPECT_EQ(machine.counters.htod_prefetch_bytes - before.htod_prefetch_bytes, 18 * kBasePageBytes);
  EXPECT_EQ(machine.counters.blocks_serviced - before.blocks_serviced, 1u);
  ASSERT_EQ(machine.events.transfers.size(), 1u);
  EXPECT_GE(summary.end, machine.events.transfers[0].end) << "the replay waits for what comes";
  machine.check();
}

TEST(PrefetchBeyond, LeavesOutWhatIsThereWhatIsNotAllocatedAndWhatHasHints) {
  World world(8);
  Machine& machine = world.machine;
  machine.allocate();
  const BlockIndex tail = machine.allocate(10 * kBasePageBytes), freed = machine.allocate(),
                   hinted = machine.allocate(), there = machine.allocate();
  machine.gpu_read(there, page_range(0, 100));
  machine.residency.departures().release(freed);
  machine.space.free(freed, 1);
  machine.advise(hinted, trace::Advice::kSetPreferredLocation);
  world.want(0, 1000 * 512);
  machine.gpu_read(BlockIndex(0), pages({0}));
  EXPECT_EQ(machine.on_gpu(BlockIndex(0)).resident, PageMask::all());
  EXPECT_EQ(machine.on_gpu(tail).resident, page_range(0, 10));
  EXPECT_TRUE(machine.on_gpu(hinted).resident.empty());
  EXPECT_EQ(machine.on_gpu(there).resident, PageMask::all());
  machine.check();
}

TEST(PrefetchBeyond, EvictsOthersButNothingOfItsBatch) {
  for (const char* size : {"2m", "64k"}) {
    World world(3, "lru", {{"granularity", size}});
    Machine& machine = world.machine;
    machine.allocate(6 * kBlockBytes);
    for (const std::uint64_t b : {3u, 4u, 5u}) machine.gpu_read(BlockIndex(b), PageMask::all());
    world.want(512, 6 * 512);  // requests blocks 1 to 5, of which two fit in addition to block 0
    machine.gpu_read(BlockIndex(0), PageMask::all());
    EXPECT_EQ(machine.on_gpu(BlockIndex(0)).resident, PageMask::all()) << size;
    EXPECT_EQ(machine.on_gpu(BlockIndex(1)).resident, PageMask::all()) << size;
    EXPECT_EQ(machine.on_gpu(BlockIndex(2)).resident, PageMask::all()) << size;
    for (const std::uint64_t b : {3u, 4u, 5u}) EXPECT_TRUE(machine.on_gpu(BlockIndex(b)).resident.empty()) << size;
    machine.check();
  }
}

TEST(PrefetchBeyond, WithoutRoomNothingComes) {
  for (const char* size : {"2m", "64k"}) {
    World world(1, "lru", {{"granularity", size}});
    Machine& machine = world.machine;
    machine.allocate(2 * kBlockBytes);
    machine.allocate(20 * kBasePageBytes);
    world.want(512, 3 * 512);
    machine.gpu_read(BlockIndex(0), PageMask::all());
    EXPECT_EQ(machine.on_gpu(BlockIndex(0)).resident, PageMask::all()) << size;
    EXPECT_TRUE(machine.on_gpu(BlockIndex(1)).resident.empty()) << size;
    EXPECT_TRUE(machine.on_gpu(BlockIndex(2)).resident.empty()) << size;
    EXPECT_EQ(machine.counters.evictions, 0u) << size;
    machine.check();
  }
}

TEST(PrefetchBeyond, WhatAnotherGpuHoldsStaysThere) {
  Machine machine(4, tiny_system(2), "lrm", {}, std::make_unique<Wanting>());
  auto& policy = static_cast<Wanting&>(*machine.prefetcher);
  machine.allocate(2 * kBlockBytes);
  machine.gpu_read(BlockIndex(1), page_range(0, 10), 1);
  policy.spans.push_back({PageIndex(512), PageIndex(540)});
  machine.gpu_read(BlockIndex(0), pages({0}), 0);
  EXPECT_EQ(policy.missing, page_range(10, 512));
  EXPECT_EQ(machine.on_gpu(BlockIndex(1), 1).resident, page_range(0, 10));
  EXPECT_EQ(machine.on_gpu(BlockIndex(1), 0).resident, page_range(10, 28));
  machine.check();
}

TEST(PrefetchBeyond, CpuFaultsAskForNothing) {
  World world(2);
  world.machine.allocate(2 * kBlockBytes);
  world.want(512, 1024);
  world.machine.cpu_write(BlockIndex(0), 0);
  EXPECT_EQ(world.policy.asked, 0);
  EXPECT_TRUE(world.machine.on_host(BlockIndex(1)).resident.empty());
}

TEST(PrefetchBeyond, PoliciesHearWhatIsEvictedAndWhatWasUsedOfIt) {
  for (const bool sees : {false, true}) {
    World world(1);
    Machine& machine = world.machine;
    machine.context.access_bits.kept = sees;
    machine.allocate(2 * kBlockBytes);
    world.want(100, 200);
    machine.gpu_read(BlockIndex(0), pages({3, 4}));
    world.policy.spans.clear();
    machine.gpu_read(BlockIndex(1), pages({0}));
    ASSERT_EQ(world.policy.evicted.size(), 1u);
    EXPECT_EQ(world.policy.evicted[0].block, BlockIndex(0));
    EXPECT_EQ(world.policy.evicted[0].pages, pages({3, 4}) | page_range(100, 200));
    EXPECT_EQ(world.policy.evicted[0].touched, sees ? pages({3, 4}) : PageMask{});
    machine.gpu_read(BlockIndex(0), pages({9}));
    machine.gpu_read(BlockIndex(1), pages({0}));
    EXPECT_EQ(world.policy.evicted.back().touched, sees ? pages({9}) : PageMask{}) << "old uses are forgotten";
  }
}

// With random requests the model's state stays consistent, and faulted pages are resident after the batch.
TEST(PrefetchBeyond, RandomWishesKeepTheBooks) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const bool small = seed % 2 == 1;
    World world(static_cast<std::uint32_t>(1 + random.below(5)), small ? "lru" : "lrm",
                small ? policy::GivenParameters{{"granularity", "64k"}} : policy::GivenParameters{});
    Machine& machine = world.machine;
    std::vector<BlockIndex> firsts;
    for (int i = 0; i < 6; ++i) firsts.push_back(machine.allocate((1 + random.below(1000)) * kBasePageBytes));
    const std::uint64_t pages_there = machine.space.block_count() * kPagesPerBlock;
    for (int step = 0; step < 60; ++step) {
      world.policy.spans.clear();
      for (std::uint64_t spans = random.below(4); spans > 0; --spans) {
        const std::uint64_t first = random.below(pages_there);
        world.want(first, first + 1 + random.below(random.below(2) == 0 ? 2000 : 40));
      }
      const BlockIndex block(random.below(machine.space.block_count()));
      const VaBlock& there = machine.space.block(block);
      const auto page = static_cast<unsigned>(there.first_page + random.below(there.end_page - there.first_page));
      if (random.below(5) == 0) {
        machine.cpu_write(block, page);
      } else {
        machine.gpu_access(block, pages({page}), random.below(2) == 0);
        EXPECT_TRUE(machine.on_gpu(block).mapped.test(page)) << "seed " << seed << ", step " << step;
      }
      machine.check();
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(machine.counters.policy_shortfalls, 0u);
  }
}

}  // namespace
}  // namespace uvmsim::driver
