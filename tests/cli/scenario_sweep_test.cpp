// SPDX-License-Identifier: Apache-2.0
// Tests of sweeps of scenarios: their points, their results, and every wrong input.
#include <nlohmann/json.hpp>

#include "sim/common/sha256.h"
#include "sim/sweep/spec.h"
#include "tests/cli/sweep_command_test.h"

namespace uvmsim {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ScenarioSweep : public SweepCommandTest {
 protected:
  ScenarioSweep() {
    folder.write("shared/s.json", R"({"$schema": "x", "system": "h200-sxm-pcie5", "shared_osf": 1.25, "programs": [
        {"name": "one", "trace": "../a.jsonl", "gpus": [0]},
        {"name": "two", "trace": "../b.jsonl", "gpus": [0], "prefetch": "none"}]})");
  }
  // Writes a sweep file of scenario s with additional keys; returns its name.
  std::string of_s(const std::string& more) const {
    folder.write("sweep.json", R"({"scenarios": "shared/s.json")" + (more.empty() ? "" : ", " + more) + "}");
    return "sweep.json";
  }
  std::vector<std::string> labels(const std::string& more) {
    const sweep::Spec spec = sweep::read_spec(folder.path(of_s(more)));
    std::vector<std::string> all;
    for (const scenario::ScenarioPoint& point : spec.scenarios) {
      all.push_back(scenario::label(point, scenario::common_point(point)));
    }
    return all;
  }
  void expect_refused(const std::string& text, const std::vector<std::string>& words) {
    SCOPED_TRACE(text);
    folder.write("wrong.json", text);
    expect_one_line_error(sweep({"wrong.json", "-o", "out"}), words);
    EXPECT_FALSE(exists("out"));
  }
};

