// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/zipf_ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/common/fixed_log.h"

namespace uvmsim::recommend {
namespace {

TEST(FixedLog, AgreesWithTheRealLogarithm) {
  for (const std::uint64_t value : {1ull, 2ull, 3ull, 1000ull, 123456789ull, (1ull << 62) + 12345}) {
    EXPECT_NEAR(static_cast<double>(log2_fixed(value)) / (1u << 30), std::log2(static_cast<double>(value)), 1e-7);
  }
  for (const double exponent : {-40.25, -1.0, -0.5, 0.0, 0.1, 3.7, 10.0}) {
    const double expected = std::exp2(exponent + 50);
    const auto fixed = static_cast<std::int64_t>(std::floor(exponent * (1u << 30)));
    EXPECT_NEAR(static_cast<double>(exp2_fixed(fixed, 50)), expected, expected * 1e-7 + 1) << exponent;
  }
  EXPECT_EQ(exp2_fixed(-(std::int64_t{200} << 30), 50), 0u);
}

// Compares the shares of the first ranks with sums of rank^-alpha.
TEST(ZipfRanks, HasTheSharesOfTheLaw) {
  for (const std::uint32_t alpha : {1050u, 1090u, 1150u, 1500u}) {
    constexpr std::uint64_t kLast = 1000000;
    const ZipfRanks ranks(alpha, kLast);
    double total = 0;
    for (std::uint64_t r = 1; r <= kLast; ++r) total += std::pow(static_cast<double>(r), -(alpha / 1000.0));
    double sum = 0;
    for (std::uint64_t r = 1; r <= 1023; ++r) {
      sum += std::pow(static_cast<double>(r), -(alpha / 1000.0));
      EXPECT_NEAR(ranks.share_up_to(r), sum / total, 2e-6) << alpha << " " << r;
    }
    EXPECT_DOUBLE_EQ(ranks.share_up_to(kLast), 1.0);
  }
}

// With unlimited ranks, the tail beyond rank n is n^(1 - alpha) / (alpha - 1) of zeta(alpha).
TEST(ZipfRanks, GoesOnAsFarAsTheGeneratorOfFbgemm) {
  const ZipfRanks ranks(1150, ZipfRanks::kEndless);
  const auto tail = [](double from) { return std::pow(from, -0.15) / 0.15; };
  double zeta = tail(1000.5);
  for (int r = 1; r <= 1000; ++r) zeta += std::pow(r, -1.15);
  const double all = zeta - tail(std::exp2(62));
  EXPECT_NEAR(1 - ranks.share_up_to(1000), (tail(1000.5) - tail(std::exp2(62))) / all, 1e-5);
}

TEST(ZipfRanks, DrawsWithThoseShares) {
  const ZipfRanks ranks(1150, 100000);
  Random random(7);
  std::vector<int> counts(100001);
  constexpr int kDraws = 1000000;
  for (int i = 0; i < kDraws; ++i) ++counts.at(ranks.draw(random));
  EXPECT_EQ(counts[0], 0);
  for (const std::uint64_t rank : {1u, 2u, 10u, 100u}) {
    const double expected = kDraws * (ranks.share_up_to(rank) - (rank == 1 ? 0 : ranks.share_up_to(rank - 1)));
    EXPECT_NEAR(counts[rank], expected, 5 * std::sqrt(expected)) << rank;
  }
  // Ranks that share an entry are equally likely: of draws in [90000, 90350), half are in the first half.
  int first = 0, both = 0;
  for (std::uint64_t rank = 80000; rank < 100000; ++rank) both += counts[rank];
  for (std::uint64_t rank = 80000; rank < 90000; ++rank) first += counts[rank];
  const double part =
      (std::pow(80000, -0.15) - std::pow(90000, -0.15)) / (std::pow(80000, -0.15) - std::pow(1e5, -0.15));
  EXPECT_NEAR(first, both * part, 5 * std::sqrt(both));
}

// FBGEMM: "alpha up to 1.0 is uniform".
TEST(ZipfRanks, IsUniformUpToAnAlphaOfOne) {
  for (const std::uint32_t alpha : {0u, 500u, 1000u}) {
    const ZipfRanks ranks(alpha, 10);
    Random random(1);
    std::vector<int> counts(11);
    for (int i = 0; i < 100000; ++i) ++counts.at(ranks.draw(random));
    for (int rank = 1; rank <= 10; ++rank) EXPECT_NEAR(counts[static_cast<std::size_t>(rank)], 10000, 500) << alpha;
  }
}

}  // namespace
}  // namespace uvmsim::recommend
