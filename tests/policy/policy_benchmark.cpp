// Cost of one decision. The budget of a block service is 1 us, all of it; a prefetch call may take 0.15 us of that.
#include <benchmark/benchmark.h>

#include <array>

#include "sim/common/random.h"
#include "tests/policy/chunks.h"
#include "tests/policy/faults.h"

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
    if (block.resident.count() + faults > kPagesPerBlock) {
      block.resident.clear();
    }
    c.resident = block.resident;
    while (c.faulted.count() < faults) {
      const auto page = static_cast<unsigned>(random.below(kPagesPerBlock));
      if (!c.resident.test(page)) {
        c.faulted.set(page);
      }
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

// An eviction and the migration that it makes room for, on a GPU of 64 GB.
void evict(benchmark::State& state, const char* name) {
  constexpr std::uint32_t kChunkCount = 32768;
  const auto policy = evictor(name, kChunkCount);
  const FakeChunks chunks(kChunkCount);
  for (std::uint32_t chunk = 0; chunk < kChunkCount; ++chunk) {
    policy->on_migrated(ChunkId{chunk});
  }
  for (auto _ : state) {
    const ChunkId victim = policy->select_victim(chunks);
    policy->on_released(victim);
    policy->on_migrated(victim);
  }
}
BENCHMARK_CAPTURE(evict, lrm, "lrm");
BENCHMARK_CAPTURE(evict, lru, "lru");

}  // namespace
}  // namespace uvmsim::policy
