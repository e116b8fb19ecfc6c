// SPDX-License-Identifier: Apache-2.0
#include "sim/report/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace uvmsim::report {
namespace {

TEST(Numbers, Ratio) {
  EXPECT_EQ(ratio_thousandths(3, 2), 1500u);
  EXPECT_EQ(ratio_thousandths(2, 3), 667u);
  EXPECT_EQ(ratio_thousandths(1, 0), 0u);
  EXPECT_EQ(ratio_thousandths(0, 7), 0u);
  // Divides the nanoseconds of a year by those of half a year.
  EXPECT_EQ(ratio_thousandths(31536000000000000u, 15768000000000000u), 2000u);
  EXPECT_EQ(ratio_thousandths(std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max()),
            1000u);
}

TEST(Numbers, Factors) {
  EXPECT_EQ(format_thousandths(1250), "1.250");
  EXPECT_EQ(format_thousandths(7), "0.007");
  EXPECT_EQ(format_factor(1250), "1.25");
  EXPECT_EQ(format_factor(10000), "10");
  EXPECT_EQ(format_factor(0), "0");
}

TEST(Numbers, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1023), "1023 bytes");
  EXPECT_EQ(format_bytes(65536), "64.00 KiB");
  EXPECT_EQ(format_bytes(6291456), "6.00 MiB");
  EXPECT_EQ(format_bytes(1610612736), "1.50 GiB");
  EXPECT_EQ(format_bytes(std::uint64_t{3} << 50), "3072.00 TiB");
  EXPECT_EQ(format_gib(1610612736), "1.500");
  EXPECT_EQ(format_gib(1), "0.000");
}

TEST(Numbers, Times) {
  EXPECT_EQ(format_ms(Nanoseconds(2103456789)), "2103.457");
  EXPECT_EQ(format_ms(Nanoseconds(499)), "0.000");
  EXPECT_EQ(format_us(Nanoseconds(1500)), "1.500");
  EXPECT_EQ(format_us(Nanoseconds(-1)), "-0.001");
  EXPECT_EQ(format_us(Nanoseconds(std::numeric_limits<std::int64_t>::min())), "-9223372036854775.808");
}

TEST(Numbers, Counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
}

}  // namespace
}  // namespace uvmsim::report
