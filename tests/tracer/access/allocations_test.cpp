// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/allocations.h"

#include <gtest/gtest.h>

namespace uvmtrace::access {
namespace {

TEST(Allocations, FindsInsideAndNotBeside) {
  Allocations allocations;
  allocations.add({4096, 100, "device"});
  EXPECT_FALSE(allocations.find(4095));
  EXPECT_EQ(allocations.find(4096)->bytes, 100U);
  EXPECT_EQ(allocations.find(4195)->va, 4096U);
  EXPECT_FALSE(allocations.find(4196));
  EXPECT_FALSE(allocations.remove(4100));
  EXPECT_STREQ(allocations.remove(4096)->kind, "device");
  EXPECT_FALSE(allocations.find(4096));
}

TEST(Allocations, WhatOverlapsIsReplacedAndReadersLearnBoth) {
  Allocations allocations;
  const std::size_t reader = allocations.add_reader();
  allocations.add({1000, 1000, "device"});
  allocations.add({3000, 1000, "device"});
  allocations.add({1500, 2000, "pool"});
  const std::vector<Change> changes = allocations.take_changes(reader);
  ASSERT_EQ(changes.size(), 5U);
  EXPECT_TRUE(changes[0].added && changes[1].added && changes[4].added);
  EXPECT_FALSE(changes[2].added || changes[3].added);
  EXPECT_EQ(changes[2].va, 1000U);
  EXPECT_EQ(changes[3].va, 3000U);
  EXPECT_FALSE(allocations.find(1200));
  EXPECT_TRUE(allocations.take_changes(reader).empty());
}

TEST(Allocations, ANewReaderStartsWithWhatIsLive) {
  Allocations allocations;
  allocations.add({1000, 10, "device"});
  allocations.add({2000, 20, "managed"});
  (void)allocations.remove(1000);
  const std::vector<Change> changes = allocations.take_changes(allocations.add_reader());
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].va, 2000U);
  EXPECT_EQ(changes[0].bytes, 20U);
}

TEST(Allocations, EmptyAndOverflowingRangesAreIgnored) {
  Allocations allocations;
  allocations.add({1000, 0, "device"});
  allocations.add({UINT64_MAX - 10, 100, "device"});
  EXPECT_FALSE(allocations.find(1000));
  EXPECT_FALSE(allocations.find(UINT64_MAX - 5));
}

}  // namespace
}  // namespace uvmtrace::access
