// SPDX-License-Identifier: Apache-2.0
// Programs that do not fit: closed forms of evictions and bytes.
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/policy/registry.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

// Passes over `blocks` objects of one block each, read one after the other; the host wrote them before.
Program cyclic_scan(std::uint64_t blocks, std::uint64_t passes, bool keep = false) {
  Program program;
  for (std::uint64_t i = 0; i < blocks; ++i) program.host(program.alloc(kBlockBytes));
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    for (std::uint64_t i = 0; i < blocks; ++i) program.kernel("scan", 100000, {i + 1});
    program.sync();
  }
  for (std::uint64_t i = 0; i < blocks && !keep; ++i) program.free(i + 1);
  return program;
}

class Evictors : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(BuiltIn, Evictors, testing::Values("lrm", "lru", "fifo", "clock", "sieve"),
                         [](const auto& info) { return info.param; });

TEST_P(Evictors, ACyclicScanOfOneBlockTooManyMissesAlways) {
  constexpr std::uint64_t kCapacity = 8, kBlocks = kCapacity + 1, kPasses = 5;
  RunOptions options = options_with(kCapacity);
  options.evict.name = GetParam();
  Watched watched;
  const RunResult result = cyclic_scan(kBlocks, kPasses).run(options, &watched);
  const Counters& c = result.counters;
  EXPECT_EQ(bytes_in(c), kPasses * kBlocks * kBlockBytes);
  // all loads but those of the blocks that are resident at the end
  EXPECT_EQ(c.evictions, kPasses * kBlocks - kCapacity);
  EXPECT_EQ(c.dtoh_evict_bytes, c.evictions * kBlockBytes);  // everything resident is written back, dirty or not
  EXPECT_EQ(bytes_out(c), c.dtoh_evict_bytes);
  EXPECT_EQ(c.reloaded_pages, (kPasses - 1) * kBlocks * kPagesPerBlock);
  EXPECT_EQ(c.policy_shortfalls, 0u);
  EXPECT_EQ(watched.peak_chunk_bytes, kCapacity * kBlockBytes);
  // Blocks are evicted in the order in which they migrated.
  for (std::size_t i = 0; i < watched.evictions.size(); ++i) {
    EXPECT_EQ(watched.evictions[i].address, i % kBlocks * kBlockBytes);
    EXPECT_EQ(watched.evictions[i].copied_bytes, kBlockBytes);
  }
}

TEST_P(Evictors, WithRoomForAllEachPassAfterTheFirstIsFree) {
  RunOptions options = options_with(9);
  options.evict.name = GetParam();
  const RunResult result = cyclic_scan(9, 5).run(options);
  EXPECT_EQ(bytes_in(result.counters), 9 * kBlockBytes);
  EXPECT_EQ(bytes_out(result.counters), 0u);
  EXPECT_EQ(result.counters.evictions, 0u);
  EXPECT_EQ(result.counters.reloaded_pages, 0u);
}

// Evictors that evict ahead of need, or in other units, are excluded.
TEST(Eviction, WithRoomForAllEveryEvictorGivesTheSameResult) {
  RunOptions options = options_with(9);
  const RunResult lrm = cyclic_scan(9, 3).run(options);
  for (const policy::PolicyEntry* entry : policy::built_ins()->list()) {
    if (entry->slot != policy::Slot::kEvict || entry->joint() || entry->origin != "built-in" ||
        entry->info.granularity == policy::Granularity::kBigPage || entry->info.name == "free_page_buffer") {
      continue;
    }
    SCOPED_TRACE(entry->info.name);
    options.evict.name = entry->info.name;
    const RunResult result = cyclic_scan(9, 3).run(options);
    EXPECT_EQ(lrm.total, result.total);
    for_each_counter(lrm.counters, [&](const char* name, std::uint64_t value) {
      for_each_counter(result.counters, [&](const char* other, std::uint64_t other_value) {
        if (std::string(name) == other) {
          EXPECT_EQ(value, other_value) << name;
        }
      });
    });
  }
}

