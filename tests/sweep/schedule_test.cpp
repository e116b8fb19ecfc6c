// SPDX-License-Identifier: Apache-2.0
// The order in which a schedule hands out points; the tests act as the workers.
#include "sim/sweep/schedule.h"

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/sweep/sweep_folder.h"

namespace uvmsim::sweep {
namespace {

using ::testing::ElementsAre;

// Points over files of the given sizes in KiB, with factors 1, 2, 3.
class ScheduleTest : public ::testing::Test {
 protected:
  Plan plan(const std::vector<std::size_t>& sizes) const {
    Plan plan;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string path = folder.write(fmt::format("{}.uvmt", i), std::string(sizes[i] * 1024, 'x'));
      for (const std::uint64_t osf : {1000u, 2000u, 3000u}) {
        PlannedPoint planned;
        planned.point.trace = path;
        planned.point.osf_thousandths = osf;
        plan.points.push_back(planned);
      }
    }
    return plan;
  }
  static std::vector<std::size_t> all(const Plan& plan) {
    std::vector<std::size_t> positions(plan.points.size());
    std::iota(positions.begin(), positions.end(), 0);
    return positions;
  }

  const ScratchFolder folder;
};

TEST_F(ScheduleTest, CostGrowsWithTheTraceTheFactorAndTheIterations) {
  const Plan two = plan({1, 10});
  const Point& small = two.points[0].point;
  Point more = small;
  more.osf_thousandths = 4000;
  EXPECT_LT(expected_cost(small), expected_cost(more));
  EXPECT_LT(expected_cost(small), expected_cost(two.points[3].point));
  more = small;
  more.iterations = 20;
  EXPECT_LT(expected_cost(small), expected_cost(more));
  more = small;
  more.osf_thousandths = 0;
  EXPECT_LT(expected_cost(more), expected_cost(small)) << "no limit moves least";
  more.trace = "/nowhere";
  EXPECT_GT(expected_cost(more), 0u);
}

TEST_F(ScheduleTest, OneWorkerTakesTheLargestTraceFirstAndItsLongestPointFirst) {
  const Plan two = plan({1, 10});
  Schedule schedule(two, all(two));
  std::vector<std::size_t> order;
  std::optional<std::size_t> last;
  while ((last = schedule.take(last))) order.push_back(*last);
  EXPECT_THAT(order, ElementsAre(5, 4, 3, 2, 1, 0));
}

TEST_F(ScheduleTest, TwoWorkersStayWithTheirTraceAndShareTheLast) {
  const Plan three = plan({10, 8, 1});
  Schedule schedule(three, all(three));
  std::optional<std::size_t> first = schedule.take(std::nullopt), second = schedule.take(std::nullopt);
  EXPECT_EQ(first, 2u);
  EXPECT_EQ(second, 5u);
  first = schedule.take(first);
  EXPECT_EQ(first, 1u);
  second = schedule.take(second);
  EXPECT_EQ(second, 4u);
  first = schedule.take(schedule.take(first));  // 0, then the next trace without a worker
  EXPECT_EQ(first, 8u);
  second = schedule.take(schedule.take(second));  // 3, then it helps another worker
  EXPECT_EQ(second, 7u);
  EXPECT_EQ(schedule.take(first), 6u);
  EXPECT_EQ(schedule.take(second), std::nullopt);
}

TEST_F(ScheduleTest, EveryPointIsTakenOnceByHoweverManyWorkers) {
  const Plan many = plan({5, 3, 8, 1, 1});
  std::vector<std::size_t> positions = all(many);
  positions.erase(positions.begin() + 4);  // finished before
  for (const std::size_t workers : {1u, 2u, 3u, 20u}) {
    Schedule schedule(many, positions);
    std::vector<std::optional<std::size_t>> last(workers);
    std::multiset<std::size_t> taken;
    for (std::size_t left = workers; left != 0;) {
      left = 0;
      for (auto& worker : last) {
        worker = schedule.take(worker);
        if (worker) taken.insert(*worker), ++left;
      }
    }
    EXPECT_EQ(std::vector<std::size_t>(taken.begin(), taken.end()), positions);
  }
}

}  // namespace
}  // namespace uvmsim::sweep
