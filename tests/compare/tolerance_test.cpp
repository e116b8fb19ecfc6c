// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/tolerance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sim/common/error.h"

namespace uvmsim::compare::tolerance_test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

Tolerance tolerance(std::string_view text, std::string_view metric = "evictions") {
  return Tolerance::parse(text, metric, "here");
}

std::string message_of(std::string_view text, std::string_view metric = "evictions") {
  try {
    tolerance(text, metric);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tolerance, IsExactUnlessSaidOtherwise) {
  for (const Tolerance& exact : {Tolerance(), tolerance("exact"), tolerance("0"), tolerance("0 %")}) {
    EXPECT_TRUE(exact.exact());
    EXPECT_EQ(exact.text(), "exact");
    EXPECT_TRUE(exact.allows(1000, 1000));
    EXPECT_FALSE(exact.allows(1000, 1001));
    EXPECT_FALSE(exact.allows(1000, 999));
  }
}

TEST(Tolerance, OfAShareIncludesItsEdge) {
  const Tolerance two = tolerance("2 %");
  EXPECT_TRUE(two.allows(1000, 1020));
  EXPECT_FALSE(two.allows(1000, 1021));
  EXPECT_TRUE(two.allows(1000, 980));
  EXPECT_FALSE(two.allows(1000, 979));
  // The percentage is of the expected value, not of the found one.
  EXPECT_FALSE(two.allows(980, 1000));
  const Tolerance fine = tolerance("0.001%");
  EXPECT_TRUE(fine.allows(1'000'000, 1'000'010));
  EXPECT_FALSE(fine.allows(1'000'000, 1'000'011));
  EXPECT_FALSE(fine.allows(99'999, 100'000));  // less than one
}

TEST(Tolerance, OfAShareOfNothingIsExact) {
  EXPECT_TRUE(tolerance("1000 %").allows(0, 0));
  EXPECT_FALSE(tolerance("1000 %").allows(0, 1));
}

TEST(Tolerance, OfAnAmountIncludesItsEdge) {
  const Tolerance three = tolerance("3");
  EXPECT_TRUE(three.allows(0, 3));
  EXPECT_FALSE(three.allows(0, 4));
  EXPECT_TRUE(three.allows(10, 7));
  EXPECT_FALSE(three.allows(10, 6));
}

TEST(Tolerance, TakesTheUnitOfItsMetric) {
  EXPECT_TRUE(tolerance("5 us", "settled_ns").allows(100'000, 105'000));
  EXPECT_FALSE(tolerance("5 us", "settled_ns").allows(100'000, 105'001));
  EXPECT_TRUE(tolerance("2MiB", "htod_bytes").allows(0, 2 << 20));
  EXPECT_THAT(message_of("2MiB", "settled_ns"), HasSubstr("unit of ns, us, ms, s"));
  EXPECT_THAT(message_of("5 us", "evictions"), HasSubstr("'5 us' is no tolerance"));
}

TEST(Tolerance, OfTheLargestNumbersDoesNotOverflow) {
  EXPECT_TRUE(tolerance("1000 %").allows(kMost, 0));
  EXPECT_TRUE(tolerance("100 %").allows(kMost, 0));
  EXPECT_FALSE(tolerance("99.999 %").allows(kMost, 0));
  EXPECT_TRUE(tolerance("18446744073709551615").allows(0, kMost));
}

TEST(Tolerance, OfOneSideLeavesTheOtherFree) {
  const Tolerance rise = tolerance("+2 %");
  EXPECT_TRUE(rise.allows(1000, 1020));
  EXPECT_FALSE(rise.allows(1000, 1021));
  EXPECT_TRUE(rise.allows(1000, 0));  // an improvement is no failure
  EXPECT_EQ(rise.text(), "at most +2 %");
  const Tolerance fall = tolerance("-5 us", "settled_ns");
  EXPECT_TRUE(fall.allows(100'000, 95'000));
  EXPECT_FALSE(fall.allows(100'000, 94'999));
  EXPECT_TRUE(fall.allows(0, kMost));
  EXPECT_EQ(fall.text(), "at least -5 us");
  const Tolerance no_rise = tolerance("+0");
  EXPECT_FALSE(no_rise.exact());
  EXPECT_TRUE(no_rise.allows(7, 7));
  EXPECT_TRUE(no_rise.allows(7, 6));
  EXPECT_FALSE(no_rise.allows(7, 8));
}

TEST(Tolerance, RefusesWhatIsNone) {
  for (const char* text :
       {"",       "%",     " %",       "two",  "+",    "-",      "--1",        "+-1 %", "+ ",
        "+exact", "1e3",   "0.0001 %", "1. %", ".5 %", "1001 %", "1000.001 %", "1 % 2", "18446744073709551616",
        "1,5 %",  "exact "}) {
    EXPECT_THAT(message_of(text), HasSubstr("here: '")) << text;
    EXPECT_THAT(message_of(text), HasSubstr("allowed: exact")) << text;
  }
}

TEST(Tolerances, TheExactNameGoesBeforePatternsAndTheFirstPatternBeforeLaterOnes) {
  Tolerances tolerances;
  tolerances.add("*_ns", "1 %", "here");
  tolerances.add("*", "2 %", "here");
  tolerances.add("total_ns", "3 %", "here");
  EXPECT_EQ(tolerances.of("total_ns").text(), "3 %");
  EXPECT_EQ(tolerances.of("settled_ns").text(), "1 %");
  EXPECT_EQ(tolerances.of("evictions").text(), "2 %");
  EXPECT_EQ(Tolerances().of("evictions").text(), "exact");
}

TEST(Tolerances, RefusesANameTwice) {
  Tolerances tolerances;
  tolerances.add("total_ns", "3 %", "here");
  EXPECT_THROW(tolerances.add("total_ns", "4 %", "here"), InputError);
}

}  // namespace
}  // namespace uvmsim::compare::tolerance_test