// A cyclic scan of a quarter more than memory, whole blocks at a time: an evictor that keeps a part of the data misses
// less than LRU.
TEST(Eviction, ScanResistantEvictorsMoveLessOnACyclicScan) {
  constexpr std::uint64_t kCapacity = 16, kBlocks = 20, kPasses = 12;
  const auto loaded_blocks = [&](const char* evictor) {
    RunOptions options = options_with(kCapacity);
    options.evict.name = evictor;
    return bytes_in(cyclic_scan(kBlocks, kPasses).run(options).counters) / kBlockBytes;
  };
  EXPECT_EQ(loaded_blocks("lru"), kBlocks * kPasses);
  // The optimum: kBlocks + (kPasses - 1) (kBlocks - kCapacity) with bypassing, a little more without.
  const std::uint64_t least = kBlocks + (kPasses - 1) * (kBlocks - kCapacity);
  for (const char* evictor : {"mru", "lirs", "random"}) {
    EXPECT_GE(loaded_blocks(evictor), least) << evictor;
    EXPECT_LT(loaded_blocks(evictor), kBlocks * kPasses * 3 / 4) << evictor;
  }
}

// Evicting 64 KB at a time moves the same when every kernel reads whole blocks, and counts smaller evictions.
TEST(Eviction, SmallChunksEvictTheSameBytesInSmallerPieces) {
  constexpr std::uint64_t kCapacity = 8, kBlocks = kCapacity + 1, kPasses = 5;
  RunOptions options = options_with(kCapacity);
  options.evict = {"lru", {{"granularity", "64k"}}};
  const Counters c = cyclic_scan(kBlocks, kPasses).run(options).counters;
  EXPECT_EQ(bytes_in(c), kPasses * kBlocks * kBlockBytes);
  EXPECT_EQ(c.evictions, (kPasses * kBlocks - kCapacity) * kBigPagesPerBlock);
  EXPECT_EQ(c.dtoh_evict_bytes, c.evictions * kBigPageBytes);
  EXPECT_EQ(c.policy_shortfalls, 0u);
}

// A is used all the time, the other blocks only once. The driver does not see uses and evicts A; LRU keeps it.
TEST(Eviction, LruSeesUsesAndTheDriverDoesNot) {
  Program program;
  for (int i = 0; i < 6; ++i) program.host(program.alloc(kBlockBytes));
  program.kernel("a", 1000, {1});
  for (trace::ObjectId other = 2; other <= 6; ++other) {
    program.kernel("other", 1000, {other});
    program.kernel("a", 1000, {1});
  }
  program.sync();
  RunOptions options = options_with(3);
  Watched lrm;
  // a b | c -> full | d evicts a, a evicts b | e evicts c | f evicts d: a moves twice.
  EXPECT_EQ(bytes_in(program.run(options, &lrm).counters), 7 * kBlockBytes);
  options.evict.name = "lru";
  Watched lru;
  EXPECT_EQ(bytes_in(program.run(options, &lru).counters), 6 * kBlockBytes);
  EXPECT_EQ(lrm.evictions.at(0).address, 0u);
  for (const EvictionEvent& eviction : lru.evictions) EXPECT_NE(eviction.address, 0u);
}

TEST(Eviction, FirstTouchOnTheGpuNeedsNoCopy) {
  Program program;
  const auto data = program.alloc(4 * kBlockBytes);
  program.kernel("fill", 1000, {}, {data});
  const RunResult fits = program.run(options_with(4));
  EXPECT_EQ(fits.counters.populated_pages, 4u * kPagesPerBlock);
  EXPECT_EQ(bytes_in(fits.counters), 0u);
  EXPECT_EQ(fits.counters.evictions, 0u);
}

