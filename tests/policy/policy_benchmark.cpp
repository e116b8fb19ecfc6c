// SPDX-License-Identifier: Apache-2.0
// Measures the cost of one decision. The budget for servicing a block is 1 us in total, of which a prefetch call may
// take 0.15 us.
#include <benchmark/benchmark.h>

#include <array>

#include "sim/common/random.h"
#include "tests/policy/chunks.h"
#include "tests/policy/faults.h"
#include "tests/policy/page_cache.h"

namespace uvmsim::policy {
namespace {

constexpr std::size_t kCases = 256;

struct Case {
  PageMask resident;
  PageMask faulted;
};

// The block fills as it does in a run, with `faults` random missing pages per batch; starts over when it is full.
std::array<Case, kCases> cases(Prefetcher& policy, unsigned faults) {
  Random random(1);
  std::array<Case, kCases> result;
  BlockUnderTest block{policy};
  for (Case& c : result) {
    if (block.resident.count() + faults > kPagesPerBlock) block.resident.clear();
    c.resident = block.resident;
    while (c.faulted.count() < faults) {
      const auto page = static_cast<unsigned>(random.below(kPagesPerBlock));
      if (!c.resident.test(page)) c.faulted.set(page);
    }
    block.service(c.faulted);
  }
  return result;
}

void prefetch(benchmark::State& state, const char* name, unsigned first_page) {
  const auto policy = prefetcher(name);
  const auto inputs = cases(*policy, static_cast<unsigned>(state.range(0)));
  const PageMask inside = PageMask::range(first_page, kPagesPerBlock - first_page);
  BlockUnderTest block{*policy, first_page};
  std::size_t next = 0;
  for (auto _ : state) {
    const Case& c = inputs[next++ % kCases];
    block.resident = c.resident & inside;
    benchmark::DoNotOptimize(block.added(c.faulted & inside));
  }
}
BENCHMARK_CAPTURE(prefetch, tree, "tree", 0)->Arg(1)->Arg(8)->Arg(64)->Arg(256);
BENCHMARK_CAPTURE(prefetch, tree_unaligned, "tree", 37)->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(prefetch, sequential, "sequential", 0)->Arg(1)->Arg(64);
BENCHMARK_CAPTURE(prefetch, none, "none", 0)->Arg(1);

// Measures an eviction and the migration that it makes room for, on a GPU of 64 GB, with a scan of twice as much
// memory.
void evict(benchmark::State& state, const char* name) {
  constexpr std::uint32_t kChunkCount = 32768;
  PageCache cache(built_ins()->find(Slot::kEvict, name), {}, kChunkCount);
  std::uint64_t page = 0;
  for (; page < kChunkCount; ++page) cache.access(page);
  for (auto _ : state) cache.access(page++ % (2 * kChunkCount));
}
// Measures an access to a resident chunk.
void touch(benchmark::State& state, const char* name) {
  constexpr std::uint32_t kChunkCount = 32768;
  const auto policy = evictor(name, kChunkCount);
  for (std::uint32_t chunk = 0; chunk < kChunkCount; ++chunk) {
    policy->on_allocated(ChunkId{chunk}, ContentIndex(chunk));
    policy->on_migrated(ChunkId{chunk});
  }
  Random random(1);
  for (auto _ : state) policy->on_touched(ChunkId{static_cast<std::uint32_t>(random.below(kChunkCount))});
}
const bool kEvictors = [] {
  for (const PolicyEntry* entry : built_ins()->list()) {
    if (entry->slot != Slot::kEvict) continue;
    const char* name = entry->info.name.c_str();
    benchmark::RegisterBenchmark(("evict/" + entry->info.name).c_str(), evict, name);
    if (entry->info.information >= InformationClass::kD2) {
      benchmark::RegisterBenchmark(("touch/" + entry->info.name).c_str(), touch, name);
    }
  }
  return true;
}();

}  // namespace
}  // namespace uvmsim::policy
