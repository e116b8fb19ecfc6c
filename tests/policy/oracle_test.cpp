// SPDX-License-Identifier: Apache-2.0
// Compares evictors that know the future with brute force over all choices, with closed forms, and with every other
// evictor.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/bounds/frames.h"
#include "tests/policy/golden_streams.h"

namespace uvmsim::policy::oracle_test {
namespace {

// Returns the least cost of any sequence of choices. The search keeps all contents of memory that are possible after
// every access, with the least cost to reach them. A load costs 1, a write-back of a written page `write_back`; writing
// back at the end costs nothing.
struct Access {
  std::uint64_t page;
  bool write;
};
std::uint64_t least_cost(const std::vector<Access>& accesses, std::size_t frames, std::uint64_t write_back) {
  using Memory = std::map<std::uint64_t, bool>;  // page -> written
  std::map<Memory, std::uint64_t> reachable = {{{}, 0}};
  for (const Access& access : accesses) {
    std::map<Memory, std::uint64_t> next;
    const auto reach = [&](Memory memory, std::uint64_t cost) {
      memory[access.page] = memory[access.page] || access.write;
      const auto [place, fresh] = next.try_emplace(std::move(memory), cost);
      if (!fresh) place->second = std::min(place->second, cost);
    };
    for (const auto& [memory, cost] : reachable) {
      if (memory.count(access.page) != 0) {
        reach(memory, cost);
      } else if (memory.size() < frames) {
        reach(memory, cost + 1);
      } else {
        for (const auto& [victim, written] : memory) {
          Memory rest = memory;
          rest.erase(victim);
          reach(std::move(rest), cost + 1 + (written ? write_back : 0));
        }
      }
    }
    reachable = std::move(next);
  }
  std::uint64_t least = ~std::uint64_t{0};
  for (const auto& [memory, cost] : reachable) least = std::min(least, cost);
  return least;
}

Pages random_pages(Random& random, std::uint64_t universe, int length) {
  Pages pages;
  for (int i = 0; i < length; ++i) pages.push_back(random.below(1 + random.below(universe)));
  return pages;
}

// Property V5 (docs/policies.md).
TEST(Min, LoadsTheLeastPossible) {
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    const std::uint64_t universe = 2 + random.below(5);
    const Pages pages = random_pages(random, universe, 4 + static_cast<int>(random.below(11)));
    const auto frames = static_cast<std::uint32_t>(1 + random.below(4));
    std::vector<Access> reads;
    for (const std::uint64_t page : pages) reads.push_back({page, false});
    const std::uint64_t least = least_cost(reads, frames, 0);
    ASSERT_EQ(misses_of("min", pages, frames), least) << "round " << round;
    ASSERT_EQ(misses_of("min_kernel", pages, frames), least) << "round " << round;
    ASSERT_EQ(misses_of("min_dirty", pages, frames), least) << "nothing is written, round " << round;
    ASSERT_EQ(optimal_misses(pages, frames), least) << "round " << round;
  }
}

TEST(Min, IsBeladysOnTheStreamsOfLibCacheSim) {
  for (const char* stream : {"uniform", "skew4", "cyclic", "zigzag", "scanhot", "phases", "loops"}) {
    const Pages pages = golden_stream(stream);
    for (const std::uint32_t frames : {20u, 50u, 100u, 150u}) {
      EXPECT_EQ(misses_of("min", pages, frames), optimal_misses(pages, frames)) << stream << ", " << frames;
    }
  }
}

// V2: MIN loads no more than any other evictor.
TEST(Min, NeverLoadsMoreThanAnyOther) {
  Random random(12);
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t universe = 2 + random.below(40);
    const Pages pages = random_pages(random, universe, 400);
    const auto frames = static_cast<std::uint32_t>(1 + random.below(universe));
    const std::uint64_t least = misses_of("min", pages, frames);
    for (const PolicyEntry* entry : built_ins()->list()) {
      // policies that fill several slots may leave pages on the host
      if (entry->slot != Slot::kEvict || entry->joint()) continue;
      ASSERT_GE(misses_of(entry->info.name, pages, frames), least) << entry->info.name << ", round " << round;
    }
  }
}

