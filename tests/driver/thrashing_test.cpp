// SPDX-License-Identifier: Apache-2.0
// Tests of the rules of thrashing control on the module alone. Source: NVIDIA UVM 580, uvm_perf_thrashing.c.
#include "sim/driver/thrashing.h"

#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver::thrashing_test {
namespace {

constexpr ProcessorId kGpu0 = gpu_processor(0);
constexpr ProcessorId kGpu1 = gpu_processor(1);
constexpr Nanoseconds kLapse = microseconds(500);

AccessMatrix nvlink_pair() {
  AccessMatrix access(2);
  access.connect(kGpu0, kGpu1, true);
  return access;
}

// Events of page 0 of one block at certain intervals, and the questions in between. Migrations really change the
// residency, which the heuristic reads.
struct OneBlock {
  explicit OneBlock(unsigned gpus = 1) : OneBlock(tiny_system(gpus), AccessMatrix(gpus)) {}
  OneBlock(const config::SystemConfig& system, const AccessMatrix& access)
      : machine(4, system), thrashing(machine.context, access), block(machine.allocate()) {}

  void migrate(ProcessorId destination, const PageMask& moved = pages({0}), Nanoseconds after = microseconds(100)) {
    now += after;
    for (unsigned p = 0; p < machine.space.processor_count(); ++p) {
      const ProcessorId processor{static_cast<std::uint8_t>(p)};
      ProcessorPages& view = machine.space.pages(block, processor);
      view.resident = processor == destination ? view.resident | moved : view.resident - moved;
    }
    thrashing.on_migration(block, moved, destination, now);
  }
  // Moves page 0 between the host and GPU 0 until it is at `location` and thrashes.
  void thrash(ProcessorId location = kGpu0) {
    const ProcessorId other = location == kHost ? kGpu0 : kHost;
    for (int i = 0; i < 3; ++i) {
      migrate(other);
      migrate(location);
    }
    ASSERT_TRUE(thrashing.pages(block).test(0));
  }
  Thrashing::Verdict ask(ProcessorId requester, Nanoseconds after = microseconds(10), PageMask of = pages({0})) {
    now += after;
    return thrashing.ask(block, of, requester, now);
  }
  std::uint64_t detected() const { return machine.counters.thrashing_pages; }

  Machine machine;
  Thrashing thrashing;
  BlockIndex block;
  Nanoseconds now = microseconds(1000);
};

TEST(Thrashing, OneProcessorNeverStartsTracking) {
  OneBlock one;
  for (int i = 0; i < 20; ++i) one.migrate(kGpu0, page_range(0, 512), microseconds(1));
  EXPECT_FALSE(one.thrashing.tracks(one.block));
  EXPECT_EQ(one.detected(), 0u);
}

TEST(Thrashing, TrackingStartsWhenAnotherProcessorFollowsWithinTheLapse) {
  OneBlock late;
  late.migrate(kGpu0);
  late.migrate(kHost, pages({0}), kLapse + nanoseconds(1));
  EXPECT_FALSE(late.thrashing.tracks(late.block));
  OneBlock soon;
  soon.migrate(kGpu0);
  soon.migrate(kHost, pages({0}), kLapse);
  EXPECT_TRUE(soon.thrashing.tracks(soon.block));
}

TEST(Thrashing, TheBlockIsWhatStartsTracking) {
  OneBlock one;
  one.migrate(kGpu0, pages({0}));
  one.migrate(kHost, pages({500}));
  EXPECT_TRUE(one.thrashing.tracks(one.block));
}

TEST(Thrashing, OtherBlocksAreNotTracked) {
  OneBlock one;
  const BlockIndex other = one.machine.allocate();
  one.thrash();
  EXPECT_FALSE(one.thrashing.tracks(other));
  EXPECT_TRUE(one.thrashing.pages(other).empty());
}

// The 1st event stamps the block, the 2nd (another processor) the page; the 3rd to 5th count.
TEST(Thrashing, TheFifthMigrationIsThrashing) {
  OneBlock one;
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(one.detected(), 0u) << "before event " << i;
    one.migrate(i % 2 != 0 ? kGpu0 : kHost);
  }
  EXPECT_EQ(one.detected(), 1u);
  EXPECT_EQ(one.thrashing.pages(one.block), pages({0}));
  ASSERT_EQ(one.machine.events.thrashing.size(), 1u);
  EXPECT_EQ(one.machine.events.thrashing[0].address, virtual_address(one.block, 0));
  EXPECT_EQ(one.machine.events.thrashing[0].at, one.now);
}

