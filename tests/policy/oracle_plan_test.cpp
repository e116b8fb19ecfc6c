// SPDX-License-Identifier: Apache-2.0
// Compares planners that know the future with a search through every schedule of small machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "policies/plan/exchanges.h"
#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/policy/registry.h"
#include "tests/policy/plan_machine.h"

namespace uvmsim::policy {
namespace {

using ::testing::ElementsAre;
using Kernels = std::vector<std::vector<BlockIndex>>;

KernelFuture future_of(const Kernels& kernels, std::uint32_t chunks) {
  KernelFuture future;
  future.chunks = chunks;
  for (const std::vector<BlockIndex>& blocks : kernels) {
    FutureKernel& kernel = future.kernels.emplace_back();
    for (const BlockIndex b : blocks) kernel.uses.push_back({b, b.value});
  }
  return future;
}

Kernels random_kernels(Random& random, std::uint64_t count, std::uint64_t blocks, std::uint64_t most) {
  Kernels kernels(count);
  for (std::vector<BlockIndex>& kernel : kernels) {
    std::set<std::uint64_t> used;
    for (std::uint64_t n = 1 + random.below(most); n > 0; --n) used.insert(random.below(blocks));
    for (const std::uint64_t b : used) kernel.push_back(BlockIndex(b));
  }
  return kernels;
}

// Returns the fewest fetches if all blocks of a kernel must be in memory at the same time, by a search through all
// contents of memory.
std::uint64_t fewest_fetches(const Kernels& kernels, std::uint64_t chunks) {
  std::map<unsigned, std::uint64_t> costs{{0u, 0u}};  // by content, as bits
  for (const std::vector<BlockIndex>& kernel : kernels) {
    unsigned needed = 0;
    for (const BlockIndex b : kernel) needed |= 1u << b.value;
    std::map<unsigned, std::uint64_t> next;
    for (const auto& [content, cost] : costs) {
      const unsigned all = content | needed;
      const auto fetched = static_cast<std::uint64_t>(__builtin_popcount(needed & ~content));
      for (unsigned kept = all;; kept = (kept - 1) & all) {  // every subset
        if ((kept & needed) == needed && static_cast<std::uint64_t>(__builtin_popcount(kept)) <= chunks) {
          const auto [entry, fresh] = next.emplace(kept, cost + fetched);
          if (!fresh) entry->second = std::min(entry->second, cost + fetched);
        }
        if (kept == 0) break;
      }
    }
    costs = std::move(next);
  }
  std::uint64_t least = ~std::uint64_t{0};
  for (const auto& [content, cost] : costs) least = std::min(least, cost);
  return least;
}

TEST(Exchanges, AreTheFewestFetchesAndDoNoHarm) {
  Random random(1);
  for (int instance = 0; instance < 300; ++instance) {
    const Kernels kernels = random_kernels(random, 1 + random.below(12), 6, 3);
    const std::uint64_t chunks = 3 + random.below(3);
    const std::vector<Exchange> exchanges = min_exchanges(kernels, chunks);
    EXPECT_EQ(exchanges.size(), fewest_fetches(kernels, chunks)) << instance;
    for (const Exchange& exchange : exchanges) {
      if (!exchange.replaces) continue;
      EXPECT_LE(exchange.free_after, exchange.needed);
      for (std::uint64_t k = exchange.free_after; k <= exchange.needed; ++k) {
        EXPECT_EQ(std::count(kernels[k].begin(), kernels[k].end(), exchange.out), 0);
      }
    }
  }
}

TEST(Exchanges, OfACyclicScanAreThoseOfMin) {
  // A cycle of N blocks, L times, with memory for C, takes N + (L - 1) (N - C) fetches with bypassing. Here the block
  // in use must be in memory, so that MIN keeps C - 1 others (Belady) and sometimes fetches once more.
  Kernels kernels;
  for (int pass = 0; pass < 4; ++pass) {
    for (std::uint64_t b = 0; b < 6; ++b) kernels.push_back(blocks({b}));
  }
  EXPECT_EQ(min_exchanges(kernels, 6).size(), 6u);
  EXPECT_EQ(min_exchanges(kernels, 4).size(), fewest_fetches(kernels, 4));
  EXPECT_EQ(min_exchanges(kernels, 1).size(), 24u);
}

// A machine whose link takes `fetch` units of time per block; each kernel takes one unit of time and uses one block.
class TimedMachine final : public PlanQueries {
 public:
  TimedMachine(Planner& planner, const Kernels& kernels, std::uint32_t chunks, int fetch)
      : planner_(planner), kernels_(kernels), chunks_(chunks), fetch_(fetch) {}