TEST(Min, ClosedForms) {
  EXPECT_EQ(misses_of("min", {7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1}, 3), 9u);
  const Pages anomaly = {1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5};
  EXPECT_EQ(misses_of("min", anomaly, 3), 7u);
  EXPECT_EQ(misses_of("min", anomaly, 4), 6u);
  const std::map<std::uint32_t, std::uint64_t> scans = {
      {800, 1600}, {666, 2002}, {500, 2500}, {250, 3250}, {100, 3700}};
  for (const auto& [frames, misses] : scans) {
    EXPECT_EQ(misses_of("min", cyclic(1000, 4), frames), misses) << frames;
    EXPECT_EQ(misses_of("min", zigzag(1000, 4), frames), misses) << frames;
  }
}

// Compares with counts on a bare stream of pages that may be used without being loaded: published numbers, closed
// forms, another implementation.
TEST(MinBypass, LoadsWhatMinWithBypassLoads) {
  EXPECT_EQ(misses_of("min_bypass", {7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1}, 3), 8u);
  EXPECT_EQ(misses_of("min_bypass", cyclic(5, 10), 4), 14u);
  EXPECT_EQ(misses_of("min_bypass", cyclic(10, 10), 8), 28u);
  EXPECT_EQ(misses_of("min_bypass", cyclic(16, 10), 8), 88u);
  for (const std::uint32_t frames : {800u, 666u, 500u, 250u, 100u}) {
    EXPECT_EQ(misses_of("min_bypass", cyclic(1000, 4), frames), 1000 + 3 * (1000 - frames));
  }
  std::uint64_t x = 1;
  const auto draw = [&] { return (x = (1103515245 * x + 12345) % (std::uint64_t{1} << 31)) >> 8; };
  Pages uniform;
  for (int i = 0; i < 20000; ++i) uniform.push_back(draw() % 1000);
  const std::map<std::uint32_t, std::uint64_t> published = {
      {800, 1848}, {666, 2743}, {500, 4327}, {250, 8027}, {100, 12086}};
  for (const auto& [frames, misses] : published) EXPECT_EQ(misses_of("min_bypass", uniform, frames), misses);

  Random random(15);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t universe = 2 + random.below(30);
    const Pages pages = random_pages(random, universe, 200);
    const auto frames = static_cast<std::uint32_t>(1 + random.below(universe));
    bounds::Frames cache(pages.size(), frames);
    std::map<std::uint64_t, std::size_t> last;
    std::uint64_t least = 0;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const auto [at, first] = last.try_emplace(pages[i], i);
      if (first || cache.keep(at->second, i, 1) == 0) ++least;
      at->second = i;
    }
    ASSERT_EQ(misses_of("min_bypass", pages, frames), least) << round;
    ASSERT_EQ(misses_of("min_bypass", pages, frames, {{"granularity", "64k"}}), least) << round;
    ASSERT_LE(least, misses_of("min", pages, frames)) << round;
  }
}

std::uint64_t cost_of(const char* evictor, const std::vector<Access>& accesses, std::uint32_t frames,
                      std::uint64_t write_back) {
  Pages pages;
  for (const Access& access : accesses) pages.push_back(access.page);
  const PolicyEntry& entry = built_ins()->find(Slot::kEvict, evictor);
  Future future = stream_future(pages);
  GivenParameters given;
  if (entry.parameters.size() > 1) given = {{"write_back_percent", std::to_string(write_back * 100)}};
  PageCache cache(entry, given, frames, 1, entry.wants_future ? &future : nullptr);
  for (const Access& access : accesses) cache.access(access.page, access.write);
  return cache.misses() + write_back * cache.write_backs();
}

// The exact problem is NP-complete. The heuristic lies between the optimum and, over many streams, plain MIN.
TEST(MinDirty, CostsLessThanMinOnTheWholeAndNeverLessThanPossible) {
  Random random(13);
  std::uint64_t optimum = 0, weighing = 0, plain = 0, landlord = 0, lru = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Access> accesses;
    for (int i = 0; i < 16; ++i) {
      const std::uint64_t page = random.below(6);
      accesses.push_back({page, page % 2 == 0 && random.below(3) != 0});
    }
    constexpr std::uint64_t kWriteBack = 3;
    const std::uint64_t least = least_cost(accesses, 3, kWriteBack);
    const std::uint64_t cost = cost_of("min_dirty", accesses, 3, kWriteBack);
    ASSERT_GE(cost, least) << round;
    optimum += least;
    weighing += cost;
    plain += cost_of("min", accesses, 3, kWriteBack);
    landlord += cost_of("landlord", accesses, 3, kWriteBack);
    lru += cost_of("lru", accesses, 3, kWriteBack);
  }
  EXPECT_LT(weighing, plain);
  EXPECT_LT(weighing * 100, optimum * 115);
  EXPECT_LT(landlord, lru);
}

