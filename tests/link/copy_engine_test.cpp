// SPDX-License-Identifier: Apache-2.0
#include "sim/link/copy_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/common/random.h"

namespace uvmsim::link::copy_engine_test {
namespace {

constexpr Nanoseconds ns(std::int64_t n) { return Nanoseconds(n); }
constexpr std::uint64_t kMiB = 1 << 20;
// 1000 bytes/us: a byte takes 1 ns.
constexpr EngineRates kPlain{Nanoseconds(2000), Nanoseconds(300), 1000};
constexpr EngineRates kBare{Nanoseconds(0), Nanoseconds(0), 1000};

// Submits a push of these runs; returns the times of the runs.
std::vector<RunTimes> push(CopyEngine& engine, Nanoseconds earliest, const std::vector<std::uint64_t>& runs) {
  std::vector<RunTimes> times;
  engine.begin_push(earliest);
  for (const std::uint64_t bytes : runs) times.push_back(engine.run(bytes));
  return times;
}

TEST(CopyEngine, OneRunTakesLatencyAndBytes) {
  CopyEngine engine(kPlain);
  const RunTimes times = engine.submit(ns(100), std::uint64_t{4096});
  EXPECT_EQ(times.start, ns(100));
  EXPECT_EQ(times.end, ns(100 + 2000 + 4096));
  EXPECT_EQ(engine.unloaded_time(4096), ns(6096));
  EXPECT_EQ(engine.busy_until(), times.end);
  EXPECT_EQ(engine.busy_time(), ns(6096));
  EXPECT_EQ(engine.bytes(), 4096u);
}

TEST(CopyEngine, RunsOfAPushFollowOneAnother) {
  CopyEngine engine(kPlain);
  const std::vector<RunTimes> times = push(engine, ns(0), {4096, 61440, 8192});
  EXPECT_EQ(engine.busy_until(), times[2].end);
  EXPECT_EQ(times[0].end, ns(2000 + 4096));
  EXPECT_EQ(times[1].start, times[0].end);
  EXPECT_EQ(times[1].end, times[1].start + ns(300 + 61440));
  EXPECT_EQ(times[2].start, times[1].end);
  EXPECT_EQ(times[2].end, ns(2000 + 2 * 300 + 4096 + 61440 + 8192));
  EXPECT_EQ(engine.runs(), 3u);
  EXPECT_EQ(engine.pushes(), 1u);
}

TEST(CopyEngine, BytesRoundUpToANanosecond) {
  CopyEngine engine({ns(0), ns(0), 55480});
  EXPECT_EQ(engine.submit(ns(0), std::uint64_t{1}).end, ns(1));
  EXPECT_EQ(engine.unloaded_time(55480), ns(1000));
  EXPECT_EQ(engine.unloaded_time(55481), ns(1001));
}

TEST(CopyEngine, PushesQueueInOrder) {
  CopyEngine engine(kPlain);
  const RunTimes first = engine.submit(ns(0), std::uint64_t{1000});
  const RunTimes second = engine.submit(ns(500), std::uint64_t{1000});
  EXPECT_EQ(second.start, first.end);
  EXPECT_EQ(second.end, first.end + ns(3000));  // a new push pays its latency
  const RunTimes third = engine.submit(ns(50000), std::uint64_t{1000});
  EXPECT_EQ(third.start, ns(50000));
  EXPECT_EQ(engine.busy_time(), ns(9000));
}

TEST(CopyEngine, AnEmptyPushIsNothing) {
  CopyEngine engine(kPlain);
  EXPECT_TRUE(push(engine, ns(7), {}).empty());
  EXPECT_EQ(engine.busy_until(), ns(0));
  EXPECT_EQ(engine.pushes(), 0u);
}

struct Pair {
  BandwidthProfile duplex;
  CopyEngine down, up;
  Pair(std::uint64_t each, std::uint64_t both)
      : duplex(both), down({ns(0), ns(0), each}, {&duplex}), up({ns(0), ns(0), each}, {&duplex}) {}
};

TEST(Duplex, DirectionsThatDoNotMeetDoNotShare) {
  Pair link(1000, 1500);
  EXPECT_EQ(link.down.submit(ns(0), std::uint64_t{1000}).end, ns(1000));
  EXPECT_EQ(link.up.submit(ns(1000), std::uint64_t{1000}).end, ns(2000));
}

TEST(Duplex, FullOverlapSharesTheSum) {
  Pair link(1000, 1500);
  EXPECT_EQ(link.down.submit(ns(0), std::uint64_t{1000}).end, ns(1000));
  // 500 bytes take the rest of the bandwidth while `down` transfers; the other 500 have the link alone.
  EXPECT_EQ(link.up.submit(ns(0), std::uint64_t{1000}).end, ns(1500));
}

TEST(Duplex, PartialOverlapSharesWhileItLasts) {
  Pair link(1000, 1500);
  link.down.submit(ns(0), std::uint64_t{1000});
  // 200 bytes share the link, 800 do not
  EXPECT_EQ(link.up.submit(ns(600), std::uint64_t{1000}).end, ns(600 + 400 + 800));
}

TEST(Duplex, OvertakenByAnEarlierStart) {
  Pair link(1000, 1500);
  link.down.submit(ns(1000), std::uint64_t{1000});
  // 1000 bytes have the link alone, then 500 share it, then 500 have it alone.
  EXPECT_EQ(link.up.submit(ns(0), std::uint64_t{2000}).end, ns(2500));
}

TEST(Duplex, LongTrafficBothWaysReachesTheMeasuredSum) {
  // H200 on PCIe 5 x16: 55.48 and 55.34 GB/s alone, 101.65 GB/s together.
  BandwidthProfile duplex(101650);
  CopyEngine down({ns(0), ns(0), 55480}, {&duplex}), up({ns(0), ns(0), 55340}, {&duplex});
  std::uint64_t bytes = 0;
  while (std::min(down.busy_until(), up.busy_until()) < ns(100'000'000)) {
    CopyEngine& next = down.busy_until() <= up.busy_until() ? down : up;
    next.submit(ns(0), std::uint64_t{2 * kMiB});
    bytes += 2 * kMiB;
  }
  const double rate =
      static_cast<double>(bytes) / static_cast<double>(std::max(down.busy_until(), up.busy_until()).value);
  EXPECT_NEAR(rate, 101.65, 0.1);
  EXPECT_NEAR(static_cast<double>(down.bytes()), static_cast<double>(up.bytes()), 0.2 * static_cast<double>(bytes));
}

TEST(Duplex, LatencyUsesNoBandwidth) {
  BandwidthProfile duplex(1000);
  CopyEngine down(kPlain, {&duplex}), up(kBare, {&duplex});
  down.submit(ns(0), std::uint64_t{1000});  // bytes move from 2000 to 3000
  EXPECT_EQ(up.submit(ns(0), std::uint64_t{2000}).end, ns(2000));
  EXPECT_EQ(up.submit(ns(2000), std::uint64_t{100}).end, ns(3100));  // no bandwidth is left until 3000
}

TEST(Host, LinksShareItsBandwidth) {
  // Two H200s copying from the host at once: 108.58 GB/s together, 55.48 GB/s each alone.
  BandwidthProfile host(108580);
  CopyEngine first({ns(0), ns(0), 55480}, {&host}), second({ns(0), ns(0), 55480}, {&host});
  const std::uint64_t bytes = 256 * kMiB;
  const Nanoseconds alone = first.unloaded_time(bytes);
  EXPECT_EQ(first.submit(ns(0), bytes).end, alone);
  // moved while `second` transfers
  const std::uint64_t shared = static_cast<std::uint64_t>(alone.value) * 53100 / 1000;
  EXPECT_NEAR(static_cast<double>(second.submit(ns(0), bytes).end.value),
              static_cast<double>(alone.value) + static_cast<double>(bytes - shared) / 55.48, 2);
}

TEST(Host, BothLimitsHoldAtOnce) {
  BandwidthProfile host(1200), duplex(1500);
  CopyEngine a_down(kBare, {&duplex, &host}), a_up(kBare, {&duplex, &host}), b_down(kBare, {&host});
  a_down.submit(ns(0), std::uint64_t{1000});
  EXPECT_EQ(a_up.submit(ns(0), std::uint64_t{200}).end, ns(1000));     // the host leaves 200, the link 500
  EXPECT_EQ(b_down.submit(ns(0), std::uint64_t{1000}).end, ns(2000));  // no bandwidth is left until 1000
}

// Engines of a random machine, with random pushes.
class RandomTraffic : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomTraffic, KeepsItsPromises) {
  Random random(GetParam());
  const std::uint64_t rate = random.below(5000) + 100;
  BandwidthProfile duplex(rate + random.below(rate)), host(rate + random.below(rate));
  const EngineRates rates{ns(static_cast<std::int64_t>(random.below(3000))),
                          ns(static_cast<std::int64_t>(random.below(500))), rate};
  using Shared = CopyEngine::Shared;
  CopyEngine engines[] = {CopyEngine(rates, Shared{&duplex, &host}), CopyEngine(rates, Shared{&duplex, &host}),
                          CopyEngine(rates, Shared{&host})};
  std::int64_t now = 0;
  std::uint64_t total = 0;
  for (int i = 0; i < 2000; ++i) {
    now += static_cast<std::int64_t>(random.below(5000));
    CopyEngine& engine = engines[random.below(3)];
    const Nanoseconds free_from = std::max(ns(now), engine.busy_until());
    std::vector<std::uint64_t> runs(random.below(6) + 1);
    for (auto& bytes : runs) bytes = (random.below(16) + 1) * kBasePageBytes;
    const std::vector<RunTimes> times = push(engine, ns(now), runs);
    ASSERT_EQ(times.front().start, free_from);
    ASSERT_EQ(times.back().end, engine.busy_until());
    for (std::size_t k = 0; k < runs.size(); ++k) {
      total += runs[k];
      if (k > 0) {
        ASSERT_EQ(times[k].start, times[k - 1].end);
      }
      const Nanoseconds fixed = k == 0 ? rates.latency : rates.run;
      ASSERT_GE(times[k].end - times[k].start,
                fixed + ns(static_cast<std::int64_t>((runs[k] * 1000 + rate - 1) / rate)));
    }
  }
  std::uint64_t moved = 0;
  Nanoseconds last{};
  for (const CopyEngine& engine : engines) {
    moved += engine.bytes();
    last = std::max(last, engine.busy_until());
    EXPECT_LE(engine.busy_time(), engine.busy_until());
  }
  EXPECT_EQ(moved, total);
  EXPECT_GE(static_cast<std::uint64_t>(last.value) * host.capacity(), total * 1000);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic, testing::Range(std::uint64_t{1}, std::uint64_t{21}));

// Whatever bandwidth is reserved already, an earlier start or fewer bytes never make a transfer end later.
TEST(CopyEngine, IsMonotone) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t first = random.below(2000) + 1, gap = random.below(2000), second = random.below(2000) + 1;
    const std::uint64_t start = random.below(4000), bytes = random.below(5000) + 1;
    const auto end = [&](std::uint64_t from, std::uint64_t size) {
      Pair link(1000, 1300);
      link.down.submit(ns(100), first);
      link.down.submit(ns(static_cast<std::int64_t>(100 + first + gap)), second);
      return link.up.submit(ns(static_cast<std::int64_t>(from)), size).end;
    };
    EXPECT_LE(end(start, bytes), end(start + random.below(100), bytes));
    EXPECT_LE(end(start, bytes), end(start, bytes + random.below(100)));
  }
}

}  // namespace
}  // namespace uvmsim::link::copy_engine_test
