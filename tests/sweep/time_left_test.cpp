// SPDX-License-Identifier: Apache-2.0
// The estimate for the rest of a sweep follows from the times of its points.
#include "sim/sweep/time_left.h"

#include "sim/sweep/schedule.h"

#include "tests/sweep/sweep_folder.h"

namespace uvmsim::sweep {
namespace {

using std::chrono::milliseconds;

class TimeLeftTest : public SweepFolderTest {
 protected:
  Point at(std::uint64_t osf, const std::string& prefetch = "tree") const {
    Point one = point();
    one.osf_thousandths = osf;
    one.prefetch.name = prefetch;
    return one;
  }
};

TEST_F(TimeLeftTest, NothingBeforeTheFirstPointIsDone) {
  const Point one = at(2000);
  EXPECT_EQ(TimeLeft().of(one), std::nullopt);
  EXPECT_EQ(TimeLeft().of({{&one}}, 2), std::nullopt);
}

TEST_F(TimeLeftTest, SlowPoliciesAreExpectedToStaySlow) {
  TimeLeft left;
  left.note(at(1000), milliseconds(100));
  left.note(at(1000, "none"), milliseconds(9000));
  EXPECT_EQ(left.of(at(2000)), milliseconds(200));
  EXPECT_EQ(left.of(at(2000, "none")), milliseconds(18000));
  EXPECT_EQ(left.of(at(2000, "markov")), milliseconds(9100)) << "of this trace, whatever the policies";
}

// Sizes of files predict little across traces: each trace has a ratio of its own, and for a trace without one yet, one
// large point that is fast per byte must not decide for the many small ones.
TEST_F(TimeLeftTest, PointsThatDifferInSizeAreWeighedByTheMedianRatio) {
  folder.write("large.uvmt", std::string(1023 << 10, 'x'));  // 1024 times the cost of a file below 1 KiB
  const auto of_trace = [&](const std::string& trace) {
    Point one = at(1000);
    one.trace = trace;
    return one;
  };
  const Point large = of_trace(folder.path("large.uvmt"));
  ASSERT_EQ(expected_cost(large), 1024 * expected_cost(of_trace("small")));
  TimeLeft left;
  left.note(large, milliseconds(1024));  // 1 ms per cost of a small one
  for (const char* trace : {"a", "b"}) left.note(of_trace(trace), milliseconds(100));
  EXPECT_EQ(left.of(of_trace("c")), milliseconds(100)) << "not (1024 + 200) / 1026 = 1 ms";
  EXPECT_EQ(left.of(of_trace(large.trace)), milliseconds(1024)) << "of its own trace";
  Point other = of_trace("a");
  other.osf_thousandths = 3000;
  other.prefetch.name = "none";
  left.note(at(1000), milliseconds(7));
  EXPECT_EQ(left.of(other), milliseconds(300)) << "of its own trace, whatever the others took";
}

TEST_F(TimeLeftTest, TheLongestPointIsTheLeastThatIsLeft) {
  TimeLeft left;
  left.note(at(1000), milliseconds(1000));
  const Point small = at(1000), large = at(10000);
  EXPECT_EQ(left.of({{&small}, {&small}}, 2), milliseconds(1000));
  EXPECT_EQ(left.of({{&small}, {&large}}, 4), milliseconds(10000));
  EXPECT_EQ(left.of({{&small}, {&large, milliseconds(9500)}}, 4), milliseconds(1000)) << "most of it is done";
  EXPECT_EQ(left.of(std::vector<TimeLeft::Rest>{}, 4), milliseconds(0));
}

TEST_F(TimeLeftTest, APointPastItsEstimateIsNotDone) {
  TimeLeft left;
  left.note(at(1000), milliseconds(1000));
  const Point one = at(1000);
  const auto after = [&](std::int64_t elapsed) { return left.of({{&one, milliseconds(elapsed)}}, 1); };
  EXPECT_EQ(after(0), milliseconds(1000));
  EXPECT_EQ(after(600), milliseconds(400));
  EXPECT_EQ(after(990), milliseconds(100)) << "a tenth";
  EXPECT_EQ(after(1000), milliseconds(100));
  EXPECT_EQ(after(1050), milliseconds(100));
  EXPECT_EQ(after(4000), milliseconds(3000)) << "as long again as it is over";
}

}  // namespace
}  // namespace uvmsim::sweep
