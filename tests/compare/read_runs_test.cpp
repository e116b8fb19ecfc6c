// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/read_runs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/common/sha256.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/point_files.h"
#include "tests/compare/results.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ReadRuns : public ::testing::Test {
 protected:
  std::string message_of(const std::string& name) const {
    try {
      read_runs(folder_.path(name));
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  // A sweep of three points: one with a result, one failed, one not run yet.
  void write_sweep() const {
    sweep::Plan plan;
    plan.spec = "{}";
    plan.uvmsim_version = "0";
    plan.model_version = "0";
    for (const std::uint64_t osf : {1500u, 2000u, 4000u}) {
      sweep::Point point;
      point.trace = "gpt2.uvmt";
      point.system = "h200-sxm-pcie5";
      point.osf_thousandths = osf;
      const std::string determinants = fmt::format(R"({{"osf":{}}})", osf);
      plan.points.push_back({point, determinants, sha256(determinants)});
    }
    sweep::write_plan(plan, folder_.path());
    const sweep::PointFiles files(folder_.path());
    files.write_result(plan.points[0].id, example_result().dump());
    files.write_error(plan.points[1].id, "the second", "memory ran out");
  }

  const ScratchFolder folder_;
};

TEST_F(ReadRuns, ALineOfAFileIsARun) {
  folder_.write("r.jsonl", example_at(1500, 1).dump() + "\n\n" + example_at(2000, 2).dump() + "\n");
  const RunSet set = read_runs(folder_.path("r.jsonl"));
  ASSERT_THAT(set.runs, SizeIs(2));
  EXPECT_EQ(*find_named(set.runs[1].metrics, "evictions"), 2);
  EXPECT_THAT(set.runs[1].origin, EndsWith("r.jsonl: line 3"));
}

TEST_F(ReadRuns, RefusesFilesWithoutResults) {
  EXPECT_THAT(message_of("nowhere.jsonl"), HasSubstr("nowhere.jsonl"));
  folder_.write("empty.jsonl", "");
  EXPECT_THAT(message_of("empty.jsonl"), HasSubstr("holds no result"));
  folder_.write("text.jsonl", example_result().dump() + "\nhello\n");
  EXPECT_THAT(message_of("text.jsonl"), EndsWith("text.jsonl: line 2: is not JSON"));
  folder_.write("deep.jsonl", std::string(200000, '['));
  EXPECT_THAT(message_of("deep.jsonl"), EndsWith("line 1: is not JSON"));
  folder_.write("cut.jsonl", example_result().dump().substr(0, 500));
  EXPECT_THAT(message_of("cut.jsonl"), EndsWith("line 1: is not JSON"));
}

TEST_F(ReadRuns, ASweepSaysWhatItLacks) {
  write_sweep();
  const RunSet set = read_runs(folder_.path());
  ASSERT_THAT(set.runs, SizeIs(1));
  EXPECT_EQ(*find_named(set.runs[0].metrics, "evictions"), 4);
  EXPECT_THAT(set.missing, ElementsAre(HasSubstr("OSF 2 tree lrm seed 1: failed: memory ran out"),
                                       HasSubstr("OSF 4 tree lrm seed 1: not run")));
}

TEST_F(ReadRuns, RefusesFoldersThatAreNoSweep) {
  EXPECT_THAT(message_of(""), HasSubstr("holds no sweep"));
  write_sweep();
  folder_.write("points.jsonl", "{}");
  EXPECT_THAT(message_of(""), HasSubstr("points.jsonl"));
}

// A result that was cut off or changed by hand is not valid.
TEST_F(ReadRuns, RefusesASweepWithoutAnyResult) {
  write_sweep();
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path("points"))) {
    folder_.write("points/" + entry.path().filename().string(), "{");
  }
  EXPECT_THAT(message_of(""), HasSubstr("no point of this sweep has a result"));
}

TEST_F(ReadRuns, KeepsTheRunsThatMeetACondition) {
  folder_.write("r.jsonl", example_at(1500, 1).dump() + "\n" + with_evictor(example_at(2000, 2), "lru").dump() + "\n");
  const RunSet all = read_runs(folder_.path("r.jsonl"));
  RunSet set = all;
  keep_runs(set, "evict=lru", "--a");
  ASSERT_THAT(set.runs, SizeIs(1));
  EXPECT_EQ(*find_named(set.runs[0].metrics, "evictions"), 2);
  set = all;
  keep_runs(set, "trace=gpt2*", "--a");
  EXPECT_THAT(set.runs, SizeIs(2));
  const auto message = [&](const std::string& condition) -> std::string {
    RunSet copy = all;
    try {
      keep_runs(copy, condition, "--a");
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message("evict"), HasSubstr("--a: 'evict' is no condition"));
  EXPECT_THAT(message("=lru"), HasSubstr("is no condition"));
  EXPECT_THAT(message("evictor=lru"), HasSubstr("did you mean 'evict'?"));
  EXPECT_THAT(message("evict=mru"), HasSubstr("has evict 'mru'; allowed: lrm, lru"));
}

}  // namespace
}  // namespace uvmsim::compare