TEST_F(ScenarioSweep, EveryCombinationWithWhatTheScenarioSays) {
  EXPECT_THAT(labels(""), ElementsAre("s.json h200-sxm-pcie5 OSF 1.25 tree lrm seed 1"));
  EXPECT_THAT(labels(R"("shared_osf": ["none", 1.5], "shared_capacity_bytes": "8MiB",
                        "schedule": {"name": "priority", "parameters": {"0": [1, 2]}},
                        "settings": {"runtime.time_slice_ns": 1000000})"),
              ElementsAre("s.json h200-sxm-pcie5 no limit tree lrm schedule priority:0=1 seed 1 "
                          "runtime.time_slice_ns=1000000",
                          "s.json h200-sxm-pcie5 OSF 1.5 tree lrm schedule priority:0=1 seed 1 "
                          "runtime.time_slice_ns=1000000",
                          "s.json h200-sxm-pcie5 capacity 8.00 MiB tree lrm schedule priority:0=1 seed 1 "
                          "runtime.time_slice_ns=1000000",
                          "s.json h200-sxm-pcie5 no limit tree lrm schedule priority:0=2 seed 1 "
                          "runtime.time_slice_ns=1000000",
                          "s.json h200-sxm-pcie5 OSF 1.5 tree lrm schedule priority:0=2 seed 1 "
                          "runtime.time_slice_ns=1000000",
                          "s.json h200-sxm-pcie5 capacity 8.00 MiB tree lrm schedule priority:0=2 seed 1 "
                          "runtime.time_slice_ns=1000000"));
  // Concurrent kernels take no turns: the two schedules are one point in the plan.
  const auto dry = sweep(
      {of_s(R"("sharing": ["time_slices", "concurrent"], "schedule": ["round_robin", "priority"])"), "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_EQ(dry.out,
            "1 s.json h200-sxm-pcie5 OSF 1.25 tree lrm seed 1\n"
            "2 s.json h200-sxm-pcie5 OSF 1.25 tree lrm concurrent seed 1\n"
            "3 s.json h200-sxm-pcie5 OSF 1.25 tree lrm schedule priority seed 1\n"
            "3 points, 3 to compute\n");
}

// A point gives the same result as `uvmsim scenario` with those keys in the scenario.
TEST_F(ScenarioSweep, APointIsTheScenarioThatTheCommandRuns) {
  const std::string spec =
      of_s(R"("evict": ["lrm", "quota:0=50,1=50"], "settings": {"runtime.time_slice_ns": 500000})");
  const auto result = sweep({spec, "-o", "out", "--jobs", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 points\n"));
  json changed = json::parse(folder.read("shared/s.json"));
  changed["evict"] = "quota:0=50,1=50";
  changed["settings"] = {{"runtime.time_slice_ns", 500000}};
  folder.write("shared/changed.json", changed.dump());
  ASSERT_EQ(run({"scenario", "shared/changed.json", "--json", "one.json"}).exit_code, 0);
  const json one = json::parse(folder.read("one.json"));
  const auto rows =
      query("out/results.sqlite",
            "SELECT id, last_end_ns, unfairness_thousandths, evictions, schedule, prefetch FROM scenarios "
            "WHERE evict LIKE 'quota:0=50,1=50,%'");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(json::parse(folder.read("out/points/" + rows[0][0] + ".json"))["result"], one);
  EXPECT_EQ(rows[0][1], one["last_end_ns"].dump());
  EXPECT_EQ(rows[0][2], one["unfairness_thousandths"].dump());
  std::uint64_t evictions = 0;
  for (const json& program : one["programs"]) {
    evictions += program["together"]["counters"]["evictions"].get<std::uint64_t>();
  }
  EXPECT_GT(evictions, 0u);
  EXPECT_EQ(rows[0][3], std::to_string(evictions));
  EXPECT_EQ(rows[0][4], "round_robin");
  EXPECT_EQ(rows[0][5], "null") << "each has its own";
  for (std::size_t i = 0; i < 2; ++i) {
    const json& program = one["programs"][i];
    EXPECT_THAT(query("out/results.sqlite",
                      "SELECT name, together_ns, alone_ns, slowdown_thousandths, fault_batches "
                      "FROM programs WHERE id = '" +
                          rows[0][0] + "' AND program = " + std::to_string(i)),
                ElementsAre(ElementsAre(program["name"].get<std::string>(), program["together_ns"].dump(),
                                        program["alone_ns"].dump(), program["slowdown_thousandths"].dump(),
                                        program["together"]["counters"]["fault_batches"].dump())));
    for (const auto& [of, chunks] : program["evicted_from"].items()) {
      EXPECT_THAT(
          query("out/results.sqlite", "SELECT chunks FROM evictions WHERE id = '" + rows[0][0] + "' AND by = '" +
                                          program["name"].get<std::string>() + "' AND of = '" + of + "'"),
          ElementsAre(ElementsAre(chunks.dump())));
    }
  }
  EXPECT_THAT(query("out/results.sqlite", "SELECT count(*) FROM points"), ElementsAre(ElementsAre("0")));
  EXPECT_THAT(query("out/results.sqlite", "SELECT name FROM systems"), ElementsAre(ElementsAre("h200-sxm-pcie5")));
  // The CSV file has two programs and all of them, twice.
  const auto csv = csv_table(folder.read("out/results.csv"));
  ASSERT_EQ(csv.size(), 7u);
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(csv[0].begin(), csv[0].end(), name) - csv[0].begin());
  };
  ASSERT_LT(column("evictions"), csv[0].size());
  for (std::size_t point = 0; point < 2; ++point) {
    std::uint64_t sum = 0;
    for (std::size_t row = 1; row < 3; ++row) {
      EXPECT_EQ(csv[3 * point + row][column("scope")], "program");
      EXPECT_EQ(csv[3 * point + row][column("last_end_ns")], "");
      sum += std::stoull(csv[3 * point + row][column("evictions")]);
    }
    EXPECT_EQ(csv[3 * point + 3][column("scope")], "all");
    EXPECT_EQ(csv[3 * point + 3][column("evictions")], std::to_string(sum));
    EXPECT_NE(csv[3 * point + 3][column("last_end_ns")], "");
  }
  // A second run computes nothing; another folder gets the same bytes.
  const auto before = times("out");
  EXPECT_THAT(sweep({spec, "-o", "out", "--dry-run"}).out, HasSubstr("2 points, 0 to compute\n"));
  EXPECT_EQ(sweep({spec, "-o", "out"}).exit_code, 0);
  EXPECT_EQ(times("out"), before);
  EXPECT_EQ(sweep({spec, "-o", "again", "--jobs", "1"}).exit_code, 0);
  EXPECT_EQ(folder.read("again/results.sqlite"), folder.read("out/results.sqlite"));
  EXPECT_EQ(folder.read("again/results.csv"), folder.read("out/results.csv"));
}

TEST_F(ScenarioSweep, WithoutAloneThereIsNothingToCompareWith) {
  ASSERT_EQ(sweep({of_s(R"("alone": false)"), "-o", "out"}).exit_code, 0);
  EXPECT_THAT(query("out/results.sqlite", "SELECT unfairness_thousandths, weighted_speedup_thousandths FROM scenarios"),
              ElementsAre(ElementsAre("null", "null")));
  EXPECT_THAT(query("out/results.sqlite", "SELECT alone_ns, slowdown_thousandths FROM programs"),
              ElementsAre(ElementsAre("null", "null"), ElementsAre("null", "null")));
}

// A scenario that cannot run fails its own point, and says why.
TEST_F(ScenarioSweep, AFailedPointLeavesTheOthers) {
  const auto result = sweep({of_s(R"("shared_osf": [1.25, 100000])"), "-o", "out"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("s.json"), HasSubstr("shared_osf")));
  EXPECT_EQ(sweep({"collect", "out", "--partial"}).exit_code, 0);
  EXPECT_THAT(query("out/results.partial.sqlite", "SELECT count(*) FROM scenarios"), ElementsAre(ElementsAre("1")));
  EXPECT_THAT(query("out/results.partial.sqlite", "SELECT label FROM failures"),
              ElementsAre(ElementsAre("s.json h200-sxm-pcie5 OSF 100000 tree lrm seed 1")));
}

TEST_F(ScenarioSweep, ATraceThatChangedIsNotRun) {
  ASSERT_EQ(sweep({"plan", of_s(""), "-o", "out"}).exit_code, 0);
  folder.write("b.jsonl", two_iterations(8));
  const auto result = sweep({"run", "out"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("changed since the sweep was planned"));
}

TEST_F(ScenarioSweep, Mistakes) {
  expect_refused(R"({"scenarios": "none.json"})", {"none.json"});
  expect_refused(R"({"scenarios": "shared/x*.json"})", {"/scenarios", "matches no file"});
  expect_refused(R"({"scenarios": "a.jsonl"})", {"a.jsonl"});
  expect_refused(R"({"scenarios": []})", {"/scenarios"});
  expect_refused(R"({"scenarios": "shared/s.json", "traces": "a.jsonl"})",
                 {"/traces", "no effect on a sweep of scenarios"});
  expect_refused(R"({"scenarios": "shared/s.json", "plan": "deepum"})", {"/plan", "no effect"});
  expect_refused(R"({"scenarios": "shared/s.json", "iterations": 3})", {"/iterations", "no effect"});
  expect_refused(R"({"scenarios": "shared/s.json", "shared_osf": 0})", {"/shared_osf"});
  expect_refused(R"({"scenarios": "shared/s.json", "sharing": "turns"})", {"/sharing", "time_slices, concurrent"});
  expect_refused(R"({"scenarios": "shared/s.json", "schedule": "prioritty"})", {"did you mean 'priority'?"});
  expect_refused(R"({"scenarios": "shared/s.json", "settings": {"runtime.slice": 1}})", {"runtime.slice"});
  expect_refused(R"({"scenarios": "shared/s.json", "seeds": [1, 1]})", {"/seeds/1", "twice"});
  expect_refused(R"({"traces": "a.jsonl", "systems": "h200-sxm-pcie5", "schedule": "priority"})",
                 {"/schedule", "programs alone"});
  expect_refused(R"({"grids": [{"scenarios": "shared/s.json"}, {"traces": "a.jsonl", "systems": "h200-sxm-pcie5"}]})",
                 {"/grids/1/traces", "no effect"});
  expect_refused(R"({"grids": [{"scenarios": "shared/s.json"}, {"seeds": 2}]})",
                 {"/grids/1", "'scenarios' is missing"});
  folder.write("shared/bad.json", R"({"system": "h200-sxm-pcie5", "programs": [{"name": 3}]})");
  expect_refused(R"({"scenarios": "shared/bad.json"})", {"shared/bad.json", "/programs/0/name"});
}

TEST_F(ScenarioSweep, OthersRefuseThem) {
  const std::string spec = of_s("");
  expect_one_line_error(run({"league", spec, "-o", "league"}), {"sweep.json", "scenarios", "uvmsim sweep"});
  EXPECT_FALSE(exists("league"));
  ASSERT_EQ(sweep({spec, "-o", "out"}).exit_code, 0);
  expect_one_line_error(run({"league", "table", "out"}), {"out", "scenarios"});
  expect_one_line_error(run({"compare", "out", "out"}), {"out", "sweep of scenarios"});
  expect_one_line_error(run({"compare", "out/results.sqlite", "out/results.sqlite"}), {"results.sqlite"});
}

// A foreign result with the right hash may contain anything: it is never reported as a bug.
TEST_F(ScenarioSweep, ResultsThatAreNone) {
  const auto refuse = [&](const std::string& dir, auto&& change) {
    const std::string name = finished(dir).begin()->first;
    const std::string whole = folder.read(dir + "/points/" + name);
    json file = json::parse(whole);
    change(file["result"]);
    const std::string result = file["result"].dump();
    folder.write(dir + "/points/" + name, fmt::format(R"({{"id":"{}","sha256":"{}","result":{}}})"
                                                      "\n",
                                                      name.substr(0, 64), sha256(result), result));
    expect_one_line_error(sweep({"collect", dir}), {name, "is no result"});
    folder.write(dir + "/points/" + name, whole);
  };
  ASSERT_EQ(sweep({of_s(""), "-o", "out"}).exit_code, 0);
  refuse("out", [](json& result) { result["programs"] = json::array(); });
  refuse("out", [](json& result) { result["programs"][1]["name"] = result["programs"][0]["name"]; });
  refuse("out", [](json& result) { result["programs"][0]["together"]["counters"]["evictions"] = "many"; });
  refuse("out", [](json& result) { result["programs"][0]["together"] = nullptr; });
  refuse("out", [](json& result) { result.erase("sharing"); });
  refuse("out", [](json& result) { result["system"] = 4; });
  ASSERT_EQ(sweep({spec("alone", R"("osf": 2)"), "-o", "alone"}).exit_code, 0);
  refuse("alone", [](json& result) { result["iterations"][1]["index"] = result["iterations"][0]["index"]; });
}

// A file of that name in the folder belongs to the user.
TEST_F(ScenarioSweep, NoPlanTakesThePlaceOfAFileThatIsNone) {
  const std::string own = R"({"traces": "a.jsonl", "systems": "h200-sxm-pcie5"})";
  folder.write("mine/sweep.json", own);
  expect_one_line_error(sweep({of_s(""), "-o", "mine"}), {"mine/sweep.json", "no plan of a sweep", "another folder"});
  expect_one_line_error(run({"league", "a.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2", "-o", "mine"}),
                        {"mine/sweep.json", "no plan of a sweep"});
  EXPECT_EQ(folder.read("mine/sweep.json"), own);
  folder.write("mine/sweep.json", "");
  expect_one_line_error(sweep({of_s(""), "-o", "mine"}), {"mine/sweep.json", "no plan of a sweep"});
  expect_one_line_error(sweep({of_s(""), "-o", ""}), {"--output"});
}

// The folder of points is a link, as in a folder from a stranger.
TEST_F(ScenarioSweep, PointsThatAreALinkAreNotFollowed) {
  ASSERT_EQ(sweep({"plan", of_s(""), "-o", "out"}).exit_code, 0);
  std::filesystem::remove_all(folder.path("out/points"));
  std::filesystem::create_directory(folder.path("other"));
  std::filesystem::create_directory_symlink("../other", folder.path("out/points"));
  for (const char* verb : {"run", "collect"}) {
    expect_one_line_error(sweep({verb, "out"}), {"out/points", "symbolic link"});
  }
  expect_one_line_error(sweep({of_s(""), "-o", "out"}), {"out/points", "symbolic link"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("other")));
}

}  // namespace
}  // namespace uvmsim