  // Runs until the last kernel has ended; returns the time.
  int run() {
    for (std::size_t k = 0; k < kernels_.size(); ++k) planner_.on_launched({.number = k, .name = ""});
    planner_.on_begin({.number = 0, .name = ""});
    for (std::size_t k = 0; k < kernels_.size();) {
      obey();
      const bool runs = here_.contains(kernels_[k].front().value);
      ++time_;
      if (coming_ && --left_ == 0) {
        here_.insert(coming_->value);
        coming_.reset();
      }
      if (!runs) continue;
      planner_.on_end(k++);
      if (k < kernels_.size()) planner_.on_begin({.number = k, .name = ""});
    }
    return time_;
  }
  int fetches = 0;

 private:
  PageMask missing(BlockIndex b) const override {
    return here_.contains(b.value) || coming_ == b ? PageMask{} : PageMask::all();
  }
  bool evictable(BlockIndex b) const override { return here_.contains(b.value); }
  bool inactive(BlockIndex) const override { return false; }
  std::uint32_t free_chunks() const override {
    return chunks_ - static_cast<std::uint32_t>(here_.size()) - (coming_ ? 1 : 0);
  }
  Nanoseconds now() const override { return Nanoseconds(time_); }

  void obey() {
    while (!coming_) {
      const PlanCommand command = planner_.next(*this);
      if (command.kind == PlanCommand::Kind::kNone) return;
      if (command.kind == PlanCommand::Kind::kPrefetch) {
        ASSERT_NE(free_chunks(), 0u);
        coming_ = command.block;
        left_ = fetch_;
        ++fetches;
        planner_.on_migrated(command.block);
      } else {
        ASSERT_EQ(here_.erase(command.block.value), 1u);
        planner_.on_released(command.block);
      }
    }
  }