TEST(Thrashing, EveryPageIsReportedOnce) {
  OneBlock one;
  for (int i = 0; i < 12; ++i) one.migrate(i % 2 != 0 ? kGpu0 : kHost, page_range(0, 512));
  EXPECT_EQ(one.detected(), 512u);
  EXPECT_EQ(one.machine.events.thrashing.size(), 512u);
}

TEST(Thrashing, EventsFurtherApartThanTheLapseDoNotCount) {
  OneBlock one;
  for (int i = 0; i < 20; ++i) one.migrate(i % 2 != 0 ? kGpu0 : kHost, pages({0}), kLapse + nanoseconds(1));
  EXPECT_FALSE(one.thrashing.tracks(one.block));
}

// The count of a page that does not thrash yet survives a pause.
TEST(Thrashing, APauseDoesNotClearTheCount) {
  OneBlock one;
  for (int i = 0; i < 4; ++i) one.migrate(i % 2 != 0 ? kGpu0 : kHost);  // two counted
  one.migrate(kHost, pages({0}), microseconds(5000));
  EXPECT_EQ(one.detected(), 0u);
  one.migrate(kGpu0);
  EXPECT_EQ(one.detected(), 1u);
}

TEST(Thrashing, AThrashingPageStartsAnewAfterAPause) {
  OneBlock one;
  one.thrash();
  one.migrate(kHost, pages({0}), kLapse + nanoseconds(1));
  EXPECT_TRUE(one.thrashing.pages(one.block).empty());
  // That event is not counted either: the next one sets the time stamp, and three more count.
  for (int i = 0; i < 3; ++i) one.migrate(i % 2 == 0 ? kGpu0 : kHost);
  EXPECT_EQ(one.detected(), 1u);
  one.migrate(kHost);
  EXPECT_EQ(one.detected(), 2u);
}

TEST(Thrashing, NothingIsSaidBeforeTheThirdEvent) {
  OneBlock one;
  for (int i = 0; i < 4; ++i) {
    one.migrate(i % 2 != 0 ? kGpu0 : kHost);
    const Thrashing::Verdict verdict = one.ask(kHost, nanoseconds(1));
    EXPECT_TRUE(verdict.throttled.empty() && verdict.pinned().empty());
  }
}

TEST(Thrashing, NothingIsSaidAfterAPause) {
  OneBlock one;
  one.thrash();
  const Thrashing::Verdict verdict = one.ask(kHost, kLapse + nanoseconds(1));
  EXPECT_TRUE(verdict.throttled.empty() && verdict.pinned().empty());
}

TEST(Thrashing, TheFirstToAskWinsTheWindowAndTheOtherWaitsForItsEnd) {
  OneBlock one;
  one.thrash(kGpu0);
  EXPECT_TRUE(one.ask(kHost).throttled.empty());  // the host wins and migrates
  const Nanoseconds window_end = one.now + microseconds(500);
  one.migrate(kHost, pages({0}), microseconds(1));
  const Thrashing::Verdict verdict = one.ask(kGpu0);
  EXPECT_EQ(verdict.throttled, pages({0}));
  EXPECT_EQ(verdict.throttle_end, window_end);
  EXPECT_EQ(one.machine.counters.throttles, 1u);
  // A second question within the window gives the same throttle.
  EXPECT_EQ(one.ask(kGpu0).throttled, pages({0}));
  EXPECT_EQ(one.machine.counters.throttles, 1u);
}

TEST(Thrashing, TheSameProcessorDoesNotWinTwice) {
  OneBlock one;
  one.thrash(kGpu0);
  EXPECT_TRUE(one.ask(kHost).throttled.empty());
  one.migrate(kHost, pages({0}), microseconds(1));
  one.migrate(kGpu0, pages({0}), microseconds(480));
  // The next window starts with the host's question: there is no winner, and the host waits.
  EXPECT_EQ(one.ask(kHost, microseconds(30)).throttled, pages({0}));
  // The GPU asks within the window and becomes the winner.
  EXPECT_TRUE(one.ask(kGpu0).throttled.empty());
}

// Lets winner and loser alternate; each lost window counts one throttle of the page.
void throttle_times(OneBlock& one, unsigned times) {
  ProcessorId winner = kHost, loser = kGpu0;
  while (one.machine.counters.throttles < times) {
    EXPECT_TRUE(one.ask(winner).throttled.empty());
    one.migrate(winner, pages({0}), microseconds(1));
    EXPECT_FALSE(one.ask(loser).throttled.empty());
    // The winner sometimes migrates the page to itself, so that the gap stays below the lapse.
    one.migrate(winner, pages({0}), microseconds(300));
    one.now += microseconds(250);
    std::swap(winner, loser);
  }
}

