// SPDX-License-Identifier: Apache-2.0
// `uvmsim compare`: from runs of the real command to its exit code.
#include <sqlite3.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Compare : public CommandTest {
 protected:
  // Runs at OSF 1 and 2 with an evictor.
  void run_into(const std::string& file, const std::vector<std::string>& options = {}) {
    std::vector<std::string> all{"--osf", "1,2", "--no-unlimited-run", "--json", file};
    all.insert(all.end(), options.begin(), options.end());
    const auto result = run_trace(two_iterations(16), all);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
};

TEST_F(Compare, TheSameRunsDoNotDiffer) {
  run_into("a.json");
  run_into("b.json");
  const auto result = run({"compare", "a.json", "b.json", "--fail"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("no difference in 2 runs\n"));
}

TEST_F(Compare, AChangedCostIsNamedAndItsEffectShown) {
  run_into("a.json");
  run_into("b.json", {"--set", "costs.evict_chunk_ns=50000"});
  const auto result = run({"compare", "a.json", "b.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("compared across system.costs.evict_chunk_ns"));
  EXPECT_THAT(result.out, HasSubstr("osf 2\n"));
  EXPECT_THAT(result.out, ::testing::ContainsRegex("settled_ns +[0-9,]+ +[0-9,]+ +\\+[0-9.]+ %"));
  EXPECT_THAT(result.out, HasSubstr("1 of 2 runs differs"));  // at OSF 1 nothing is evicted
  EXPECT_EQ(run({"compare", "a.json", "b.json", "--fail"}).exit_code, 1);
  EXPECT_EQ(run({"compare", "a.json", "b.json", "--fail", "--metric", "footprint_bytes"}).exit_code, 0);
  EXPECT_EQ(run({"compare", "a.json", "b.json", "--fail", "--metric", "settled_ns", "--tolerance", "1000%"}).exit_code,
            0);
}

TEST_F(Compare, RunsOfOneFile) {
  run_into("a.json");
  const auto result = run({"compare", "a.json", "a.json", "--a", "osf=1", "--b", "osf=2", "--metric", "evictions"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("compared across osf 1 (a) and 2 (b)"));
  EXPECT_THAT(result.out, HasSubstr("from 0"));
}

TEST_F(Compare, WritesJsonAndCsv) {
  run_into("a.json");
  const auto result =
      run({"compare", "a.json", "a.json", "--a", "osf=1", "--b", "osf=2", "--json", "-", "--csv", "c.csv"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["changed"].size(), 1u);
  EXPECT_THAT(folder.read("c.csv"), HasSubstr(",both,evictions,0,"));
}

TEST_F(Compare, ARunOnOneSideOnlyIsADifference) {
  run_into("a.json");
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "1", "--no-unlimited-run", "--json", "b.json"}).exit_code, 0);
  const auto result = run({"compare", "a.json", "b.json", "--fail"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("only in a: osf 2\n"));
}

TEST_F(Compare, WrongCommandLines) {
  run_into("a.json");
  expect_one_line_error(run({"compare"}), {"two files of results or two sweeps"});
  expect_one_line_error(run({"compare", "a.json"}), {"two files of results or two sweeps"});
  expect_one_line_error(run({"compare", "a.json", "a.json", "a.json"}), {"unexpected argument 'a.json'"});
  expect_one_line_error(run({"compare", "-", "-"}), {"only one of the two can be standard input"});
  expect_one_line_error(run({"compare", "a.json", "missing.json"}), {"missing.json", "No such file"});
  expect_one_line_error(run({"compare", "a.json", "trace.jsonl"}),
                        {"trace.jsonl: line 1: /: the key 'schema' is missing"});
  expect_one_line_error(run({"compare", "a.json", "a.json", "--tolerance", "lots"}), {"--tolerance: 'lots'"});
  expect_one_line_error(run({"compare", "a.json", "a.json", "--metric", "evictons"}), {"did you mean 'evictions'?"});
  expect_one_line_error(run({"compare", "a.json", "a.json", "--metric", "a,,b"}), {"names nothing between its commas"});
  expect_one_line_error(run({"compare", "a.json", "a.json", "--across", "mood"}), {"no run has 'mood'"});
  expect_one_line_error(run({"compare", "a.json", "a.json", "--a", "osf=9"}), {"has osf '9'; allowed: 1, 2"});
  expect_one_line_error(run({"compare", "a.json", "a.json", "--json", "-", "--csv", "-"}), {"cannot both go to"});
  expect_one_line_error(run({"compare", "a.json", "a.json", "--json", "x", "--csv", "x"}), {"both name x"});
  expect_one_line_error(run({"compare", "a.json", "a.json", "--json", "no/such/c.json"}), {"cannot write"});
}

// A sweep, its database and the results of single runs contain the same runs.
TEST_F(Compare, SweepsAndTheirDatabases) {
  run_into("a.json");
  folder.write(
      "spec.json",
      R"({"traces":["trace.jsonl"],"systems":["h200-sxm-pcie5"],"osf":[1,2],"evict":["lrm","lru"],"iterations":"recorded"})");
  const auto sweep = run({"sweep", "spec.json", "-o", "sweep.dir"});
  ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  auto result = run({"compare", "sweep.dir", "sweep.dir/results.sqlite", "--fail"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("no difference in 4 runs\n"));
  result = run({"compare", "a.json", "sweep.dir", "--b", "evict=lrm", "--fail"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("no difference in 2 runs\n"));
  result = run({"compare", "sweep.dir/results.sqlite", "sweep.dir", "--a", "evict=lrm", "--b", "evict=lru"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("compared across evict lrm (a) and lru:granularity=2m (b)"));

  // Options of a point are found, too.
  run_into("slow.json", {"--iterations", "3", "--time-scale", "2"});
  folder.write("slow_spec.json", R"({"traces":["trace.jsonl"],"systems":["h200-sxm-pcie5"],"osf":[1,2],)"
                                 R"("iterations":3,"time_scale":2})");
  ASSERT_EQ(run({"sweep", "slow_spec.json", "-o", "slow.dir"}).exit_code, 0);
  for (const std::string other : {"slow.dir", "slow.json"}) {
    result = run({"compare", "slow.dir/results.sqlite", other, "--fail"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("no difference in 2 runs\n"));
  }

  // A sweep that lacks a point is not complete.
  const std::string points = folder.read("sweep.dir/points.jsonl");
  const std::string id = points.substr(points.find(R"("id":")") + 6, 64);  // of the first one
  std::filesystem::remove(folder.path("sweep.dir/points/" + id + ".json"));
  result = run({"compare", "sweep.dir", "sweep.dir", "--fail"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr(": not run\n"));
}

TEST_F(Compare, ADatabaseOfAnOlderVersionLacksIdealTimesOfIterationsOrIsRefused) {
  run_into("a.json");
  folder.write("spec.json",
               R"({"traces":["trace.jsonl"],"systems":["h200-sxm-pcie5"],"osf":[1,2],"iterations":"recorded"})");
  ASSERT_EQ(run({"sweep", "spec.json", "-o", "sweep.dir"}).exit_code, 0);
  const auto change = [&](const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(folder.path("sweep.dir/results.sqlite").c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  };
  change("UPDATE points SET result = json_remove(result, '$.settled.ideal_ns')");
  auto result = run({"compare", "sweep.dir/results.sqlite", "a.json", "--metric", "settled_ns,ideal_ns", "--fail"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("no difference in 2 runs\n"));
  result = run({"compare", "sweep.dir/results.sqlite", "a.json"});
  EXPECT_THAT(result.out, ::testing::ContainsRegex("settled_ideal_ns +- +[0-9,]+"));
  for (const char* damaged : {"'{'", "'[]'", "'{}'", "NULL", "7"}) {
    change((std::string("UPDATE points SET result = ") + damaged).c_str());
    expect_one_line_error(run({"compare", "sweep.dir/results.sqlite", "a.json"}), {"sweep.dir/results.sqlite"});
  }
  change("ALTER TABLE points DROP COLUMN result");
  expect_one_line_error(run({"compare", "sweep.dir/results.sqlite", "a.json"}), {"no column result", "collect"});
}

TEST_F(Compare, RefusesOtherDatabases) {
  folder.write("x.sqlite", std::string("SQLite format 3\0", 16) + std::string(84, 'x'));
  run_into("a.json");
  expect_one_line_error(run({"compare", "a.json", "x.sqlite"}), {"x.sqlite"});
}

TEST_F(Compare, FromStandardInput) {
  run_into("a.json");
  const auto result = run({"compare", "-", "a.json"}, folder.read("a.json"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("a: standard input: 2 runs"));
}

}  // namespace
}  // namespace uvmsim