// Landlord implemented literally: a credit per page, and the rent is taken from all.
TEST(Landlord, AgreesWithCreditsOneByOne) {
  Random random(14);
  for (int round = 0; round < 300; ++round) {
    const auto frames = static_cast<std::uint32_t>(1 + random.below(6));
    const std::uint64_t write_back = random.below(4);
    struct Tenant {
      std::uint64_t page, credit, last;
      bool written;
    };
    const PolicyEntry& entry = built_ins()->find(Slot::kEvict, "landlord");
    PageCache cache(entry, {{"write_back_percent", std::to_string(write_back * 100)}}, frames);
    std::vector<Tenant> tenants;
    for (std::uint64_t i = 0; i < 120; ++i) {
      const std::uint64_t page = random.below(10);
      const bool write = random.below(3) == 0;
      const auto found =
          std::find_if(tenants.begin(), tenants.end(), [&](const Tenant& tenant) { return tenant.page == page; });
      ASSERT_EQ(cache.access(page, write), found != tenants.end()) << "round " << round << ", access " << i;
      if (found != tenants.end()) {
        found->written = found->written || write;
        found->last = i;
        found->credit = 1 + (found->written ? write_back : 0);
        continue;
      }
      if (tenants.size() == frames) {
        const auto poorest = std::min_element(tenants.begin(), tenants.end(), [](const Tenant& a, const Tenant& b) {
          return std::pair(a.credit, a.last) < std::pair(b.credit, b.last);
        });
        const std::uint64_t rent = poorest->credit;
        tenants.erase(poorest);
        for (Tenant& tenant : tenants) tenant.credit -= rent;
      }
      tenants.push_back({page, 1 + (write ? write_back : 0), i, write});
    }
  }
}

// Each kernel is a set of uses: pages of the present kernel are evicted last, even if another page's next use has a
// nearer position.
TEST(MinKernel, TakesTheUsesOfAKernelTogether) {
  Future future;
  future.add_operation(1);
  for (const std::uint64_t content : {0u, 1u, 2u}) future.add_use(ContentIndex(content));
  future.add_operation(2);
  for (const std::uint64_t content : {5u, 6u, 7u, 0u}) future.add_use(ContentIndex(content));  // more than fit
  future.add_operation(3);
  for (const std::uint64_t content : {1u, 2u}) future.add_use(ContentIndex(content));
  future.finish();
  future.enter(2);
  future.arrive(ContentIndex(0));
  struct Chunks final : EvictionQueries {
    bool evictable(ChunkId) const override { return true; }
    ChunkView view(ChunkId chunk) const override { return {ContentIndex(contents[chunk.value]), 512, 512}; }
    Nanoseconds now() const override { return {}; }
    ContentIndex incoming() const override { return ContentIndex(0); }
    std::uint32_t free_chunks() const override { return 0; }
    std::uint64_t contents[3] = {5, 1, 2};
  } chunks;
  const auto fill = [&](Evictor& evictor) {
    for (std::uint32_t chunk = 0; chunk < 3; ++chunk) {
      evictor.on_allocated(ChunkId{chunk}, ContentIndex(chunks.contents[chunk]));
      evictor.on_migrated(ChunkId{chunk});
    }
  };
  const auto by_use = built_ins()->create<Evictor>("min", {}, 1, 3, &future);
  fill(*by_use);
  EXPECT_EQ(by_use->select_victim(chunks).value, 0u) << "5 has been used, and is not used again";
  const auto by_kernel = built_ins()->create<Evictor>("min_kernel", {}, 1, 3, &future);
  fill(*by_kernel);
  EXPECT_EQ(by_kernel->select_victim(chunks).value, 1u) << "1 and 2 are both of the next kernel, 5 is of this one";
}

}  // namespace
}  // namespace uvmsim::policy::oracle_test