TEST(Thrashing, PinnedAtTheWinnerAfterTenThrottles) {
  OneBlock one;
  one.thrash(kGpu0);
  throttle_times(one, 10);
  EXPECT_EQ(one.machine.counters.pins, 0u);
  const Thrashing::Verdict verdict = one.ask(kHost);
  EXPECT_EQ(verdict.pinned_here, pages({0}));
  EXPECT_EQ(one.thrashing.pin_location(one.block, 0), kHost);
  EXPECT_EQ(one.machine.counters.pins, 1u);
  // The GPU can map host memory and contends for the page: it gets a mapping at once.
  ASSERT_EQ(verdict.mappings.size(), 1u);
  EXPECT_EQ(verdict.mappings[0].processor, kGpu0);
  EXPECT_EQ(verdict.mappings[0].pages, pages({0}));
}

TEST(Thrashing, APinnedPageIsSharedWhereTheOtherCanMapIt) {
  OneBlock one;
  one.thrash(kGpu0);
  throttle_times(one, 10);
  one.ask(kHost);
  one.machine.on_host(one.block).resident.set(0);
  one.machine.on_gpu(one.block).resident.reset(0);
  const Thrashing::Verdict verdict = one.ask(kGpu0);
  EXPECT_TRUE(verdict.throttled.empty());
  EXPECT_EQ(verdict.pinned_to_host, pages({0}));
  EXPECT_EQ(one.machine.counters.pins, 1u) << "the page is pinned already";
}

// A pin ends the window, so that the host wins the next one and moves the page to where both can map it.
TEST(Thrashing, APinOnAGpuGivesWayToTheHost) {
  OneBlock one;
  one.thrash(kGpu0);
  throttle_times(one, 9);  // winners: host, GPU, host, ... host; the GPU is next
  EXPECT_TRUE(one.ask(kGpu0).throttled.empty());
  one.migrate(kGpu0, pages({0}), microseconds(1));
  EXPECT_FALSE(one.ask(kHost).throttled.empty());  // the tenth throttle
  // Within the same window the winner is still the GPU: it pins the page on itself.
  const Thrashing::Verdict verdict = one.ask(kGpu0);
  EXPECT_EQ(verdict.pinned_here, pages({0}));
  EXPECT_TRUE(verdict.mappings.empty()) << "the host cannot map it";
  EXPECT_EQ(one.thrashing.pin_location(one.block, 0), kGpu0);
  EXPECT_EQ(one.ask(kHost).pinned_here, pages({0}));
  EXPECT_EQ(one.thrashing.pin_location(one.block, 0), kHost);
}

TEST(Thrashing, APreferredLocationThatAllCanMapIsWhereThePageGoes) {
  OneBlock one;
  one.thrash(kGpu0);
  one.machine.space.block(one.block).hints.preferred = kHost;
  EXPECT_EQ(one.ask(kGpu0).pinned_to_host, pages({0}));
}

TEST(Thrashing, APreferredGpuThatLosesWaitsAndThatWinsGoesOn) {
  OneBlock one;
  one.thrash(kHost);
  one.machine.space.block(one.block).hints.preferred = kGpu0;
  EXPECT_TRUE(one.ask(kHost).throttled.empty());
  EXPECT_EQ(one.ask(kGpu0).throttled, pages({0}));
  one.now += microseconds(500);
  one.migrate(kHost, pages({0}), microseconds(1));
  EXPECT_TRUE(one.ask(kGpu0).throttled.empty());
}

TEST(Thrashing, MigrationsOfAPinnedPageAreNoEvents) {
  OneBlock one;
  one.thrash(kGpu0);
  one.machine.space.block(one.block).hints.preferred = kHost;
  one.ask(kGpu0);
  const std::uint64_t before = one.detected();
  for (int i = 0; i < 10; ++i) one.migrate(i % 2 != 0 ? kGpu0 : kHost);
  EXPECT_EQ(one.detected(), before);
  EXPECT_EQ(one.thrashing.pinned(one.block), pages({0}));
}

