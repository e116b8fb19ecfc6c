// SPDX-License-Identifier: Apache-2.0
// Plans: written, read back, and refused when something is wrong with them.
#include "sim/sweep/plan.h"
#include "sim/common/sha256.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/sweep/collect.h"
#include "sim/sweep/resolve.h"
#include "tests/sweep/sweep_folder.h"

namespace uvmsim::sweep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PlanTest : public SweepFolderTest {
 protected:
  Plan plan(const std::string& more) const {
    return make_plan(folder.write("s.json", R"({"traces": "a.jsonl", "systems": "h200-sxm-pcie5", )" + more + "}"));
  }
  std::vector<std::string> ids(const Plan& plan) const {
    std::vector<std::string> all;
    for (const PlannedPoint& point : plan.points) all.push_back(point.id);
    return all;
  }
  static std::size_t asked(const Plan& plan) {
    return static_cast<std::size_t>(
        std::count_if(plan.points.begin(), plan.points.end(), [](const auto& point) { return point.asked; }));
  }
  std::string dir() const { return folder.path("dir"); }
};

TEST_F(PlanTest, ComesBackWhole) {
  const Plan written = plan(R"("osf": ["none", 1, 2], "evict": ["mru", "lru"])");
  write_plan(written, dir());
  const Plan read = read_plan(dir());
  EXPECT_EQ(ids(read), ids(written));
  EXPECT_EQ(read.spec, written.spec);
  EXPECT_EQ(read.model_version, written.model_version);
  EXPECT_EQ(read.policies_version, written.policies_version);
  for (std::size_t i = 0; i < read.points.size(); ++i) {
    EXPECT_EQ(to_json(read.points[i].point), to_json(written.points[i].point));
    EXPECT_EQ(read.points[i].asked, written.points[i].asked);
    EXPECT_EQ(read.points[i].determinants, written.points[i].determinants);
    EXPECT_EQ(Resolver().resolve(read.points[i].point).id, read.points[i].id);
  }
  const std::string before = folder.read("dir/points.jsonl");
  write_plan(read, dir());
  EXPECT_EQ(folder.read("dir/points.jsonl"), before);
}

TEST_F(PlanTest, EqualPointsAreThereOnce) {
  const Plan once = plan(R"("osf": [1, 2])");
  const Plan often = plan(
      R"("grids": [{"osf": [1, 2]}, {"osf": 2, "prefetch": "tree:threshold=51"}, {"osf": [2, 1]},
                   {"osf": 1, "layouts": ["recorded"]}])");
  EXPECT_EQ(ids(often), ids(once));
}

TEST_F(PlanTest, AnExtendedSweepKeepsTheIdsOfItsPoints) {
  const auto first = ids(plan(R"("osf": [1, 2])")), second = ids(plan(R"("osf": ["none", 1, 1.5, 2])"));
  for (const std::string& id : first) EXPECT_THAT(second, ::testing::Contains(id));
  EXPECT_EQ(second.size(), 4u);
}

TEST_F(PlanTest, OneBaselineForAllPoliciesOfAProgramAfterThePointsOfTheGrid) {
  const Plan lacks = plan(R"("osf": [1, 2], "evict": ["lrm", "lru"], "layouts": ["recorded", "none"])");
  EXPECT_EQ(lacks.points.size(), 10u);
  EXPECT_EQ(asked(lacks), 8u);
  for (const PlannedPoint& point : lacks.points) {
    const std::string& wanted = lacks.points[point.point.layout == "recorded" ? 8 : 9].id;
    EXPECT_EQ(baseline_id(point.determinants), wanted);
  }
  EXPECT_EQ(Resolver().resolve(lacks.points[8].point).id, baseline_id(lacks.points[8].determinants)) << "its own";
  const Plan holds = plan(R"("osf": ["none", 1, 2], "prefetch": ["tree", "none"])");
  EXPECT_EQ(asked(holds), holds.points.size());
}

TEST_F(PlanTest, WhatCannotBeResolvedNamesTheSweepFile) {
  EXPECT_THAT(message_of([&] { plan(R"("evict": "lrx")"); }),
              ::testing::AllOf(StartsWith(folder.path("s.json")), HasSubstr("lrx"), HasSubstr("lrm")));
  EXPECT_THAT(message_of([&] { plan(R"("layouts": "pytorch")"); }), HasSubstr("pytorch"));
  EXPECT_THAT(message_of([&] { plan(R"("settings": {"costs.batch": 1})"); }), HasSubstr("costs.batch"));
}

