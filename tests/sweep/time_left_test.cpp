// What is said of the rest of a sweep follows from what its points took.
#include "sim/sweep/time_left.h"

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

TEST_F(TimeLeftTest, TheLongestPointIsTheLeastThatIsLeft) {
  TimeLeft left;
  left.note(at(1000), milliseconds(1000));
  const Point small = at(1000), large = at(10000);
  EXPECT_EQ(left.of({{&small}, {&small}}, 2), milliseconds(1000));
  EXPECT_EQ(left.of({{&small}, {&large}}, 4), milliseconds(10000));
  EXPECT_EQ(left.of({{&small}, {&large, milliseconds(9500)}}, 4), milliseconds(1000)) << "most of it is done";
  EXPECT_EQ(left.of(std::vector<TimeLeft::Rest>{}, 4), milliseconds(0));
}

}  // namespace
}  // namespace uvmsim::sweep