TEST(Eviction, AKernelLargerThanMemoryEnds) {
  Program program;
  const auto data = program.alloc(10 * kBlockBytes);
  const auto out = program.alloc(10 * kBlockBytes);
  program.host(data);
  program.kernel("large", 1000000, {data}, {out});
  program.free(data);
  program.free(out);
  for (const std::uint64_t chunks : {1u, 2u, 3u, 10u, 19u, 20u}) {
    Watched watched;
    const Counters c = program.run(options_with(chunks), &watched).counters;
    EXPECT_GE(c.htod_fault_bytes + c.htod_prefetch_bytes, 10 * kBlockBytes) << chunks;
    EXPECT_GE(c.populated_pages, 10u * kPagesPerBlock) << chunks;
    EXPECT_LE(watched.peak_chunk_bytes, chunks * kBlockBytes) << chunks;
    if (chunks == 20) {
      EXPECT_EQ(bytes_out(c), 0u);
    }
  }
}

// With one thread and one chunk no block is evicted while partly used, so the closed form is exact.
TEST(Eviction, ASingleChunkServesAWholeScan) {
  constexpr std::uint64_t kBlocks = 5;
  Program program;
  const auto data = program.alloc(kBlocks * kBlockBytes);
  program.host(data);
  for (int pass = 0; pass < 3; ++pass) program.walk("walk", data, 0, kBlocks * kPagesPerBlock);
  program.sync();
  const Counters c = program.run(options_with(1)).counters;
  EXPECT_EQ(bytes_in(c), 3 * kBlocks * kBlockBytes);
  EXPECT_EQ(c.evictions, 3 * kBlocks - 1);
  EXPECT_EQ(bytes_out(c), bytes_in(c) - kBlockBytes);
}

// Without prefetching a lone thread has one fault at a time: a batch, a page and a transaction each.
TEST(Eviction, ALoneThreadFaultsPageByPage) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.host(data);
  program.walk("walk", data, 3, 100);
  program.sync();
  RunOptions options = options_with(0);
  options.prefetch.name = "none";
  Watched watched;
  const Counters c = program.run(options, &watched).counters;
  EXPECT_EQ(c.faulting_pages, 100u);
  EXPECT_EQ(c.fault_batches, 100u);
  EXPECT_EQ(c.htod_fault_transactions, 100u);
  EXPECT_EQ(bytes_in(c), 100 * kPage);
  ASSERT_EQ(watched.transfers.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(watched.transfers[i].address, (3 + i) * kPage);
}

TEST(Eviction, ShortAllocationsShareChunks) {
  // 40 objects of 2 MB + 64 KB: each needs a whole chunk and a slot; 32 slots make a chunk.
  Program program;
  for (int i = 0; i < 40; ++i) program.kernel("fill", 1000, {}, {program.alloc(kBlockBytes + 64 * kKiB)});
  program.sync();
  Watched watched;
  const Counters c = program.run(options_with(42), &watched).counters;
  EXPECT_EQ(c.evictions, 0u);
  EXPECT_EQ(watched.peak_chunk_bytes, 42 * kBlockBytes);
  EXPECT_EQ(watched.resident_bytes, 40 * (kBlockBytes + 64 * kKiB));
  EXPECT_GT(program.run(options_with(41)).counters.evictions, 0u);
}

// A program of 3 MiB needs two chunks: at a factor of 1 nothing is evicted.
TEST(Eviction, AFactorOfOneEvictsNothing) {
  for (const std::uint64_t bytes : {3 * kMiB, 5 * kMiB + kPage, kBlockBytes + 64 * kKiB}) {
    Program program;
    const auto id = program.alloc(bytes);
    for (int i = 0; i < 3; ++i) program.kernel("k", 1000, {}, {id});
    RunOptions options = options_with(0);
    options.limited = true;
    options.osf_thousandths = 1000;
    options.footprint_bytes = measure_footprint(program.source(), "recorded");
    const RunResult result = program.run(options);
    EXPECT_EQ(result.capacity_bytes, result.footprint_bytes);
    EXPECT_EQ(result.counters.evictions, 0u) << bytes;
    options.footprint_bytes = bytes;  // given, and no whole chunks
    EXPECT_EQ(program.run(options).counters.evictions, 0u) << bytes;
  }
}

