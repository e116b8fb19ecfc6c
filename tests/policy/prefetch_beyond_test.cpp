// SPDX-License-Identifier: Apache-2.0
// Prefetchers that work in 64 KB units of the address space, inside and beyond the faulted block.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "sim/common/random.h"
#include "tests/policy/space_under_test.h"

namespace uvmsim::policy {
namespace {

using Units = std::vector<std::uint64_t>;

std::uint64_t faults_of(std::string_view policy, const GivenParameters& given, std::uint64_t blocks,
                        const Units& order) {
  SpaceUnderTest space(policy, given, {blocks});
  for (const std::uint64_t unit : order) space.fault(unit);
  return space.faults;
}

Units sweep(std::uint64_t first, std::uint64_t end, std::uint64_t step = 1) {
  Units units;
  for (; first < end; first += step) units.push_back(first);
  return units;
}

TEST(NextLine, BringsTheNextUnitsAcrossBlocksButNotAcrossAllocations) {
  SpaceUnderTest space("next_line", {}, {2, 1});
  EXPECT_EQ(space.fault(5), (Units{5, 6, 7}));
  EXPECT_EQ(space.fault(30), (Units{30, 31, 32}));
  EXPECT_EQ(space.fault(63), (Units{63}));
  EXPECT_EQ(space.fault(64), (Units{64, 65, 66}));
  for (const int degree : {1, 2, 5, 40}) {
    const auto expected = static_cast<std::uint64_t>((128 + degree) / (degree + 1));
    EXPECT_EQ(faults_of("next_line", {{"degree", std::to_string(degree)}}, 4, sweep(0, 128)), expected) << degree;
  }
}

TEST(AlwaysTwoMegabytes, BringsTheBlock) {
  SpaceUnderTest space("always_2mb", {}, {2});
  EXPECT_EQ(space.fault(40), sweep(32, 64));
  EXPECT_TRUE(space.wanted_beyond.empty());
}

// Reference 3.2: the prefetcher removes a third of the faults. A sweep of n pages takes n ln 2 faults in the limit.
TEST(RandomPages, ASweepTakesNLn2Faults) {
  SpaceUnderTest space("random", {}, {32});
  for (std::uint64_t page = 0; page < 32 * kPagesPerBlock; ++page) space.fault_on(page);
  EXPECT_NEAR(static_cast<double>(space.faults), 32 * kPagesPerBlock * std::log(2.0), 0.01 * 32 * kPagesPerBlock);
  EXPECT_TRUE(space.wanted_beyond.empty());
}

TEST(Stride, FollowsAStrideOnceItIsSure) {
  SpaceUnderTest space("stride", {}, {8});
  EXPECT_EQ(space.fault(0), (Units{0}));
  EXPECT_EQ(space.fault(5), (Units{5}));
  EXPECT_EQ(space.fault(10), (Units{10, 15, 20}));
  EXPECT_EQ(space.fault(25), (Units{25, 30, 35})) << "behind what came, and into the next block";
  EXPECT_EQ(space.fault(100), (Units{100, 105, 110})) << "one exception";
  EXPECT_EQ(space.fault(7), (Units{7})) << "a second one";
}

TEST(Stride, GoesDownwardsAndStaysInItsAllocation) {
  SpaceUnderTest space("stride", {}, {2, 2});
  space.fault(72);
  space.fault(70);
  EXPECT_EQ(space.fault(68), (Units{64, 66, 68}));
  EXPECT_TRUE(space.fault(66).empty());
  EXPECT_EQ(space.fault(63), (Units{63})) << "another allocation has a pattern of its own";
}

TEST(Stride, AllocationsAreFollowedSideBySide) {
  // a[i] and b[3 i] are accessed in turns: distances between consecutive faults differ, but within an allocation they
  // are equal.
  SpaceUnderTest space("stride", {}, {4, 8});
  for (std::uint64_t i = 0; i < 84; ++i) {
    space.fault(i);
    space.fault(128 + 3 * i);
  }
  EXPECT_LE(space.faults, 2 * (2 + 84 / 3 + 1));
}

TEST(Stride, IgnoresWhatIsTooFar) {
  EXPECT_EQ(faults_of("stride", {{"max_stride", "4"}}, 8, sweep(0, 200, 5)), 40u);
  EXPECT_EQ(faults_of("stride", {{"max_stride", "5"}}, 8, sweep(0, 200, 5)), 2 + 38 / 3 + 1u);
}

TEST(Markov, BringsWhatFollowedBefore) {
  SpaceUnderTest space("markov", {{"depth", "1"}}, {1, 1});
  for (const std::uint64_t unit : {3u, 50u, 9u, 40u}) EXPECT_EQ(space.fault(unit), (Units{unit}));
  space.evict(0);
  space.evict(1);
  EXPECT_EQ(space.fault(3), (Units{3, 50})) << "also of another allocation";
  EXPECT_EQ(space.fault(9), (Units{9, 40}));
}

TEST(Markov, FollowsSuccessorsOfSuccessors) {
  SpaceUnderTest space("markov", {{"depth", "3"}}, {2});
  for (const std::uint64_t unit : {3u, 50u, 9u, 40u, 60u}) space.fault(unit);
  space.evict(0);
  space.evict(1);
  EXPECT_EQ(space.fault(3), (Units{3, 9, 40, 50}));
}

// Compares with maps: if the table has room for all units, the successors of a unit are the latest distinct ones.
TEST(Markov, AgreesWithMapsOnRandomStreams) {
  Random random(4);
  SpaceUnderTest space("markov", {{"depth", "1"}, {"successors", "2"}, {"entries", "64"}}, {2});
  std::map<std::uint64_t, Units> successors;
  std::uint64_t last = 64;
  for (int i = 0; i < 4000; ++i) {
    space.evict(0);
    space.evict(1);
    const std::uint64_t unit = random.below(1 + random.below(64));
    if (last < 64 && last != unit) {
      Units& known = successors[last];
      std::erase(known, unit);
      known.insert(known.begin(), unit);
      known.resize(std::min<std::size_t>(known.size(), 2));
    }
    last = unit;
    std::set<std::uint64_t> expected{unit};
    for (const std::uint64_t successor : successors[unit]) expected.insert(successor);
    ASSERT_EQ(space.fault(unit), Units(expected.begin(), expected.end())) << i;
  }
}

TEST(Leap, FindsTheTrendOfTheMajorityAndWidensItsWindow) {
  SpaceUnderTest space("leap", {}, {8});
  Units came;
  std::uint64_t largest = 0;
  for (std::uint64_t unit = 0; unit < 8 * 32; unit += 2) {
    largest = std::max<std::uint64_t>(largest, space.fault(unit).size());
  }
  EXPECT_EQ(largest, 9u) << "the faulted one and a full window of 8";
  EXPECT_LE(space.faults, 20u);
  EXPECT_FALSE(space.resident(3).test(kPagesPerBigPage)) << "units in between are not touched";
}

TEST(Leap, OneStrayFaultDoesNotMoveTheTrend) {
  SpaceUnderTest space("leap", {{"max_window", "1"}}, {16});
  for (std::uint64_t unit = 0; unit < 40; ++unit) space.fault(unit);
  space.fault(300);
  // The distances to 300 and back are two of many; the window closed and opens again.
  for (std::uint64_t unit = 40; unit < 43; ++unit) space.fault(unit);
  const std::uint64_t before = space.faults;
  for (std::uint64_t unit = 60; unit < 80; ++unit) space.fault(unit);
  EXPECT_LE(space.faults - before, 12u);
}

TEST(Leap, RandomFaultsBringNextToNothing) {
  Random random(8);
  SpaceUnderTest space("leap", {}, {128});
  std::uint64_t came = 0;
  for (int i = 0; i < 300; ++i) came += space.fault(random.below(128 * 32)).size();
  EXPECT_LT(came, 330u);
}

TEST(BestOffset, LearnsTheOffset) {
  for (const std::uint64_t stride : {1u, 3u, 8u, 25u}) {
    SpaceUnderTest space("best_offset", {{"rounds", "3"}}, {128});
    const Units order = sweep(0, 128 * 32, stride);
    for (const std::uint64_t unit : order) space.fault(unit);
    const std::uint64_t learned = 3 * 26;  // faults of the first phase
    EXPECT_LE(space.faults, learned + (order.size() - learned) / 2 + 40) << stride;
  }
}

TEST(BestOffset, TurnsItselfOffWhereNothingIsForeseen) {
  Random random(6);
  SpaceUnderTest space("best_offset", {{"rounds", "4"}}, {1024});
  for (int i = 0; i < 300; ++i) space.fault(random.below(1024 * 32));
  std::uint64_t came = 0, faults = space.faults;
  for (int i = 0; i < 100; ++i) came += space.fault(random.below(1024 * 32)).size();
  EXPECT_EQ(came, space.faults - faults);
}

TEST(BlockAhead, ADenseBlockBringsTheNextOnes) {
  SpaceUnderTest space("block_ahead", {}, {6, 4});
  EXPECT_EQ(space.fault(0), (Units{0}));
  for (const std::uint64_t unit : {1u, 2u, 4u, 8u}) EXPECT_TRUE((space.fault(unit), space.wanted_beyond.empty()));
  EXPECT_EQ(space.fault(16), sweep(16, 96)) << "the last step of the tree, and two blocks";
  EXPECT_TRUE(space.fault(33).empty());
  for (const std::uint64_t unit : {96u, 97u, 98u, 100u, 104u}) space.fault(unit);
  EXPECT_EQ(space.fault(112), sweep(112, 192)) << "and no further than the allocation";
}

TEST(BlockAhead, GoesDownwardsWhereTheWalkDoes) {
  SpaceUnderTest space("block_ahead", {{"blocks", "1"}}, {4});
  space.fault(127);
  for (const std::uint64_t unit : {95u, 94u, 93u, 91u, 87u}) space.fault(unit);
  EXPECT_EQ(space.fault(79), sweep(32, 80));
}

TEST(BlockAhead, AnotherDensityIsAnotherMoment) {
  SpaceUnderTest early("block_ahead", {{"density", "25"}, {"blocks", "1"}}, {2});
  for (const std::uint64_t unit : {0u, 1u, 2u}) early.fault(unit);
  EXPECT_EQ(early.fault(4).size(), 4 + 32u);
}

Future future_of(const Units& units) {
  Future future;
  future.add_operation(1);
  for (const std::uint64_t unit : units) future.add_use(ContentIndex(unit));
  future.finish();
  future.enter(1);
  return future;
}

TEST(OracleNext, BringsWhatIsNextAndMissing) {
  Future future = future_of({7, 40, 3, 7, 90, 12, 41});
  SpaceUnderTest space("oracle_next", {{"units", "3"}}, {1, 1, 1}, &future);
  EXPECT_EQ(space.fault(7), (Units{3, 7, 40, 90}));
  future.arrive(ContentIndex(12));
  EXPECT_EQ(space.fault(12), (Units{12, 41}));
  EXPECT_TRUE(space.fault(41).empty());
}

TEST(OracleNext, LooksNoFurtherThanItMay) {
  Future future = future_of(sweep(0, 96));
  SpaceUnderTest space("oracle_next", {{"look", "10"}}, {3}, &future);
  EXPECT_EQ(space.fault(0), sweep(0, 10));
  future.arrive(ContentIndex(10));
  EXPECT_EQ(space.fault(10), sweep(10, 20));
}

TEST(CppeLike, BringsThePagesThatWereUsedBefore) {
  SpaceUnderTest space("cppe_like", {}, {2});
  EXPECT_EQ(space.fault_on(20), (Units{1}));
  PageMask used;
  for (const unsigned page : {20u, 22u, 27u}) used.set(page);
  space.evict(0, used);
  space.fault_on(22);
  EXPECT_TRUE(space.resident(0) == used);
  // A fault on another page of the unit: the pattern was right once, so it stays, and the whole unit is fetched.
  space.fault_on(21);
  EXPECT_EQ(space.resident(0).count(), 16u);
  space.evict(0, PageMask::range(16, 12));
  EXPECT_EQ(space.fault_on(17), (Units{1}));
  EXPECT_EQ(space.resident(0).count(), 1u + 15u) << "12 of 16 used is no pattern; the old one is gone";
}

TEST(CppeLike, AFirstFaultOutsideThePatternEndsIt) {
  SpaceUnderTest space("cppe_like", {}, {1});
  space.fault_on(0);
  PageMask used;
  used.set(0);
  used.set(1);
  space.evict(0, used);
  space.fault_on(9);
  EXPECT_EQ(space.resident(0).count(), 16u);
  space.evict(0, PageMask());
  space.fault_on(0);
  EXPECT_EQ(space.resident(0).count(), 16u);
}

}  // namespace
}  // namespace uvmsim::policy
