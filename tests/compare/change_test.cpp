// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/change.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace uvmsim::compare {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(Change, IsAShareOfWhatItWasBefore) {
  EXPECT_EQ(change_text(1000, 1032), "+3.20 %");
  EXPECT_EQ(change_text(1000, 968), "-3.20 %");
  EXPECT_EQ(change_text(1000, 0), "-100.00 %");
  EXPECT_EQ(change_text(3, 9), "+200.00 %");
  EXPECT_EQ(change_percent_thousandths(1000, 1032), 3200);
  EXPECT_EQ(change_percent_thousandths(1000, 968), -3200);
}

TEST(Change, OfNothingHasNoPercentage) {
  EXPECT_EQ(change_text(0, 5), "from 0");
  EXPECT_EQ(change_percent_thousandths(0, 5), std::nullopt);
  EXPECT_EQ(change_text(0, 0), "0.00 %");
  EXPECT_EQ(change_text(7, 7), "0.00 %");
}

TEST(Change, TooSmallToShowKeepsItsSign) {
  EXPECT_EQ(change_text(1'000'000'000, 1'000'000'001), "+0.00 %");
  EXPECT_EQ(change_text(1'000'000'000, 999'999'999), "-0.00 %");
}

TEST(Change, IsRoundedHalfUp) {
  EXPECT_EQ(change_text(100'000, 100'005), "+0.01 %");  // 0.005 %
  EXPECT_EQ(change_text(100'000, 100'004), "+0.00 %");
}

TEST(Change, OfTheLargestNumbersDoesNotOverflow) {
  EXPECT_EQ(change_text(kMost, 0), "-100.00 %");
  EXPECT_EQ(change_percent_thousandths(kMost, kMost - 1), 0);
  EXPECT_EQ(change_percent_thousandths(1, kMost), 1'000'000'000'000'000);  // cut
}

TEST(Change, OfAMetricThatOneSideLacksSaysWhichSideHasIt) {
  EXPECT_EQ(change_text(std::nullopt, 5), "only in b");
  EXPECT_EQ(change_text(5, std::nullopt), "only in a");
}

}  // namespace
}  // namespace uvmsim::compare