TEST(Eviction, MoreMemoryThanTheGpuHasIsRefused) {
  Program program;
  program.kernel("k", 1000, {}, {program.alloc(4 * kMiB)});
  RunOptions options = options_with(2);
  options.system.gpus[0].memory_bytes = 8 * kMiB;
  options.system.gpus[0].reserved_bytes = 4 * kMiB;
  EXPECT_EQ(program.run(options).capacity_bytes, 4 * kMiB);
  options.capacity_bytes = 6 * kMiB;
  EXPECT_THROW(program.run(options), InputError);
  options.hypothetical_capacity = true;
  EXPECT_EQ(program.run(options).capacity_bytes, 6 * kMiB);
}

TEST(Eviction, TheFactorDividesTheFootprint) {
  const Program program = cyclic_scan(8, 1, /*keep=*/true);
  EXPECT_EQ(measure_footprint(program.source(), "recorded"), 8 * kBlockBytes);
  RunOptions options = options_with(0);
  options.limited = true;
  options.footprint_bytes = 8 * kBlockBytes;
  for (const auto& [factor, chunks] :
       {std::pair<std::uint64_t, std::uint64_t>{1000, 8}, {2000, 4}, {1250, 6}, {3000, 2}, {8000, 1}, {500, 16}}) {
    options.osf_thousandths = factor;
    EXPECT_EQ(program.run(options).capacity_bytes, chunks * kBlockBytes) << factor;
  }
}

// A cyclic scan moves more, and takes longer, the less memory there is.
TEST(Eviction, ACyclicScanSuffersMoreFromLessMemory) {
  Program program;
  const auto data = program.alloc(16 * kBlockBytes);
  program.host(data);
  for (int pass = 0; pass < 4; ++pass) program.kernel("scan", 100000, {data});
  program.sync();
  std::uint64_t bytes = 0;
  Nanoseconds total{};
  for (const std::uint64_t chunks : {20u, 16u, 15u, 8u, 4u, 2u}) {
    const RunResult result = program.run(options_with(chunks));
    EXPECT_GE(bytes_in(result.counters), bytes) << chunks;
    EXPECT_GE(result.total, total) << chunks;
    bytes = bytes_in(result.counters);
    total = result.total;
  }
  EXPECT_GE(bytes, 4 * 16 * kBlockBytes);
}

// One thread block of 16 warps on one SM; each warp reads and then writes a page in a separate block of 2 MB, with less
// memory than that. All warps load before the first one stores, and by then its block has been evicted: every block is
// loaded twice.
TEST(Eviction, StoresOfASparseKernelFindTheirBlocksGoneAgain) {
  constexpr std::uint64_t kWarps = 16, kCapacity = 8;
  Program program;
  const trace::ObjectId array = program.alloc(kWarps * kBlockBytes);
  program.host(array);
  trace::Kernel& kernel = program.kernel("sparse", 1000, {}, {array});
  kernel.grid = {1, 1, 1};
  kernel.block = {kWarps * 32, 1, 1};
  std::vector<trace::Extent> extents;
  for (std::uint64_t warp = 0; warp < kWarps; ++warp) {
    extents.push_back({warp * kPagesPerBlock, 1, trace::AccessMode::kReadWrite});
    for (unsigned lane = 0; lane < 32; ++lane) {
      kernel.touches.push_back({0, warp * kPagesPerBlock, trace::AccessMode::kRead});
      kernel.touches.push_back({0, warp * kPagesPerBlock, trace::AccessMode::kWrite});
    }
  }
  kernel.accesses[0].extents = extents;
  program.sync();
  RunOptions options = options_with(kCapacity);
  options.system.gmmu.fault_regions_per_sm = 2;  // blocks migrate a few at a time
  const Counters c = program.run(options).counters;
  EXPECT_EQ(c.evictions, bytes_in(c) / (16 * kPage) - kCapacity);
  EXPECT_EQ(bytes_in(c) / (16 * kPage), 2 * kWarps);
}

}  // namespace
}  // namespace uvmsim
