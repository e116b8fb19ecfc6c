// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tests/tracer/access/host_machine.h"

namespace uvmtrace::access {
namespace {

// Computes the slice like the device.
std::uint64_t slice_of(const Slices& slices, std::uint64_t block) {
  const std::uint64_t factor = slices.factor();
  return factor == 0 ? (slices.count == 0 ? 0 : block) : HostMachine::high_product(block, factor);
}

TEST(Slices, AreTheClosedFormForEveryBlock) {
  for (const std::uint32_t wanted : {1U, 2U, 7U, 16U, 64U}) {
    for (const std::uint64_t blocks : {1ULL, 2ULL, 15ULL, 16ULL, 17ULL, 100ULL, 1537ULL, 65536ULL}) {
      const Slices slices(blocks, wanted);
      const std::uint64_t count = std::min<std::uint64_t>(wanted, blocks);
      ASSERT_EQ(slices.count, count);
      for (std::uint64_t block = 0; block < blocks; ++block) {
        ASSERT_EQ(slice_of(slices, block), block * count / blocks)
            << blocks << " blocks in " << wanted << ", " << block;
      }
    }
  }
}

TEST(Slices, AreExactAtTheirEdgesInHugeGrids) {
  for (const std::uint64_t blocks : {(1ULL << 32) - 1, (1ULL << 32) - 5, (1ULL << 31) + 1, 2147483647ULL}) {
    for (const std::uint32_t wanted : {3U, 16U, 63U}) {
      const Slices slices(blocks, wanted);
      for (std::uint32_t k = 0; k < wanted; ++k) {
        const std::uint64_t first = slices.first_block(k);
        EXPECT_EQ(slice_of(slices, first), k);
        if (k != 0) {
          EXPECT_EQ(slice_of(slices, first - 1), k - 1);
        }
      }
      EXPECT_EQ(slice_of(slices, blocks - 1), wanted - 1);
    }
  }
}

TEST(Slices, StayInBoundsInTheLargestGrids) {
  for (const std::uint64_t blocks : {1ULL << 32, (1ULL << 40) + 12345, 2147483647ULL * 65535 * 65535}) {
    for (const std::uint32_t wanted : {3U, 16U, 64U}) {
      const Slices slices(blocks, wanted);
      EXPECT_LT(slice_of(slices, blocks - 1), wanted);
      EXPECT_GE(slice_of(slices, blocks - 1) + 1, wanted - 1);
      EXPECT_EQ(slice_of(slices, 0), 0U);
    }
  }
}

TEST(Slices, CoverTheGridWithoutGaps) {
  for (const std::uint64_t blocks : {1ULL, 5ULL, 16ULL, 1000ULL, 1537ULL}) {
    const Slices slices(blocks, 16);
    EXPECT_EQ(slices.first_block(0), 0U);
    EXPECT_EQ(slices.first_block(slices.count), blocks);
    for (std::uint32_t k = 0; k < slices.count; ++k) EXPECT_LT(slices.first_block(k), slices.first_block(k + 1));
  }
}

TEST(Slices, NoneWanted) {
  const Slices slices(100, 0);
  EXPECT_EQ(slices.count, 0U);
  EXPECT_EQ(slices.factor(), 0U);
}

}  // namespace
}  // namespace uvmtrace::access
