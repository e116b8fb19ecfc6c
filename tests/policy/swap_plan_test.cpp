// SPDX-License-Identifier: Apache-2.0
// Planners of swaps: schedules worked out by hand, and properties that hold for any program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "policies/plan/g10_schedule.h"
#include "policies/plan/swap_program.h"
#include "sim/common/random.h"
#include "sim/policy/registry.h"
#include "tests/policy/plan_machine.h"

namespace uvmsim::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Nanoseconds kKernel{1000000};
constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 50;

struct Use {
  std::uint64_t block, object;
};
KernelFuture future_of(const std::vector<std::vector<Use>>& kernels, std::uint32_t chunks = 64) {
  KernelFuture future;
  future.chunks = chunks;
  future.htod_bytes_per_us = future.dtoh_bytes_per_us = kBlockBytes / 1000 + 1;  // one block per kernel
  for (const std::vector<Use>& uses : kernels) {
    FutureKernel& kernel = future.kernels.emplace_back(FutureKernel{kKernel, {}});
    for (const Use& use : uses) kernel.uses.push_back({BlockIndex(use.block), use.object});
  }
  return future;
}

// Returns a program in which layer i uses block i, forward and then backward.
KernelFuture there_and_back(std::uint64_t layers, std::uint32_t chunks) {
  std::vector<std::vector<Use>> kernels;
  for (std::uint64_t i = 0; i < layers; ++i) kernels.push_back({{i, i}});
  for (std::uint64_t i = layers; i-- > 0;) kernels.push_back({{i, i}});
  return future_of(kernels, chunks);
}

KernelFuture random_future(Random& random) {
  std::vector<std::vector<Use>> kernels(10 + random.below(40));
  for (std::vector<Use>& kernel : kernels) {
    for (std::uint64_t n = random.below(4); n > 0; --n) {
      const std::uint64_t block = random.below(12);
      kernel.push_back({block, block * 2 + random.below(2)});
    }
  }
  KernelFuture future = future_of(kernels);
  for (FutureKernel& kernel : future.kernels) {
    kernel.duration = Nanoseconds(static_cast<std::int64_t>(random.below(3000000)));
  }
  return future;
}

TEST(SwapProgram, MemoryIsIdleBetweenUsesAndDeadWhenWhatItHeldIsFreed) {
  // Block 0 holds object 1 at kernels 0 and 3, and object 2 from kernel 6 on. Block 1 is always used with it; block 2
  // is used in the middle.
  const KernelFuture future =
      future_of({{{0, 1}, {1, 9}}, {{2, 5}}, {{2, 5}}, {{0, 1}, {1, 9}}, {}, {}, {{0, 2}, {1, 9}}});
  const SwapProgram program = swap_program(future);
  ASSERT_EQ(program.regions.size(), 3u);  // region 0 dies, region 1 does not
  std::vector<std::tuple<std::uint64_t, KernelNumber, KernelNumber, bool>> idle;
  for (const Idle& i : program.idle) idle.emplace_back(program.regions[i.region].blocks[0].value, i.from, i.to, i.live);
  std::sort(idle.begin(), idle.end());
  EXPECT_THAT(idle, ElementsAre(std::tuple(0u, 0u, 3u, true), std::tuple(0u, 3u, 6u, false),
                                std::tuple(1u, 0u, 3u, true), std::tuple(1u, 3u, 6u, true)));
  const std::uint64_t b = kBlockBytes;
  EXPECT_THAT(program.resident, ElementsAre(2 * b, 3 * b, 3 * b, 2 * b, b, b, 2 * b));
  EXPECT_EQ(program.peak(), 3 * b);
}

TEST(SwapProgram, BlocksWithTheSameUsesAreOneRegion) {
  const SwapProgram program = swap_program(future_of({{{0, 1}, {1, 1}, {2, 2}}, {}, {{0, 1}, {1, 1}}}));
  ASSERT_EQ(program.regions.size(), 2u);
  EXPECT_THAT(program.regions[0].blocks, ElementsAre(BlockIndex(0), BlockIndex(1)));
}

G10Machine machine_of(std::uint64_t target_chunks, std::uint64_t bytes_per_us, double slack = 0) {
  return {target_chunks * kBlockBytes, bytes_per_us, bytes_per_us, {}, slack};
}

TEST(G10, PlansNothingWhereEverythingFits) {
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const SwapProgram program = swap_program(random_future(random));
    G10Machine machine = machine_of(0, kUnlimited);
    machine.target_bytes = program.peak();
    EXPECT_THAT(G10Planner(program, machine).plan().swaps, IsEmpty());
  }
}

