// SPDX-License-Identifier: Apache-2.0
#include "sim/report/heat_grid.h"

#include <gtest/gtest.h>

namespace uvmsim::report {
namespace {

constexpr std::uint64_t kChunk = kPagesPerBlock;  // pages

std::uint64_t resident_sum(const HeatGrid& grid) {
  std::uint64_t sum = 0;
  for (std::uint32_t t = 0; t < grid.time_buckets(); ++t) {
    for (std::uint32_t a = 0; a < grid.address_buckets(); ++a) sum += grid.cell(t, a).resident_page_ns;
  }
  return sum;
}

TEST(HeatGrid, ResidencyCountsFromComingToGoing) {
  HeatGrid grid(4, 4);  // cells of 1 us and 2 MiB
  grid.change_residency(Nanoseconds(500), 0, 100, true);
  grid.change_residency(Nanoseconds(2250), 0, 100, false);
  grid.finish(Nanoseconds(4000));
  EXPECT_EQ(grid.cell(0, 0).resident_page_ns, 100u * 500);
  EXPECT_EQ(grid.cell(1, 0).resident_page_ns, 100u * 1000);
  EXPECT_EQ(grid.cell(2, 0).resident_page_ns, 100u * 250);
  EXPECT_EQ(grid.cell(3, 0).resident_page_ns, 0u);
}

TEST(HeatGrid, WhatIsResidentAtTheEndCountsUpToTheEnd) {
  HeatGrid grid(4, 4);
  grid.change_residency(Nanoseconds(0), kChunk, 7, true);
  grid.finish(Nanoseconds(3500));
  EXPECT_EQ(grid.cell(0, 1).resident_page_ns, 7000u);
  EXPECT_EQ(grid.cell(3, 1).resident_page_ns, 3500u);
}

TEST(HeatGrid, ARunOfPagesIsSplitBetweenBuckets) {
  HeatGrid grid(4, 4);
  grid.change_residency(Nanoseconds(0), kChunk - 10, 30, true);
  grid.add(&HeatGrid::Cell::touched_bytes, Nanoseconds(1000), kBlockBytes - 512, 4096);
  grid.finish(Nanoseconds(1000));
  EXPECT_EQ(grid.cell(0, 0).resident_page_ns, 10000u);
  EXPECT_EQ(grid.cell(0, 1).resident_page_ns, 20000u);
  EXPECT_EQ(grid.cell(1, 0).touched_bytes, 512u);
  EXPECT_EQ(grid.cell(1, 1).touched_bytes, 3584u);
}

TEST(HeatGrid, ALongerRunGetsWiderTimeBucketsAndLosesNothing) {
  HeatGrid grid(5, 2);
  grid.change_residency(Nanoseconds(1000), 0, 3, true);
  grid.add(&HeatGrid::Cell::loaded_bytes, Nanoseconds(4000), 0, 4096);
  grid.add(&HeatGrid::Cell::loaded_bytes, Nanoseconds(13000), 0, 8192);
  EXPECT_EQ(grid.bucket_time(), Nanoseconds(4000));
  EXPECT_EQ(grid.cell(1, 0).loaded_bytes, 4096u);
  EXPECT_EQ(grid.cell(3, 0).loaded_bytes, 8192u);
  grid.finish(Nanoseconds(100000));
  EXPECT_EQ(grid.bucket_time(), Nanoseconds(32000));
  EXPECT_EQ(grid.cell(0, 0).loaded_bytes, 4096u + 8192u);
  EXPECT_EQ(grid.cell(0, 0).resident_page_ns, 3u * 31000);
  EXPECT_EQ(resident_sum(grid), 3u * 99000);
}

TEST(HeatGrid, ALargerFootprintGetsWiderAddressBucketsAndLosesNothing) {
  HeatGrid grid(4, 3);
  grid.change_residency(Nanoseconds(0), 0, 5, true);
  grid.change_residency(Nanoseconds(1000), kChunk, 7, true);
  grid.change_residency(Nanoseconds(2000), 2 * kChunk, 11, true);
  grid.change_residency(Nanoseconds(3000), 4 * kChunk, 13, true);
  EXPECT_EQ(grid.bucket_bytes(), 2 * kBlockBytes);
  grid.finish(Nanoseconds(4000));
  EXPECT_EQ(grid.cell(0, 0).resident_page_ns, 5u * 1000);
  EXPECT_EQ(grid.cell(1, 0).resident_page_ns, 12u * 1000);
  EXPECT_EQ(grid.cell(2, 1).resident_page_ns, 11u * 1000);
  EXPECT_EQ(grid.cell(3, 2).resident_page_ns, 13u * 1000);
  EXPECT_EQ(resident_sum(grid), 5u * 4000 + 7u * 3000 + 11u * 2000 + 13u * 1000);
}

TEST(HeatGrid, TimesThatGoBackCountFromTheLastOneOn) {
  HeatGrid grid(4, 1);
  grid.change_residency(Nanoseconds(2000), 0, 4, true);
  grid.change_residency(Nanoseconds(1500), 0, 4, false);
  grid.finish(Nanoseconds(4000));
  EXPECT_EQ(resident_sum(grid), 0u);
}

TEST(HeatGrid, OneCellHoldsEverything) {
  HeatGrid grid(1, 1);
  grid.change_residency(Nanoseconds(0), 12345678, 1, true);
  grid.finish(Nanoseconds(1234567890123));
  EXPECT_EQ(grid.cell(0, 0).resident_page_ns, 1234567890123u);
}

TEST(HeatGrid, ARunWithoutTimeIsEmpty) {
  HeatGrid grid(2, 2);
  grid.finish(Nanoseconds(0));
  EXPECT_EQ(resident_sum(grid), 0u);
}

}  // namespace
}  // namespace uvmsim::report