TEST(Thrashing, PinsRunOutAfter150Milliseconds) {
  OneBlock one;
  one.thrash(kGpu0);
  one.machine.space.block(one.block).hints.preferred = kHost;
  one.ask(kGpu0);
  const Nanoseconds deadline = one.now + microseconds(150000);
  EXPECT_FALSE(one.thrashing.pins_expired(deadline - nanoseconds(1)));
  EXPECT_TRUE(one.thrashing.expire(deadline - nanoseconds(1)).empty());
  ASSERT_TRUE(one.thrashing.pins_expired(deadline));
  const std::vector<Thrashing::Unpinned> unpinned = one.thrashing.expire(deadline);
  ASSERT_EQ(unpinned.size(), 1u);
  EXPECT_EQ(unpinned[0].block, one.block);
  EXPECT_EQ(unpinned[0].pages, pages({0}));
  EXPECT_TRUE(one.thrashing.pages(one.block).empty()) << "an unpinned page starts anew";
  EXPECT_FALSE(one.thrashing.pins_expired(deadline + microseconds(1000000)));
}

TEST(Thrashing, AResetPinDoesNotRunOutLater) {
  OneBlock one;
  one.thrash(kGpu0);
  one.machine.space.block(one.block).hints.preferred = kHost;
  one.ask(kGpu0);
  const Nanoseconds first = one.now + microseconds(150000);
  EXPECT_EQ(one.thrashing.reset(one.block, PageMask::all()), pages({0}));
  one.now += microseconds(1000);
  one.thrash(kGpu0);
  one.ask(kGpu0);  // pinned again
  EXPECT_TRUE(one.thrashing.expire(first).empty());
  EXPECT_EQ(one.thrashing.pinned(one.block), pages({0}));
  EXPECT_EQ(one.thrashing.expire(one.now + microseconds(150000)).size(), 1u);
}

TEST(Thrashing, WithoutADeadlinePinsLastForEver) {
  config::SystemConfig system = tiny_system();
  system.driver.thrashing_pin_ns = 0;
  OneBlock one(system, AccessMatrix(1));
  one.thrash(kGpu0);
  one.machine.space.block(one.block).hints.preferred = kHost;
  EXPECT_FALSE(one.ask(kGpu0).pinned().empty());
  EXPECT_FALSE(one.thrashing.pins_expired(microseconds(1000000000)));
}

TEST(Thrashing, AnEpochOfQuietEndsTheTrackingFourTimes) {
  OneBlock one;
  for (int reset = 0; reset < 5; ++reset) {
    one.thrash(kGpu0);
    EXPECT_TRUE(one.ask(kHost, microseconds(1000001)).pinned().empty());
    EXPECT_EQ(one.thrashing.tracks(one.block), reset == 4) << "after quiet time " << reset;
  }
}

TEST(Thrashing, ABlockThatEverPinnedIsTrackedForEver) {
  OneBlock one;
  one.thrash(kGpu0);
  one.machine.space.block(one.block).hints.preferred = kHost;
  one.ask(kGpu0);
  one.thrashing.expire(one.now + microseconds(150000));
  one.ask(kHost, microseconds(5000000));
  EXPECT_TRUE(one.thrashing.tracks(one.block));
}

TEST(Thrashing, ResetKeepsTheCountOfPagesThatDoNotThrashYet) {
  OneBlock one;
  for (int i = 0; i < 4; ++i) one.migrate(i % 2 != 0 ? kGpu0 : kHost);
  one.thrashing.reset(one.block, PageMask::all());
  one.migrate(kHost);
  EXPECT_EQ(one.detected(), 1u);
}

TEST(Thrashing, AFreedBlockIsForgotten) {
  OneBlock one;
  one.thrash(kGpu0);
  one.thrashing.forget(one.block);
  EXPECT_FALSE(one.thrashing.tracks(one.block));
  one.migrate(kHost);
  EXPECT_FALSE(one.thrashing.tracks(one.block)) << "its last event is gone too";
  one.thrash(kGpu0);
  EXPECT_TRUE(one.thrashing.tracks(one.block));
}

TEST(Thrashing, DisabledItSaysNothing) {
  config::SystemConfig system = tiny_system();
  system.driver.thrashing_enable = false;
  OneBlock one(system, AccessMatrix(1));
  EXPECT_FALSE(one.thrashing.interested());
  for (int i = 0; i < 12; ++i) one.migrate(i % 2 != 0 ? kGpu0 : kHost);
  EXPECT_FALSE(one.thrashing.tracks(one.block));
}