  Planner& planner_;
  const Kernels& kernels_;
  std::uint32_t chunks_;
  int fetch_, time_ = 0, left_ = 0;
  std::set<std::uint64_t> here_;
  std::optional<BlockIndex> coming_;
};

// Returns the least time, by a search through every state, one unit of time after another.
int shortest_time(const Kernels& kernels, std::uint32_t chunks, int fetch, unsigned block_count) {
  struct State {
    std::size_t kernel;
    unsigned here;
    int coming, left;  // -1: no block
    auto operator<=>(const State&) const = default;
  };
  std::set<State> states{{0, 0, -1, 0}};
  for (int time = 0;; ++time) {
    std::set<State> next;
    const auto pass = [&](State s) {
      const bool runs = (s.here >> kernels[s.kernel].front().value & 1) != 0;
      if (s.coming >= 0 && --s.left == 0) {
        s.here |= 1u << s.coming;
        s.coming = -1;
      }
      if (runs) ++s.kernel;
      next.insert(s);
    };
    for (const State& s : states) {
      if (s.kernel == kernels.size()) return time;
      pass(s);
      if (s.coming >= 0) continue;
      for (unsigned b = 0; b < block_count; ++b) {
        if ((s.here >> b & 1) != 0) continue;
        if (static_cast<unsigned>(__builtin_popcount(s.here)) < chunks) {
          pass({s.kernel, s.here, static_cast<int>(b), fetch});
        }
        for (unsigned out = 0; out < block_count; ++out) {
          if ((s.here >> out & 1) != 0) pass({s.kernel, s.here & ~(1u << out), static_cast<int>(b), fetch});
        }
      }
    }
    states = std::move(next);
  }
}

struct Timed {
  int time, fetches;
};
Timed timed(const char* name, const Kernels& kernels, std::uint32_t chunks, int fetch) {
  const KernelFuture future = future_of(kernels, chunks);
  const auto planner = built_ins()->create<Planner>(name, {{"reserve_chunks", "0"}}, 1, chunks, &future);
  TimedMachine machine(*planner, kernels, chunks, fetch);
  const int time = machine.run();
  return {time, machine.fetches};
}

// Cao, Felten, Karlin, Li: the aggressive algorithm takes at most min(1 + F / K, 2) times the least time, the
// conservative one at most twice the least time.
TEST(OraclePlanners, AreAsCloseToTheOptimumAsTheTheoremsSay) {
  Random random(2);
  for (int instance = 0; instance < 120; ++instance) {
    const Kernels kernels = random_kernels(random, 4 + random.below(7), 5, 1);
    const auto chunks = static_cast<std::uint32_t>(2 + random.below(2));
    const int fetch = static_cast<int>(1 + random.below(4));
    const int best = shortest_time(kernels, chunks, fetch, 5);
    const Timed aggressive = timed("aggressive", kernels, chunks, fetch);
    const Timed conservative = timed("conservative", kernels, chunks, fetch);
    SCOPED_TRACE(instance);
    EXPECT_GE(aggressive.time, best);
    EXPECT_GE(conservative.time, best);
    const double bound = std::min(1 + static_cast<double>(fetch) / chunks, 2.0);
    EXPECT_LE(aggressive.time, bound * best);
    EXPECT_LE(conservative.time, 2 * best);
    EXPECT_EQ(static_cast<std::uint64_t>(conservative.fetches), fewest_fetches(kernels, chunks));
    EXPECT_GE(aggressive.fetches, conservative.fetches);
  }
}

TEST(KernelLookahead, FetchesAsManyKernelsAheadAsItsDegree) {
  const Kernels kernels = {blocks({0, 1}), blocks({2, 3}), blocks({1, 4}), blocks({5})};
  const KernelFuture future = future_of(kernels, 64);
  const std::vector<std::int64_t> all{0, 1, 2, 3, 4, 5};
  for (const auto& [degree, count] : {std::pair{0, 2}, {1, 4}, {2, 5}, {3, 6}, {9, 6}}) {
    const auto planner =
        built_ins()->create<Planner>("kernel_lookahead", {{"degree", std::to_string(degree)}}, 1, 64, &future);
    Machine machine(*planner, 64);
    planner->on_begin({.number = 0, .name = ""});
    EXPECT_EQ(machine.idle(), std::vector<std::int64_t>(all.begin(), all.begin() + count)) << degree;
  }
}

TEST(KernelLookahead, WhatIsUsedLastGivesWayAndOnlyForWhatIsUsedBeforeIt) {
  // Memory holds two blocks, 0 and 1. Block 2 is needed next, 0 after it, and 1 never again.
  const Kernels kernels = {blocks({0, 1}), blocks({2}), blocks({0}), blocks({3})};
  const KernelFuture future = future_of(kernels, 2);
  const auto planner = built_ins()->create<Planner>("kernel_lookahead", {{"reserve_chunks", "0"}}, 1, 2, &future);
  Machine machine(*planner, 2);
  EXPECT_EQ(machine.run("a", kernels[0]), 0u);      // fetched when it begins
  EXPECT_THAT(machine.idle(), ElementsAre(-2, 2));  // evicts 1, not 0; and does not evict 0 for 3
  EXPECT_EQ(machine.run("b", kernels[1]), 0u);
  EXPECT_THAT(machine.idle(), ElementsAre(-3, 3));  // 2 has ended
}

TEST(OraclePlanners, WantTheFuture) {
  EXPECT_THROW(built_ins()->create<Planner>("aggressive", {}, 1, 4), InputError);
  for (const char* name : {"aggressive", "conservative", "kernel_lookahead", "g10", "lms_like", "capuchin_like"}) {
    EXPECT_EQ(built_ins()->find(Slot::kPlan, name).info.information, InformationClass::kD4) << name;
  }
}

// The older kernel waits behind the younger one, which runs in another stream: blocks of a running kernel are not
// evicted for one that waits.
TEST(KernelLookahead, WhatAnotherStreamsKernelUsesNowStays) {
  const KernelFuture future = future_of({blocks({0, 1}), blocks({2})}, 1);
  const auto planner = built_ins()->create<Planner>("kernel_lookahead", {}, 1, 1, &future);
  Machine machine(*planner, 1);
  planner->on_begin({.number = 1, .name = "younger"});
  machine.fault(BlockIndex(2));
  EXPECT_THAT(machine.idle(), ::testing::IsEmpty());
  EXPECT_EQ(planner->victim(machine).kind, PlanCommand::Kind::kNone);
  planner->on_end(1);
  EXPECT_THAT(machine.idle(), ElementsAre(-1 - 2, 0));
}

}  // namespace
}  // namespace uvmsim::policy