TEST(G10, WithAnUnlimitedLinkWhateverIsIdleLeaves) {
  Random random(2);
  for (int i = 0; i < 50; ++i) {
    KernelFuture future = random_future(random);
    for (FutureKernel& kernel : future.kernels) kernel.duration += Nanoseconds(1000);
    const SwapProgram program = swap_program(future);
    std::size_t idle = 0;
    // blocks are evicted, stay away, and are fetched
    for (const Idle& time : program.idle) idle += time.live && time.kernels() > 2 ? 1 : 0;
    EXPECT_EQ(G10Planner(program, machine_of(0, kUnlimited)).plan().swaps.size(), idle);
  }
}

TEST(G10, NeverPlansMoreThanTheLinkCarriesAndKeepsItsBooks) {
  Random random(3);
  std::size_t swaps = 0;
  for (int i = 0; i < 200; ++i) {
    const KernelFuture future = random_future(random);
    const SwapProgram program = swap_program(future);
    G10Machine machine = machine_of(random.below(8), 500 + random.below(20000), 0.5);
    machine.latency = Nanoseconds(static_cast<std::int64_t>(random.below(50000)));
    const G10Schedule schedule = G10Planner(program, machine).plan();
    std::vector<std::uint64_t> resident = program.resident;
    std::uint64_t moved = 0, out = 0, in = 0;
    for (const Swap& swap : schedule.swaps) {
      EXPECT_TRUE(swap.idle.live);
      EXPECT_LT(swap.idle.from, swap.out_end);
      EXPECT_LT(swap.out_end, swap.in_begin);
      EXPECT_LT(swap.in_begin, swap.idle.to);
      const std::uint64_t bytes = program.regions[swap.idle.region].bytes();
      for (KernelNumber k = swap.out_end + 1; k < swap.in_begin; ++k) resident[k] -= bytes;
      moved += bytes;
    }
    EXPECT_EQ(resident, schedule.resident);
    for (std::size_t k = 0; k < future.kernels.size(); ++k) {
      const auto ns = static_cast<std::uint64_t>(future.kernels[k].duration.value);
      EXPECT_LE(schedule.out_bytes[k], machine.out_bytes_per_us * ns / 1000);
      EXPECT_LE(schedule.in_bytes[k], machine.in_bytes_per_us * ns / 1000);
      out += schedule.out_bytes[k];
      in += schedule.in_bytes[k];
    }
    EXPECT_EQ(out, moved);
    EXPECT_EQ(in, moved);
    swaps += schedule.swaps.size();
  }
  EXPECT_GT(swaps, 100u);
}

TEST(G10, OneTensorByHand) {
  // Each kernel takes 1 ms; block 0 is used at kernels 0 and 9, block 1 at 4 and 5. The link takes 1.5 kernels for a
  // block: block 0 leaves during kernels 1 and 2 and must be fetched during 7 and 8.
  std::vector<std::vector<Use>> kernels(10);
  kernels[0] = kernels[9] = {{0, 0}};
  kernels[4] = kernels[5] = {{1, 1}};
  const SwapProgram program = swap_program(future_of(kernels));
  const std::uint64_t rate = kBlockBytes / 1500;
  const G10Schedule schedule = G10Planner(program, machine_of(1, rate)).plan();
  ASSERT_EQ(schedule.swaps.size(), 1u);
  EXPECT_EQ(schedule.swaps[0].out_end, 2u);
  EXPECT_EQ(schedule.swaps[0].in_begin, 6u);  // earlier than necessary, because memory is free from 6 on
  EXPECT_EQ(schedule.out_bytes[1], rate * 1000);
  EXPECT_EQ(schedule.out_bytes[2], kBlockBytes - rate * 1000);
  EXPECT_EQ(schedule.in_bytes[8], rate * 1000);
  EXPECT_EQ(schedule.in_bytes[7], kBlockBytes - rate * 1000);
  EXPECT_EQ(*std::max_element(schedule.resident.begin(), schedule.resident.end()), kBlockBytes);
  // The link is too slow: the idle time is no longer than the transfers.
  EXPECT_THAT(G10Planner(program, machine_of(1, kBlockBytes / 4500)).plan().swaps, IsEmpty());
  EXPECT_THAT(G10Planner(program, machine_of(1, rate, 4)).plan().swaps, IsEmpty());
}

// A transfer must end before kernel `due` ends, and begins with kernel `from` at the earliest.
struct Transfer {
  KernelNumber from, due;
  std::uint64_t bytes;
};

// A GPU with memory for all blocks, a link that carries one block each way at a time, and kernels that take exactly
// their time once their blocks are resident. Populating new memory costs nothing.
class TimedSwaps final : public PlanQueries {
 public:
  TimedSwaps(Planner& planner, const KernelFuture& future) : planner_(planner), future_(future) {
    for (std::uint64_t k = 0; k < future.kernels.size(); ++k) {
      for (const FutureUse& use : future.kernels[k].uses) {
        lives_[use.block].try_emplace(use.object, k, k).first->second.second = k;
      }
    }
  }

