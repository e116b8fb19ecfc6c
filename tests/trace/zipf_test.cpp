// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/zipf.h"

#include <gtest/gtest.h>

#include <cmath>

namespace uvmsim::trace {
namespace {

TEST(Zipf, WeightsFollowThePowerLaw) {
  for (const std::uint32_t exponent : {0u, 500u, 990u, 1000u, 2000u}) {
    const ZipfDistribution zipf(1000, exponent);
    for (const std::uint64_t rank : {0u, 1u, 2u, 9u, 99u, 999u}) {
      const double expected = std::pow(static_cast<double>(rank + 1), -exponent / 1000.0) * (1 << 30);
      EXPECT_NEAR(static_cast<double>(zipf.weight(rank)), expected, 2 + expected * 1e-6) << exponent << " " << rank;
    }
  }
  // Recorded numbers: every machine and compiler must give the same.
  const ZipfDistribution zipf(1000, 990);
  EXPECT_EQ(zipf.weight(0), 1073741824u);
  EXPECT_EQ(zipf.weight(1), ZipfDistribution(2, 990).weight(1));
  Random random(1);
  std::uint64_t sum = 0;
  for (int i = 0; i < 1000; ++i) sum = sum * 31 + zipf.draw(random);
  EXPECT_EQ(sum, UINT64_C(2425951212453199490));
}

}  // namespace
}  // namespace uvmsim::trace
