// SPDX-License-Identifier: Apache-2.0
// `uvmsim check` as used in CI: baselines are made, checked, broken, updated.
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

class CheckCommand : public CommandTest {
 protected:
  // b.json: a small trace at OSF 1 and 2.
  void make_baseline(const std::vector<std::string>& options = {}) {
    folder.write("trace.jsonl", two_iterations(16));
    std::vector<std::string> arguments{"check", "b.json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    for (const char* more : {"--new", "trace.jsonl", "--system", "h200-sxm-pcie5", "--osf", "1,2", "--prefetch",
                             "tree:threshold=51", "--iterations", "recorded"}) {
      arguments.emplace_back(more);
    }
    const auto result = run(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, ::testing::StartsWith("b.json: 2 points written\n"));
  }
  Json baseline() const { return Json::parse(folder.read("b.json")); }
  void write(const Json& json) const { folder.write("b.json", json.dump()); }
  static std::string threshold(const Json& json, std::size_t point) {
    return json["points"][point]["inputs"]["prefetch"]["parameters"]["threshold"];
  }
};

TEST_F(CheckCommand, ABaselineOfNewRunsIsChecked) {
  make_baseline();
  const Json json = baseline();
  EXPECT_EQ(json["schema"], "uvmsim.baseline/1");
  ASSERT_EQ(json["points"].size(), 2u);
  EXPECT_EQ(json["points"][1]["inputs"]["trace"], "./trace.jsonl");
  EXPECT_EQ(json["points"][1]["inputs"]["osf_thousandths"], 2000);
  EXPECT_GT(json["points"][1]["expected"]["evictions"], 0);
  EXPECT_GT(json["points"][1]["expected"]["settled_ns"], 0);
  const auto result = run({"check", "b.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 points as expected\n"));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(CheckCommand, AChangedPolicyParameterFailsWithTheRightLine) {
  make_baseline();
  Json json = baseline();
  const std::string name = json["points"][1]["name"];
  ASSERT_EQ(threshold(json, 1), "51");
  json["points"][1]["inputs"]["prefetch"]["parameters"]["threshold"] = "100";
  write(json);
  const auto result = run({"check", "b.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, AllOf(HasSubstr("  ok    "), HasSubstr("  FAIL  " + name + "\n")));
  EXPECT_THAT(result.out, ContainsRegex("fault_batches +[0-9,]+ +[0-9,]+ +\\+[0-9.]+ % +exact\n"));
  EXPECT_THAT(result.out, HasSubstr("1 of 2 points not as expected\n"));
}

TEST_F(CheckCommand, UpdateWritesWhatItFoundAndSaysWhatChanged) {
  make_baseline(
      {"--tolerance", "settled_ns=1%", "--metric", "settled_ns,fault_batches,evictions", "--description", "mine"});
  const std::string before = folder.read("b.json");
  auto result = run({"check", "b.json", "--update"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("nothing changed in 2 points\n"));
  EXPECT_EQ(folder.read("b.json"), before);

  Json json = baseline();
  json["points"][0]["expected"]["fault_batches"] = 1;
  write(json);
  EXPECT_EQ(run({"check", "b.json"}).exit_code, 1);
  result = run({"check", "b.json", "--update"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("fault_batches +1 +[0-9,]+ "));
  EXPECT_THAT(result.out, HasSubstr("1 of 2 points changed\n"));
  EXPECT_EQ(folder.read("b.json"), before);  // tolerance, metrics and description are still there
  EXPECT_EQ(run({"check", "b.json"}).exit_code, 0);
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("b.json", "trace.jsonl"));
}

TEST_F(CheckCommand, AFileIsUpdatedWholeOrNotAtAll) {
  make_baseline();
  Json json = baseline();
  json["points"][0]["expected"]["fault_batches"] = 1;
  json["points"][1]["inputs"]["trace"] = "./gone.jsonl";
  write(json);
  const std::string before = folder.read("b.json");
  const auto result = run({"check", "b.json", "--update"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("gone.jsonl"), HasSubstr("b.json stays as it was\n")));
  EXPECT_EQ(folder.read("b.json"), before);
}

TEST_F(CheckCommand, ABaselineWorksFromAnywhere) {
  make_baseline();
  std::filesystem::create_directories(folder.path("deep/down"));
  std::filesystem::rename(folder.path("b.json"), folder.path("deep/b.json"));
  std::filesystem::rename(folder.path("trace.jsonl"), folder.path("deep/trace.jsonl"));
  const auto result = run({"check", "deep/down/../b.json", folder.path("deep/b.json")});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST_F(CheckCommand, PointsAreAdded) {
  make_baseline();
  auto result = run({"check", "b.json", "--new", "trace.jsonl", "--system", "h200-sxm-pcie5", "--evict", "lru"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "b.json: 1 point written, 3 in all\n");
  EXPECT_EQ(run({"check", "b.json"}).exit_code, 0);
  result = run({"check", "b.json", "--new", "trace.jsonl", "--system", "h200-sxm-pcie5", "--evict", "lru"});
  expect_one_line_error(result, {"has the point", "already; --update renews"});
  EXPECT_EQ(baseline()["points"].size(), 3u);
}

TEST_F(CheckCommand, AToleranceIsOfThePointsThatComeWithIt) {
  make_baseline({"--metric", "settled_ns,fault_batches"});
  const Json before = baseline()["points"];
  const auto result = run({"check", "b.json", "--tolerance", "*=5%", "--new", "trace.jsonl", "--system",
                           "h200-sxm-pcie5", "--evict", "lru"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "b.json: 1 point written, 3 in all\n  tolerances of the new points: * 5%\n");
  Json json = baseline();
  EXPECT_FALSE(json.contains("tolerances"));
  EXPECT_EQ(json["points"][0], before[0]);
  EXPECT_EQ(json["points"][1], before[1]);
  EXPECT_EQ(json["points"][2]["tolerances"]["*"], "5%");
  // The old points keep their tolerances.
  json["points"][0]["expected"]["settled_ns"] = json["points"][0]["expected"]["settled_ns"].get<std::uint64_t>() + 1;
  write(json);
  EXPECT_EQ(run({"check", "b.json"}).exit_code, 1);
}

TEST_F(CheckCommand, TolerancesOfTheFileAreNamedWhenPointsAreAdded) {
  make_baseline();
  Json json = baseline();
  json["tolerances"] = {{"*_ns", "2 %"}};
  write(json);
  const auto result = run({"check", "b.json", "--new", "trace.jsonl", "--system", "h200-sxm-pcie5", "--evict", "lru"});
  EXPECT_EQ(result.out,
            "b.json: 1 point written, 3 in all\n"
            "  tolerances of the file, for metrics without one in their point: *_ns 2 %\n");
}

TEST_F(CheckCommand, WhatToExpectMayStandBehindNew) {
  folder.write("trace.jsonl", two_iterations(16));
  const auto result =
      run({"check", "b.json", "--metric", "settled_ns", "--new", "trace.jsonl", "--system", "h200-sxm-pcie5",
           "--metric", "evictions", "--tolerance", "evictions=3", "--description", "mine"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = baseline();
  EXPECT_EQ(json["description"], "mine");
  EXPECT_EQ(json["points"][0]["expected"].size(), 2u);
  EXPECT_EQ(json["points"][0]["tolerances"]["evictions"], 3);
}

TEST_F(CheckCommand, AnImprovementIsNoFailureOfALimitOfOneSide) {
  make_baseline({"--metric", "settled_ns", "--tolerance", "settled_ns=+1%"});
  const Json json = baseline();
  const std::uint64_t now = json["points"][0]["expected"]["settled_ns"];
  const auto checked_against = [&](std::uint64_t expected) {
    Json changed = json;
    changed["points"][0]["expected"]["settled_ns"] = expected;
    write(changed);
    return run({"check", "b.json"});
  };
  const auto better = checked_against(2 * now);
  EXPECT_EQ(better.exit_code, 0);
  EXPECT_THAT(better.out, HasSubstr("(-50.00 %), allowed: at most +1%\n"));
  const auto worse = checked_against(now / 2);
  EXPECT_EQ(worse.exit_code, 1);
  EXPECT_THAT(worse.out, HasSubstr("at most +1%\n"));
}

TEST_F(CheckCommand, NamesTheDefaultOfAPolicyThatMoved) {
  make_baseline();
  Json json = baseline();
  Json& choices = json["points"][1]["made_by"]["choices"];
  ASSERT_EQ(choices["prefetch"], "tree");
  ASSERT_EQ(choices["prefetch.threshold"], "51");
  choices["prefetch.threshold"] = "40";  // as if that value had been the default at that time
  json["points"][1]["expected"]["fault_batches"] = 1;
  write(json);
  const auto result = run({"check", "b.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("changed: prefetch.threshold (40 before, 51 now)\n"));
}

TEST_F(CheckCommand, OnlyChosenPointsRun) {
  make_baseline();
  Json json = baseline();
  json["points"][0]["expected"]["fault_batches"] = 1;
  write(json);
  const auto result = run({"check", "b.json", "--only", "*OSF 2 *"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 point as expected\n"));
  expect_one_line_error(run({"check", "b.json", "--only", "nothing"}), {"b.json: no point matches 'nothing'"});
}

TEST_F(CheckCommand, TheNumberOfJobsChangesNothing) {
  make_baseline();
  Json json = baseline();
  json["points"][0]["expected"]["fault_batches"] = 1;
  write(json);
  const auto one = run({"check", "b.json", "--jobs", "1", "--junit", "one.xml"});
  const auto three = run({"check", "b.json", "--jobs", "3", "--junit", "three.xml"});
  EXPECT_EQ(one.exit_code, 1);
  EXPECT_EQ(one.out, three.out);
  const auto without_times = [&](const char* name) {  // times depend on the machine
    return std::regex_replace(folder.read(name), std::regex(R"( time="[0-9.]+")"), "");
  };
  EXPECT_EQ(without_times("one.xml"), without_times("three.xml"));
  EXPECT_THAT(folder.read("one.xml"), HasSubstr("tests=\"2\" failures=\"1\" errors=\"0\""));
}

TEST_F(CheckCommand, StandardOutputIsOnlyXmlWhenAskedFor) {
  make_baseline();
  const auto result = run({"check", "b.json", "--junit", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::StartsWith("<?xml"));
  EXPECT_THAT(result.out, Not(HasSubstr("as expected")));
}

TEST_F(CheckCommand, WrongCommandLines) {
  make_baseline();
  expect_one_line_error(run({"check"}), {"no baseline given"});
  expect_one_line_error(run({"check", "none.json"}), {"none.json: cannot be opened"});
  expect_one_line_error(run({"check", "trace.jsonl"}), {"trace.jsonl", "is not JSON"});
  expect_one_line_error(run({"check", "b.json", "b.json"}), {"a baseline is given twice"});
  expect_one_line_error(run({"check", "b.json", "--jobs", "0"}), {"--jobs: 0 is not allowed; allowed: 1 to 1024"});
  expect_one_line_error(run({"check", "b.json", "--plugin", "none.so"}), {"none.so"});
  expect_one_line_error(run({"check", "b.json", "--tolerance", "1%"}), {"--tolerance is for --from and --new"});
  expect_one_line_error(run({"check", "b.json", "--junit", "no/such/r.xml"}), {"cannot write"});
  expect_one_line_error(run({"check", "b.json", "--from", "."}), {"holds no sweep"});
  expect_one_line_error(run({"check", "b.json", "--from", ".", "--update"}), {"--update has no effect"});
  expect_one_line_error(run({"check", "b.json", "c.json", "--from", "."}), {"one baseline at a time"});
  expect_one_line_error(run({"check", "b.json", "--from", ".", "--new", "trace.jsonl"}), {"--from and --new"});
  expect_one_line_error(run({"check", "b.json", "--new"}), {"no trace given"});
  expect_one_line_error(run({"check", "n.json", "--new", "trace.jsonl"}), {"--system is missing"});
  expect_one_line_error(run({"check", "n.json", "--new", "-", "--system", "h200-sxm-pcie5"}), {"not standard input"});
  expect_one_line_error(run({"check", "n.json", "--new", "trace.jsonl", "--system", "h200-sxm-pcie5", "--json", "x"}),
                        {"allowed without --json"});
  expect_one_line_error(run({"check", "n.json", "--new", "gone.jsonl", "--system", "h200-sxm-pcie5"}), {"gone.jsonl"});
  expect_one_line_error(
      run({"check", "n.json", "--metric", "evictons", "--new", "trace.jsonl", "--system", "h200-sxm-pcie5"}),
      {"no metric 'evictons' (did you mean 'evictions'?)"});
  expect_one_line_error(
      run({"check", "n.json", "--tolerance", "evictons=1", "--new", "trace.jsonl", "--system", "h200-sxm-pcie5"}),
      {"--tolerance: 'evictons' matches no metric"});
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("b.json", "trace.jsonl"));  // nothing half-written
}

TEST_F(CheckCommand, ASweepBecomesACheck) {
  folder.write("trace.jsonl", two_iterations(16));
  folder.write("spec.json", R"({"traces":["trace.jsonl"],"systems":["h200-sxm-pcie5"],"osf":[1,2,4],)"
                            R"("evict":["lrm","lru"]})");
  const auto sweep = run({"sweep", "spec.json", "-o", "sweep.dir"});
  ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  auto result = run({"check", "b.json", "--from", "sweep.dir", "--tolerance", "settled_ns=0.5%"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "b.json: 6 points written\n  tolerances of the new points: settled_ns 0.5%\n");
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_EQ(baseline()["points"][5]["tolerances"]["settled_ns"], "0.5%");
  EXPECT_EQ(baseline()["points"][0]["inputs"]["trace"], "./trace.jsonl");
  result = run({"check", "b.json"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("6 points as expected\n"));

  // A partial sweep is no baseline.
  const std::string points = folder.read("sweep.dir/points.jsonl");
  const std::string id = points.substr(points.find(R"("id":")") + 6, 64);  // of the first one
  std::filesystem::remove(folder.path("sweep.dir/points/" + id + ".json"));
  expect_one_line_error(run({"check", "c.json", "--from", "sweep.dir"}), {"1 of 6 points have no result"});
}

}  // namespace
}  // namespace uvmsim