// Test vector 10: two NVLink GPUs write page 0 in turn every 100 us; the page was populated on GPU 0.
TEST(ThrashingPeers, TwoNvlinkGpusShareThePageAfterFiveMigrations) {
  OneBlock one(tiny_system(2), nvlink_pair());
  one.machine.on_gpu(one.block, 0).resident.set(0);
  for (int i = 1; i <= 5; ++i) {
    const ProcessorId writer = i % 2 != 0 ? kGpu1 : kGpu0;
    EXPECT_TRUE(one.ask(writer, microseconds(0)).pinned().empty()) << "fault " << i;
    one.migrate(writer);
    EXPECT_EQ(one.detected(), i == 5 ? 1u : 0u);
  }
  // The page is on GPU 1. GPU 0 faults: the page is pinned on GPU 1 and mapped remotely.
  const Thrashing::Verdict verdict = one.ask(kGpu0, microseconds(100));
  EXPECT_EQ(verdict.pinned_to_peer, pages({0}));
  EXPECT_EQ(one.thrashing.pin_location(one.block, 0), kGpu1);
  EXPECT_EQ(one.machine.counters.throttles, 0u);
  EXPECT_EQ(one.thrashing.expire(one.now + microseconds(150000)).size(), 1u);
  EXPECT_TRUE(one.thrashing.pin_location(one.block, 0).is_none());
}

TEST(ThrashingPeers, WithoutFastLinksGpusAreThrottledLikeTheHost) {
  OneBlock one(2);
  one.machine.on_gpu(one.block, 0).resident.set(0);
  for (int i = 1; i <= 5; ++i) one.migrate(i % 2 != 0 ? kGpu1 : kGpu0);
  EXPECT_TRUE(one.ask(kGpu0).pinned().empty());
  one.migrate(kGpu0, pages({0}), microseconds(1));
  EXPECT_EQ(one.ask(kGpu1).throttled, pages({0}));
}

TEST(ThrashingPeers, ACoherentHostMapsTheGpuMemoryAndNotTheOtherWayRound) {
  AccessMatrix coherent(1);
  coherent.connect(kHost, kGpu0, true);
  OneBlock one(tiny_system(1), coherent);
  one.thrash(kHost);
  EXPECT_EQ(one.ask(kGpu0).pinned_here, pages({0}));
}

TEST(ThrashingPeers, ThreeProcessorsMeetOnTheHost) {
  OneBlock one(2);
  one.thrash(kGpu0);
  one.migrate(kGpu1);
  throttle_times(one, 10);
  one.ask(kHost);
  const Thrashing::Verdict verdict = one.ask(kGpu1);
  EXPECT_EQ(verdict.pinned_to_host, pages({0}));
}

TEST(AccessMatrix, ClosestFollowsTheDriversOrder) {
  AccessMatrix access(3);
  const ProcessorId gpu2 = gpu_processor(2);
  access.connect(kGpu0, kGpu1, true);
  const auto bits = [](std::initializer_list<ProcessorId> processors) {
    std::uint32_t mask = 0;
    for (const ProcessorId processor : processors) mask |= processor.bit();
    return mask;
  };
  EXPECT_EQ(access.closest(bits({kHost, kGpu0, kGpu1, gpu2}), kGpu0), kGpu0);
  EXPECT_EQ(access.closest(bits({kHost, kGpu1, gpu2}), kGpu0), kGpu1);
  EXPECT_EQ(access.closest(bits({kHost, gpu2}), kGpu0), kHost);
  access.connect(kGpu0, gpu2, false);
  EXPECT_EQ(access.closest(bits({kHost, gpu2}), kGpu0), gpu2);
  EXPECT_TRUE(access.closest(0, kGpu0).is_none());
}

TEST(ThrashingLapse, StaysUnlessItAdapts) {
  OneBlock fixed;
  fixed.thrash(kGpu0);
  for (int i = 0; i < 100; ++i) fixed.ask(kGpu0, nanoseconds(1));
  EXPECT_EQ(fixed.thrashing.lapse(), kLapse);
  config::SystemConfig system = tiny_system();
  system.driver.thrashing_adaptive_lapse = true;
  OneBlock adaptive(system, AccessMatrix(1));
  adaptive.thrash(kGpu0);
  adaptive.ask(kGpu0, nanoseconds(1));  // a vote against: it is negative, which the driver reads as a large number
  EXPECT_EQ(adaptive.thrashing.lapse(), kLapse + kLapse / 8);
  for (int i = 0; i < 200; ++i) adaptive.ask(kGpu0, nanoseconds(1));
  EXPECT_LE(adaptive.thrashing.lapse(), microseconds(500000));
  EXPECT_GT(adaptive.thrashing.lapse(), microseconds(400000));
}

}  // namespace
}  // namespace uvmsim::driver::thrashing_test