  // Returns how long kernels waited for swapped-out memory.
  Nanoseconds stalls() {
    Nanoseconds stalled{};
    for (std::uint64_t k = 0; k < future_.kernels.size(); ++k) {
      position_ = k;
      planner_.on_begin({.number = k, .name = ""});
      obey();
      for (const FutureUse& use : future_.kernels[k].uses) {
        if (away_.contains(use.block)) fetch(use.block);  // on demand
        here_.insert(use.block);
        const Nanoseconds late = std::max(arrives_[use.block] - now_, Nanoseconds{});
        stalled += late;
        now_ += late;
      }
      now_ += future_.kernels[k].duration;
      planner_.on_end(k);
      obey();
    }
    return stalled;
  }
  std::uint64_t fetches = 0;

 private:
  PageMask missing(BlockIndex b) const override { return here_.contains(b) ? PageMask{} : PageMask::all(); }
  bool evictable(BlockIndex b) const override { return here_.contains(b); }
  bool inactive(BlockIndex b) const override {
    const auto& lives = lives_.at(b);
    return std::none_of(lives.begin(), lives.end(), [&](const auto& life) {
      return life.second.first <= position_ && position_ < life.second.second;
    });
  }
  std::uint32_t free_chunks() const override { return 1000; }
  Nanoseconds now() const override { return now_; }

  static Nanoseconds transfer(std::uint64_t bytes_per_us) {
    return Nanoseconds(static_cast<std::int64_t>(kBlockBytes * 1000 / bytes_per_us));
  }
  void fetch(BlockIndex b) {
    in_ = std::max({in_, now_, away_.at(b)}) + transfer(future_.htod_bytes_per_us);
    arrives_[b] = in_;
    away_.erase(b);
    ++fetches;
  }
  void obey() {
    for (;;) {
      const PlanCommand command = planner_.next(*this);
      if (command.kind == PlanCommand::Kind::kNone) return;
      if (command.kind == PlanCommand::Kind::kPrefetch) {
        if (away_.contains(command.block)) fetch(command.block);
        here_.insert(command.block);
        planner_.on_migrated(command.block);
      } else if (command.kind == PlanCommand::Kind::kDrop) {
        here_.erase(command.block);
        planner_.on_released(command.block);
      } else {
        out_ = std::max(out_, now_) + transfer(future_.dtoh_bytes_per_us);
        away_[command.block] = out_;
        here_.erase(command.block);
        planner_.on_released(command.block);
      }
    }
  }

  Planner& planner_;
  const KernelFuture& future_;
  // The first and the last kernel that uses each block and object.
  std::map<BlockIndex, std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>>> lives_;
  std::uint64_t position_ = 0;
  Nanoseconds now_{}, in_{}, out_{};  // the links are free from then on
  std::set<BlockIndex> here_;
  std::map<BlockIndex, Nanoseconds> away_, arrives_;  // the time when a block has left; the time when it is back
};

// V16: if kernels take exactly their time, fetched blocks arrive in time. The plan itself never causes a wait:
// transfers use the link in the order of their deadlines. But the planner starts due transfers in the order of their
// begin, one block at a time, which is sometimes late.
TEST(G10, MakesNobodyWait) {
  Random random(4);
  Nanoseconds stalls{}, time{};
  std::uint64_t fetches = 0;
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    KernelFuture future = random_future(random);
    future.chunks = static_cast<std::uint32_t>(4 + random.below(6));
    const std::uint64_t rate = future.htod_bytes_per_us = future.dtoh_bytes_per_us = 1000 + random.below(8000);
    const SwapProgram program = swap_program(future);
    const auto carry = [&](std::vector<Transfer> transfers) {
      std::sort(transfers.begin(), transfers.end(), [](const Transfer& a, const Transfer& b) { return a.due < b.due; });
      for (KernelNumber k = 0; k < future.kernels.size(); ++k) {
        std::uint64_t room = rate * static_cast<std::uint64_t>(future.kernels[k].duration.value) / 1000;
        for (Transfer& transfer : transfers) {
          if (transfer.from > k) continue;
          const std::uint64_t part = std::min(room, transfer.bytes);
          transfer.bytes -= part;
          room -= part;
          ASSERT_TRUE(transfer.bytes == 0 || transfer.due > k);
        }
      }
    };
    std::vector<Transfer> out, in;
    for (const Swap& swap : G10Planner(program, machine_of(future.chunks, rate, 0.5)).plan().swaps) {
      const std::uint64_t bytes = program.regions[swap.idle.region].bytes();
      out.push_back({swap.idle.from + 1, swap.out_end, bytes});
      in.push_back({swap.in_begin, swap.idle.to - 1, bytes});
    }
    carry(std::move(out));
    carry(std::move(in));

    const auto planner = built_ins()->create<Planner>("g10", {{"target", "1"}}, 1, future.chunks, &future);
    TimedSwaps machine(*planner, future);
    stalls += machine.stalls();
    time += program.begins.back();
    fetches += machine.fetches;
  }
  EXPECT_GT(fetches, 1000u);
  EXPECT_LT(stalls * 1000, time);
}

