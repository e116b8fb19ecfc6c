// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/fault_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace uvmsim::gpu {
namespace {

using testing::ElementsAre;

constexpr std::uint8_t kGpcs[] = {0, 0, 1, 1, 2};  // of five SMs
Nanoseconds at(std::int64_t ns) { return Nanoseconds(ns); }

FaultPath three_gpcs() {
  FaultPath path;
  path.gpcs = 3;
  return path;
}
RequestRun run(std::int64_t first, std::uint16_t count, std::uint16_t spacing = 8) {
  return {at(first), PageIndex(1), count, spacing, RequestKind::kStore};
}
struct Taken {
  std::vector<std::int64_t> arrivals;
  std::vector<std::uint32_t> sms;
};
Taken take(FaultUnit& unit, std::int64_t until) {
  Taken taken;
  unit.take(at(until), [&](Nanoseconds arrival, std::uint32_t sm, const RequestRun&) {
    taken.arrivals.push_back(arrival.value);
    taken.sms.push_back(sm);
  });
  return taken;
}

TEST(FaultUnit, TakesOneEach20Point4Nanoseconds) {
  FaultUnit unit(three_gpcs(), kGpcs);
  unit.send(0, run(1000, 6, 0));
  EXPECT_EQ(unit.next_arrival(), at(1020)) << "20 ns after it was sent";
  EXPECT_THAT(take(unit, 10000).arrivals, ElementsAre(1020, 1040, 1060, 1081, 1101, 1122));
  EXPECT_EQ(unit.next_arrival(), kNever);
}

TEST(FaultUnit, TakesTheGpcsInTurnAndWithinOneInOrderOfSending) {
  FaultUnit unit(three_gpcs(), kGpcs);
  unit.send(0, run(1000, 4));  // 1000, 1008, 1016, 1024
  unit.send(1, run(1004, 2));  // 1004, 1012
  unit.send(2, run(1000, 2));
  unit.send(4, run(1000, 1));
  EXPECT_THAT(take(unit, 10000).sms, ElementsAre(0, 2, 4, 1, 2, 0, 1, 0, 0));
}

// A kernel may take 2^61 ns.
TEST(FaultUnit, TakesThemInTheSameOrderAtTheEndOfTime) {
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{1} << 51, std::int64_t{1} << 61}) {
    FaultUnit unit(three_gpcs(), kGpcs);
    unit.send(0, run(begin + 1000, 4));
    unit.send(1, run(begin + 1004, 2));
    unit.send(2, run(begin + 1000, 2));
    EXPECT_EQ(unit.next_arrival(), at(begin + 1020));
    EXPECT_THAT(take(unit, begin + 1050).sms, ElementsAre(0, 2)) << begin;
    EXPECT_EQ(unit.skip(at(begin + 1101)), 3u) << begin;
    EXPECT_THAT(take(unit, begin + 10000).arrivals, ElementsAre(begin + 1122, begin + 1142, begin + 1162)) << begin;
  }
}

TEST(FaultUnit, TakesNoMoreThanUntilThen) {
  FaultUnit unit(three_gpcs(), kGpcs);
  unit.send(3, run(0, 10, 0));
  EXPECT_EQ(take(unit, 60).sms.size(), 3u) << "at 20, 40.4 and 60.8: the clock shows whole nanoseconds";
  EXPECT_EQ(take(unit, 60).sms.size(), 0u);
  EXPECT_EQ(unit.waiting(), 7u);
  EXPECT_EQ(take(unit, 1000).sms.size(), 7u);
}

TEST(FaultUnit, ForgetsWhatWaitsAtAReplay) {
  FaultUnit unit(three_gpcs(), kGpcs);
  unit.send(0, run(0, 10));
  take(unit, 50);
  unit.forget();
  EXPECT_TRUE(unit.empty());
  unit.send(0, run(30, 1));
  EXPECT_THAT(take(unit, 1000).arrivals, ElementsAre(60)) << "the unit is at its last one until 60.8";
}

// skip() counts as many faults as take() delivers, whatever the time is.
TEST(FaultUnit, CountsWhatNobodyHears) {
  for (std::int64_t until = 0; until < 1500; until += 7) {
    FaultUnit heard(three_gpcs(), kGpcs), unheard(three_gpcs(), kGpcs);
    for (FaultUnit* unit : {&heard, &unheard}) {
      for (std::uint32_t sm = 0; sm < 5; ++sm) {
        unit->send(sm, run(100 + 31 * sm, static_cast<std::uint16_t>(3 + sm)));
        unit->send(sm, run(400 + 13 * sm, 4, 2));
      }
    }
    EXPECT_EQ(take(heard, until).sms.size(), unheard.skip(at(until))) << "until " << until;
    EXPECT_EQ(heard.waiting(), unheard.waiting());
  }
}

}  // namespace
}  // namespace uvmsim::gpu
