// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/fault_unit.h"

#include <gtest/gtest.h>

namespace uvmsim::gmmu {
namespace {

config::GmmuConfig costs() {
  config::GmmuConfig config;
  config.fault_walk_blocks = 2;
  config.fault_block_ns = 300;
  config.fault_page_ns = 30;
  config.fault_repeat_ns = 5;
  return config;
}
Nanoseconds at(std::int64_t ns) { return Nanoseconds(ns); }

TEST(FaultUnit, PagesOfAKnownBlockAreCheapRepeatsCheaper) {
  const config::GmmuConfig config = costs();
  FaultUnit unit(config);
  EXPECT_EQ(unit.take(at(1000), at(1000), 7, false, 1), at(1300)) << "first walk in the block";
  EXPECT_EQ(unit.take(at(1000), at(1000), 7, false, 1), at(1330)) << "after the one before";
  EXPECT_EQ(unit.take(at(1000), at(1000), 7, true, 1), at(1335));
  EXPECT_EQ(unit.take(at(9000), at(9000), 7, false, 1), at(9030)) << "an idle unit starts when asked";
}

TEST(FaultUnit, FaultsRaisedAheadOfTimeArriveWhenTheyAreRaised) {
  const config::GmmuConfig config = costs();
  FaultUnit unit(config);
  EXPECT_EQ(unit.take(at(0), at(5000), 7, false, 1), at(5300));
  EXPECT_EQ(unit.take(at(0), at(0), 7, false, 1), at(330)) << "the unit does not wait for it";
}

TEST(FaultUnit, FurtherWarpsKeepItBusy) {
  const config::GmmuConfig config = costs();
  FaultUnit unit(config);
  EXPECT_EQ(unit.take(at(0), at(0), 7, false, 4), at(300)) << "the first of them";
  EXPECT_EQ(unit.take(at(0), at(0), 7, false, 1), at(300 + 3 * 5 + 30));
}

TEST(FaultUnit, RemembersTheBlocksWalkedLast) {
  const config::GmmuConfig config = costs();
  FaultUnit unit(config);
  std::int64_t now = 0;
  const auto cost = [&](std::uint64_t block) {
    const std::int64_t before = now;
    now = unit.take(at(before), at(before), block, false, 1).value;
    return now - before;
  };
  EXPECT_EQ(cost(1), 300);
  EXPECT_EQ(cost(2), 300);
  EXPECT_EQ(cost(1), 30);
  EXPECT_EQ(cost(3), 300) << "in place of 2, the one longest unused";
  EXPECT_EQ(cost(1), 30);
  EXPECT_EQ(cost(3), 30);
  EXPECT_EQ(cost(2), 300);
  unit.reset(at(now));
  EXPECT_EQ(cost(2), 300) << "a new kernel starts with none";
}

}  // namespace
}  // namespace uvmsim::gmmu
