// SPDX-License-Identifier: Apache-2.0
#include "sim/link/bandwidth_profile.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/common/check.h"
#include "sim/common/random.h"

namespace uvmsim::link {
namespace {

constexpr Nanoseconds ns(std::int64_t n) { return Nanoseconds(n); }

TEST(BandwidthProfile, IsFreeUntilSomethingIsTaken) {
  BandwidthProfile profile(100);
  EXPECT_EQ(profile.free_at(ns(5)).bytes_per_us, 100u);
  EXPECT_EQ(profile.free_at(ns(5)).until, BandwidthProfile::kForever);
  profile.take(ns(10), ns(20), 60);
  EXPECT_EQ(profile.free_at(ns(5)).bytes_per_us, 100u);
  EXPECT_EQ(profile.free_at(ns(5)).until, ns(10));
  EXPECT_EQ(profile.free_at(ns(10)).bytes_per_us, 40u);
  EXPECT_EQ(profile.free_at(ns(19)).until, ns(20));
  EXPECT_EQ(profile.free_at(ns(20)).bytes_per_us, 100u);
}

TEST(BandwidthProfile, PromisesAddUp) {
  BandwidthProfile profile(100);
  profile.take(ns(10), ns(30), 40);
  profile.take(ns(20), ns(40), 50);
  profile.take(ns(0), ns(12), 10);
  const std::pair<int, std::uint64_t> expected[] = {{0, 90}, {10, 50}, {12, 60}, {20, 10}, {30, 50}, {40, 100}};
  for (const auto& [time, free] : expected) EXPECT_EQ(profile.free_at(ns(time)).bytes_per_us, free) << time;
}

TEST(BandwidthProfile, AnUnbrokenPromiseIsOnePiece) {
  BandwidthProfile profile(100);
  for (int i = 0; i < 1000; ++i) profile.take(ns(10 * i), ns(10 * i + 10), 70);
  EXPECT_EQ(profile.breakpoints(), 2u);
  EXPECT_EQ(profile.free_at(ns(0)).until, ns(10000));
}

TEST(BandwidthProfile, NeverPromisesMoreThanItHas) {
  if (!kModelChecks) GTEST_SKIP() << "model checks are off";
  BandwidthProfile profile(100);
  profile.take(ns(0), ns(10), 60);
  EXPECT_THROW(profile.take(ns(5), ns(6), 50), ModelError);
  EXPECT_THROW(profile.take(ns(50), ns(60), 101), ModelError);
}

TEST(BandwidthProfile, MatchesATableUnderRandomUse) {
  Random random(1);
  BandwidthProfile profile(1000);
  std::vector<std::uint64_t> used(400, 0);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t start = random.below(390), end = start + random.below(400 - start);
    std::uint64_t most = 0;
    for (std::uint64_t t = start; t < end; ++t) most = std::max(most, used[t]);
    const std::uint64_t rate = random.below(1000 - most + 1);
    profile.take(ns(static_cast<std::int64_t>(start)), ns(static_cast<std::int64_t>(end)), rate);
    for (std::uint64_t t = start; t < end; ++t) used[t] += rate;
    const std::uint64_t asked = random.below(400);
    const auto share = profile.free_at(ns(static_cast<std::int64_t>(asked)));
    ASSERT_EQ(share.bytes_per_us, 1000 - used[asked]);
    for (std::uint64_t t = asked; t < 400 && ns(static_cast<std::int64_t>(t)) < share.until; ++t) {
      ASSERT_EQ(used[t], used[asked]);
    }
  }
}

TEST(BandwidthProfile, MemoryIsBounded) {
  BandwidthProfile profile(100, 64);
  for (int i = 0; i < 10000; ++i) {
    profile.take(ns(20 * i), ns(20 * i + 10), 30);
    ASSERT_LE(profile.breakpoints(), 64u);
    ASSERT_EQ(profile.free_at(ns(20 * i)).bytes_per_us, 70u);
  }
  EXPECT_EQ(profile.free_at(ns(0)).bytes_per_us, 100u);  // forgotten
}

}  // namespace
}  // namespace uvmsim::link