TEST_F(PlanTest, AFolderWithoutASweepSaysHowToMakeOne) {
  EXPECT_THAT(message_of([&] { read_plan(folder.path()); }), HasSubstr("uvmsim sweep plan"));
  EXPECT_THAT(message_of([&] { read_plan("/nowhere"); }), HasSubstr("/nowhere"));
}

TEST_F(PlanTest, ADamagedPlanIsRefused) {
  write_plan(plan(R"("osf": [1, 2])"), dir());
  const std::string header = folder.read("dir/sweep.json"), points = folder.read("dir/points.jsonl");
  const auto refusal = [&](const std::string& new_header, const std::string& new_points) {
    folder.write("dir/sweep.json", new_header);
    folder.write("dir/points.jsonl", new_points);
    const std::string message = message_of([&] { read_plan(dir()); });
    EXPECT_THAT(message, StartsWith(dir()));
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0);
    return message;
  };
  EXPECT_THAT(refusal(header, points.substr(0, points.find('\n') + 1)), HasSubstr("plan the sweep again"));
  EXPECT_THAT(refusal(header, points + "\n"), HasSubstr("plan the sweep again"));
  EXPECT_THAT(refusal("", points), HasSubstr("no JSON"));
  EXPECT_THAT(refusal("[]", points), HasSubstr("no JSON"));
  EXPECT_THAT(refusal("{}", points), HasSubstr("/schema"));
  json other = json::parse(header);
  other["schema"] = "uvmsim.sweep/9";
  EXPECT_THAT(refusal(other.dump(), points), HasSubstr("uvmsim.sweep/2"));
  // A key that contains a line break, found by the fuzzer.
  json point = json::parse(points.substr(0, points.find('\n')));
  point["point"]["a\nb"] = 1;
  const std::string line = point.dump() + "\n";
  other = json::parse(header);
  other["points_sha256"] = sha256(line);
  EXPECT_THAT(refusal(other.dump(), line), HasSubstr("unknown key 'a?b'"));
}

TEST_F(PlanTest, AnotherModelsPlanIsRefused) {
  Plan other = plan(R"("osf": 1)");
  check_versions(other, dir());
  other.model_version = std::string(64, '0');
  EXPECT_THAT(message_of([&] { check_versions(other, dir()); }),
              ::testing::AllOf(StartsWith(dir()), HasSubstr("000000000000"), HasSubstr("plan the sweep again")));
}

TEST_F(PlanTest, APlanOfOtherPoliciesIsRefused) {
  Plan other = plan(R"("osf": 1)");
  other.policies_version = std::string(64, '0');
  EXPECT_THAT(message_of([&] { check_versions(other, dir()); }),
              ::testing::AllOf(StartsWith(dir()), HasSubstr("built-in policy"), HasSubstr("plan the sweep again")));
}

TEST_F(PlanTest, AnotherPlanRemovesWhatWasCollectedForTheFirst) {
  write_plan(plan(R"("osf": 1)"), dir());
  folder.write("dir/results.csv", "x");
  folder.write("dir/points/y.json", "y");
  write_plan(plan(R"("osf": 1)"), dir());
  EXPECT_EQ(folder.read("dir/results.csv"), "x") << "the same plan";
  write_plan(plan(R"("osf": [1, 2])"), dir());
  EXPECT_FALSE(std::filesystem::exists(folder.path("dir/results.csv")));
  EXPECT_EQ(folder.read("dir/points/y.json"), "y") << "points stay";
}

TEST_F(PlanTest, NobodyReplacesAPlanThatIsBeingRun) {
  const Plan first = plan(R"("osf": 1)"), second = plan(R"("osf": [1, 2])");
  {
    const PlanLock runs = write_plan(first, dir());
    const PlanLock collects(dir());
    const std::string before = folder.read("dir/points.jsonl");
    EXPECT_THAT(message_of([&] { write_plan(second, dir()); }),
                ::testing::AllOf(StartsWith(dir()), HasSubstr("another sweep is being run")));
    EXPECT_EQ(folder.read("dir/points.jsonl"), before);
    write_plan(first, dir());  // the same one: nothing to replace
  }
  write_plan(second, dir());
  EXPECT_EQ(ids(read_plan(dir())), ids(second));
}

TEST(ShardTest, SharesHoldEveryPointOnce) {
  for (const std::uint64_t count : {1u, 2u, 7u}) {
    for (std::uint64_t position = 0; position < 20; ++position) {
      std::uint64_t holders = 0;
      for (std::uint64_t index = 1; index <= count; ++index) holders += Shard{index, count}.holds(position);
      EXPECT_EQ(holders, 1u);
    }
  }
}

}  // namespace
}  // namespace uvmsim::sweep