// Returns a planner's moves while the program runs with enough memory: evicted and fetched blocks, by kernel.
std::vector<std::vector<std::int64_t>> moves(const char* name, const GivenParameters& given,
                                             const KernelFuture& future) {
  const auto planner = built_ins()->create<Planner>(name, given, 1, future.chunks, &future);
  Machine machine(*planner, 64);
  std::vector<std::vector<std::int64_t>> done;
  for (const FutureKernel& kernel : future.kernels) {
    std::vector<BlockIndex> touched;
    for (const FutureUse& use : kernel.uses) touched.push_back(use.block);
    planner->on_begin({.number = done.size(), .name = ""});
    done.push_back(machine.idle());
    for (const BlockIndex b : touched) {
      if (!machine.missing(b).empty()) machine.fault(b);
    }
    planner->on_end(done.size() - 1);
    const auto after = machine.idle();
    done.back().insert(done.back().end(), after.begin(), after.end());
  }
  return done;
}

TEST(LmsLike, SwapsWhateverIsIdleLongerThanItsThreshold) {
  // The layers are 0 1 2 2 1 0; each block is populated a kernel before its first use.
  const KernelFuture future = there_and_back(3, 64);
  EXPECT_THAT(moves("lms_like", {}, future), ElementsAre(ElementsAre(1, -1), ElementsAre(2, -2), IsEmpty(), IsEmpty(),
                                                         ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(
      moves("lms_like", {{"swapin_ahead", "2"}}, future),
      ElementsAre(ElementsAre(1, -1), ElementsAre(2, -2), ElementsAre(1), ElementsAre(0), IsEmpty(), IsEmpty()));
  EXPECT_THAT(moves("lms_like", {{"swapout_threshold", "2"}}, future),
              ElementsAre(ElementsAre(1, -1), ElementsAre(2), IsEmpty(), IsEmpty(), IsEmpty(), ElementsAre(0)));
  EXPECT_THAT(moves("lms_like", {{"swapin_groupby", "4"}}, future),
              ElementsAre(ElementsAre(1), ElementsAre(2), IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty()));
}

TEST(CapuchinLike, SwapsWhatHasTheMostTimeToSpareUntilTheRestFits) {
  // Four layers and memory for three: block 0 is idle longest. Its transfer takes a kernel, so that it is fetched when
  // kernel 6 begins.
  EXPECT_THAT(moves("capuchin_like", {}, there_and_back(4, 3)),
              ElementsAre(ElementsAre(1, -1), ElementsAre(2), ElementsAre(3), IsEmpty(), IsEmpty(), IsEmpty(),
                          ElementsAre(0), IsEmpty()));
  EXPECT_THAT(moves("capuchin_like", {}, there_and_back(4, 4)),
              ElementsAre(ElementsAre(1), ElementsAre(2), ElementsAre(3), IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty(),
                          IsEmpty()));
}

TEST(CapuchinLike, ComesEarlierAfterItWasLate) {
  // Block 0 is used at kernels 0, 6 and 12, blocks 1 to 3 in between; memory holds three.
  std::vector<std::vector<Use>> kernels(13);
  for (std::uint64_t k = 0; k < kernels.size(); ++k) kernels[k] = {{k % 6 < 4 ? k % 6 : 3, k % 6 < 4 ? k % 6 : 3}};
  const KernelFuture future = future_of(kernels, 3);
  const auto planner = built_ins()->create<Planner>("capuchin_like", {{"feedback", "1"}}, 1, 3, &future);
  Machine machine(*planner, 8);
  const auto pass = [&](KernelNumber k) {
    planner->on_begin({.number = k, .name = ""});
    machine.idle();
    const BlockIndex touched(kernels[k][0].block);
    if (!machine.missing(touched).empty()) machine.fault(touched);
    planner->on_end(k);
    machine.idle();
  };
  for (KernelNumber k = 0; k <= 5; ++k) pass(k);
  planner->on_begin({.number = 6, .name = ""});
  planner->on_faulted(BlockIndex(0), PageMask::all());
  planner->on_end(6);
  machine.idle();
  for (KernelNumber k = 7; k <= 9; ++k) pass(k);
  EXPECT_FALSE(machine.missing(BlockIndex(0)).empty());
  planner->on_begin({.number = 10, .name = ""});
  EXPECT_THAT(machine.idle(), ElementsAre(0));  // now two transfers ahead
}

}  // namespace
}  // namespace uvmsim::policy
