// SPDX-License-Identifier: Apache-2.0
// Tests of `uvmsim sweep`: plan, run, status, collect, and their errors.
#include <algorithm>

#include "sim/common/random.h"
#include "sim/sweep/point_files.h"
#include "tests/cli/sweep_command_test.h"

namespace uvmsim {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr const char* kSmall = R"("osf": ["none", 1, 2], "evict": ["lrm", "lru"])";  // 12 points

class Sweep : public SweepCommandTest {};

TEST_F(Sweep, OneCommandPlansRunsAndCollects) {
  const auto result = sweep({spec("s", kSmall), "-o", "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, AllOf(HasSubstr("12 points"), HasSubstr("out/results.sqlite"), HasSubstr("out/results.csv")));
  EXPECT_EQ(finished("out").size(), 12u);
  EXPECT_EQ(point_files("out").size(), 12u) << "nothing temporary stays";
  EXPECT_THAT(query("out/results.sqlite", "SELECT planned, finished, failed, complete FROM sweep"),
              ElementsAre(ElementsAre("12", "12", "0", "1")));
  EXPECT_THAT(query("out/results.sqlite", "SELECT count(*) FROM points"), ElementsAre(ElementsAre("12")));
  EXPECT_THAT(query("out/results.sqlite", "SELECT count(*) FROM iterations"), ElementsAre(ElementsAre("24")));
  EXPECT_THAT(query("out/results.sqlite", "SELECT name FROM systems"), ElementsAre(ElementsAre("h200-sxm-pcie5")));
  EXPECT_THAT(query("out/results.sqlite", "SELECT spec FROM sweep").at(0).at(0), HasSubstr("h200-sxm-pcie5"));
  const auto status = sweep({"status", "out"});
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_THAT(status.out, HasSubstr("finished  12"));
}

// The database, the CSV file and `uvmsim run` agree on the same run.
TEST_F(Sweep, APointIsTheRunThatTheCommandMakes) {
  ASSERT_EQ(sweep({spec("s", R"("osf": ["none", 2], "prefetch": "tree:threshold=75")"), "-o", "out"}).exit_code, 0);
  ASSERT_EQ(run({"run", "b.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2", "--prefetch", "tree:threshold=75",
                 "--iterations", "recorded", "--json", "run.json", "--csv", "run.csv"})
                .exit_code,
            0);
  json one = json::parse(folder.read("run.json"));
  const auto rows = query("out/results.sqlite",
                          "SELECT id, total_ns, evictions, htod_fault_bytes, slowdown_thousandths, settled_ns, "
                          "unlimited_id FROM points WHERE trace = 'b.jsonl' AND osf_thousandths = 2000");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0][1], one["total_ns"].dump());
  EXPECT_EQ(rows[0][2], one["counters"]["evictions"].dump());
  EXPECT_EQ(rows[0][3], one["counters"]["htod_fault_bytes"].dump());
  EXPECT_EQ(rows[0][4], one["slowdown_thousandths"].dump()) << "slowdown against the point without limit";
  EXPECT_EQ(rows[0][5], one["settled"]["duration_ns"].dump());
  for (const json& iteration : one["iterations"]) {
    EXPECT_THAT(query("out/results.sqlite", "SELECT duration_ns, ideal_ns FROM iterations WHERE id = '" + rows[0][0] +
                                                "' AND iteration = " + iteration["index"].dump()),
                ElementsAre(ElementsAre(iteration["duration_ns"].dump(), iteration["ideal_ns"].dump())));
  }
  EXPECT_THAT(
      query("out/results.sqlite",
            "SELECT is_settled, learning_iterations, until_settled FROM points WHERE id = '" + rows[0][0] + "'"),
      ElementsAre(ElementsAre("0", "null", "0")))
      << "two iterations show nothing";
  EXPECT_THAT(query("out/results.sqlite", "SELECT ideal_ns FROM settled WHERE id = '" + rows[0][0] + "'"),
              ElementsAre(ElementsAre(one["settled"]["ideal_ns"].dump())));
  EXPECT_THAT(query("out/results.sqlite",
                    "SELECT limit_by, slowdown_thousandths, osf_thousandths FROM points "
                    "WHERE id = '" +
                        rows[0][6] + "'"),
              ElementsAre(ElementsAre("none", "1000", "null")));

  json point = json::parse(folder.read("out/points/" + rows[0][0] + ".json"))["result"];
  one["unlimited"] = one["slowdown_thousandths"] = nullptr;  // another point in a sweep
  EXPECT_EQ(point, one);

  const auto sweep_csv = csv_table(folder.read("out/results.csv")), run_csv = csv_table(folder.read("run.csv"));
  std::vector<std::vector<std::string>> of_point;
  for (const auto& row : sweep_csv) {
    if (row[1] == rows[0][0]) of_point.push_back(row);
  }
  ASSERT_EQ(of_point.size() + 1, run_csv.size());
  EXPECT_THAT(sweep_csv[0], IsSupersetOf(run_csv[0])) << "every column of run --csv";
  for (std::size_t column = 0; column < run_csv[0].size(); ++column) {
    const auto found = std::find(sweep_csv[0].begin(), sweep_csv[0].end(), run_csv[0][column]) - sweep_csv[0].begin();
    for (std::size_t row = 0; row < of_point.size(); ++row) {
      EXPECT_EQ(of_point[row][static_cast<std::size_t>(found)], run_csv[row + 1][column]) << run_csv[0][column];
    }
  }
}

// The sweep adds the baseline to a grid that lacks it: one run per program under the driver's policies without limit,
// for all policies. b (24 MiB) does not fit into this GPU of 16 MiB, a does.
TEST_F(Sweep, ABaselineThatDoesNotFitIsNoBaseline) {
  const std::string small = R"("settings": {"gpus.0.memory_bytes": "16 MiB", "gpus.0.reserved_bytes": 0}, "osf": [2])";
  ASSERT_EQ(sweep({spec("s", small), "-o", "out"}).exit_code, 0);
  EXPECT_THAT(query("out/results.sqlite", "SELECT trace, baseline_hypothetical FROM points WHERE asked ORDER BY trace"),
              ElementsAre(ElementsAre("a.jsonl", "0"), ElementsAre("b.jsonl", "1")));
  EXPECT_THAT(query("out/results.sqlite", "SELECT evictions FROM points WHERE NOT asked"),
              ElementsAre(ElementsAre("0"), ElementsAre("0")));
  EXPECT_THAT(folder.read("out/results.csv"), HasSubstr(",slowdown_ideal_thousandths,"));
}

// Runs settle if the file does not mention iterations.
TEST_F(Sweep, RunsSettleByDefault) {
  folder.write("s.json", R"({"traces": "a.jsonl", "systems": "h200-sxm-pcie5", "osf": [2]})");
  ASSERT_EQ(sweep({"s.json", "-o", "out"}).exit_code, 0);
  EXPECT_THAT(query("out/results.sqlite",
                    "SELECT is_settled, until_settled, iterations_asked, iterations > 2 FROM points WHERE asked"),
              ElementsAre(ElementsAre("1", "1", "64", "1")));
}

TEST_F(Sweep, WhatSlowdownsDivideByIsRunWhereTheGridLacksIt) {
  const auto result = sweep({spec("s", R"("osf": [1, 2], "prefetch": ["none", "tree"])"), "-o", "out"});
  ASSERT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("10 points, 2 of them only for slowdowns to divide by"));
  EXPECT_THAT(query("out/results.sqlite",
                    "SELECT b.trace, b.limit_by, b.prefetch, b.evict, b.slowdown_thousandths, count(*), "
                    "sum(p.slowdown_thousandths = (1000 * p.settled_ns + b.settled_ns / 2) / b.settled_ns) "
                    "FROM points p JOIN points b ON b.id = p.unlimited_id WHERE p.asked AND NOT b.asked "
                    "GROUP BY b.id ORDER BY b.trace"),
              ElementsAre(ElementsAre("a.jsonl", "none", "tree", "lrm", "1000", "4", "4"),
                          ElementsAre("b.jsonl", "none", "tree", "lrm", "1000", "4", "4")));
  ASSERT_EQ(run({"run", "a.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2", "--prefetch", "none", "--iterations",
                 "recorded", "--json", "r.json"})
                .exit_code,
            0);
  EXPECT_THAT(query("out/results.sqlite",
                    "SELECT slowdown_thousandths FROM points "
                    "WHERE trace = 'a.jsonl' AND osf_thousandths = 2000 AND prefetch = 'none'"),
              ElementsAre(ElementsAre(json::parse(folder.read("r.json"))["slowdown_thousandths"].dump())));
}

TEST_F(Sweep, JobsAndSharesGiveTheSameBytes) {
  spec("s", kSmall);
  ASSERT_EQ(sweep({"s.json", "-o", "one", "--jobs", "1"}).exit_code, 0);
  ASSERT_EQ(sweep({"s.json", "-o", "two", "--jobs", "2"}).exit_code, 0);
  ASSERT_EQ(sweep({"plan", "s.json", "-o", "shares"}).exit_code, 0);
  for (const char* share : {"3/3", "1/3", "2/3"}) {
    EXPECT_EQ(sweep({"status", "shares"}).exit_code, 1) << "not complete before " << share;
    ASSERT_EQ(sweep({"run", "shares", "--shard", share, "--jobs", "2"}).exit_code, 0);
  }
  ASSERT_EQ(sweep({"collect", "shares"}).exit_code, 0);
  EXPECT_EQ(finished("one").size(), 12u);
  for (const char* other : {"two", "shares"}) {
    EXPECT_EQ(finished(other), finished("one"));
    for (const char* file : {"/results.sqlite", "/results.csv"}) {
      EXPECT_TRUE(folder.read(std::string(other) + file) == folder.read(std::string("one") + file)) << other << file;
    }
  }
  EXPECT_THAT(folder.read("one/results.csv"), Not(HasSubstr(folder.path()))) << "no folder in a result";
}

TEST_F(Sweep, AnInterruptedSweepGoesOnWhereItWas) {
  spec("s", kSmall);
  ASSERT_EQ(sweep({"s.json", "-o", "whole"}).exit_code, 0);
  ASSERT_EQ(sweep({"s.json", "-o", "out"}).exit_code, 0);
  // Simulates a stopped sweep: three points are missing, one file is cut off, one belongs to another sweep, one is
  // garbage.
  const auto names = point_files("out");
  for (int i = 0; i < 3; ++i) std::filesystem::remove(folder.path("out/points/" + names[static_cast<std::size_t>(i)]));
  folder.write("out/points/" + names[3], folder.read("out/points/" + names[3]).substr(0, 500));
  folder.write("out/points/" + names[4], folder.read("out/points/" + names[5]));
  folder.write("out/points/" + names[6], "garbage");
  const auto before = times("out");

  const auto status = sweep({"status", "out"});
  EXPECT_EQ(status.exit_code, 1);
  EXPECT_THAT(status.out, AllOf(HasSubstr("planned   12"), HasSubstr("finished  6"), HasSubstr("missing   6")));
  ASSERT_EQ(sweep({"run", "out"}).exit_code, 0);
  EXPECT_EQ(finished("out"), finished("whole"));
  const auto after = times("out");
  for (const std::size_t kept : {5u, 7u, 8u, 9u, 10u, 11u}) {
    EXPECT_EQ(before.at(names[kept]), after.at(names[kept])) << "computed again";
  }
}

TEST_F(Sweep, AnExtendedSweepComputesOnlyWhatIsNew) {
  spec("s", R"("osf": [1, 2])");
  ASSERT_EQ(sweep({"s.json", "-o", "out"}).exit_code, 0);
  const auto before = times("out");
  spec("s", R"("osf": ["none", 1, 1.5, 2])");
  ASSERT_EQ(sweep({"s.json", "-o", "out"}).exit_code, 0);
  const auto after = times("out");
  EXPECT_EQ(after.size(), 8u);
  for (const auto& [name, time] : before) EXPECT_EQ(after.at(name), time) << "computed again";

  // A smaller sweep deletes nothing, and does not show points outside of it.
  spec("s", R"("osf": 2)");
  ASSERT_EQ(sweep({"s.json", "-o", "out"}).exit_code, 0);
  EXPECT_EQ(times("out"), after);
  EXPECT_THAT(query("out/results.sqlite", "SELECT position, osf_thousandths FROM points WHERE asked"),
              ElementsAre(ElementsAre("1", "2000"), ElementsAre("2", "2000")));
}

TEST_F(Sweep, AFailedPointFailsTheSweepAndIsTriedAgain) {
  spec("s", R"("osf": [1, 9])");  // 16 MiB / 9 is less than a chunk of 2 MiB; 24 MiB / 9 is not
  const auto result = sweep({"s.json", "-o", "out"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("failed: a.jsonl"), HasSubstr("osf: 9"), HasSubstr("at most 8")));
  EXPECT_EQ(finished("out").size(), 5u) << "the others are computed";
  EXPECT_FALSE(exists("out/results.sqlite"));

  const auto status = sweep({"status", "out"});
  EXPECT_EQ(status.exit_code, 1);
  EXPECT_THAT(status.out, AllOf(HasSubstr("failed    1"), HasSubstr("missing   0"), HasSubstr("osf: 9")));
  EXPECT_EQ(sweep({"run", "out"}).exit_code, 1) << "tried again, and failed again";

  // A trace that makes the point fit is another point.
  folder.write("a.jsonl", two_iterations(32));
  const auto changed = sweep({"run", "out"});
  EXPECT_EQ(changed.exit_code, 1);
  EXPECT_THAT(changed.err, HasSubstr("changed since the sweep was planned"));
  EXPECT_EQ(sweep({"s.json", "-o", "out"}).exit_code, 0);
  EXPECT_EQ(sweep({"status", "out"}).exit_code, 0);
}

TEST_F(Sweep, APartialSweepIsNotTakenForAWholeOne) {
  spec("s", R"("osf": [1, 9])");
  ASSERT_EQ(sweep({"plan", "s.json", "-o", "out"}).exit_code, 0);
  const auto nothing = sweep({"collect", "out"});
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.err, AllOf(HasSubstr("0 of 6"), HasSubstr("6 missing"), HasSubstr("--partial")));
  ASSERT_EQ(sweep({"run", "out", "--shard", "1/2"}).exit_code, 0);
  ASSERT_EQ(sweep({"run", "out", "--shard", "2/2"}).exit_code, 1);
  std::filesystem::remove(folder.path("out/points/" + finished("out").begin()->first));
  EXPECT_EQ(sweep({"collect", "out"}).exit_code, 1);
  EXPECT_FALSE(exists("out/results.sqlite"));
  EXPECT_FALSE(exists("out/results.csv"));

  const auto partial = sweep({"collect", "out", "--partial"});
  ASSERT_EQ(partial.exit_code, 0) << partial.err;
  EXPECT_THAT(partial.out, HasSubstr("partial: 4 of 6"));
  EXPECT_FALSE(exists("out/results.sqlite")) << "under another name";
  EXPECT_THAT(query("out/results.partial.sqlite", "SELECT planned, finished, failed, complete FROM sweep"),
              ElementsAre(ElementsAre("6", "4", "1", "0")));
  EXPECT_THAT(query("out/results.partial.sqlite", "SELECT label, error FROM failures").at(0),
              ElementsAre(HasSubstr("a.jsonl"), HasSubstr("osf: 9")));
  const auto table = csv_table(folder.read("out/results.partial.csv"));
  EXPECT_EQ(table[0].back(), "partial_sweep");
  EXPECT_EQ(table.size(), 1u + 4 * 3);
  for (std::size_t row = 1; row < table.size(); ++row) EXPECT_EQ(table[row].back(), "1");

  spec("s", R"("osf": [1, 4])");
  ASSERT_EQ(sweep({"s.json", "-o", "out"}).exit_code, 0);
  EXPECT_FALSE(exists("out/results.partial.sqlite")) << "there is a whole one now";
  EXPECT_FALSE(exists("out/results.partial.csv"));
}

TEST_F(Sweep, AWorkerThatDiesFailsItsPointOnly) {
  spec("s", R"("osf": [1, 2], "plugins": ")" UVMSIM_CRASH_PLUGIN
            R"(", "prefetch": ["none", {"name": "crash", "parameters": {"signal": [0, 9, 11]}}])");
  const auto result = sweep({"s.json", "-o", "out", "--jobs", "2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("worker died, signal 9 (Killed from outside"),
                                HasSubstr("prefetch() for block 0 crashed: signal 11")));
  EXPECT_EQ(finished("out").size(), 10u);
  EXPECT_EQ(point_files("out").size(), 18u) << "ten results and eight errors";
  const auto status = sweep({"status", "out"});
  EXPECT_THAT(status.out, AllOf(HasSubstr("failed    8"), HasSubstr("crash:signal=9"), HasSubstr("signal 11")));
}

TEST_F(Sweep, TwoRunsShareOneFolder) {
  spec("s", kSmall);
  ASSERT_EQ(sweep({"s.json", "-o", "alone"}).exit_code, 0);
  ASSERT_EQ(sweep({"plan", "s.json", "-o", "out"}).exit_code, 0);
  const pid_t first = start({"run", "out", "--jobs", "2"}), second = start({"run", "out", "--jobs", "2"}),
              third = start({"run", "out", "--shard", "1/2"});
  for (const pid_t process : {first, second, third}) EXPECT_EQ(exit_code_of(process), 0) << folder.read("background");
  EXPECT_EQ(finished("out"), finished("alone"));
  EXPECT_EQ(point_files("out").size(), 12u);
}

// A worker keeps bounds for other points of the same program; they equal those of the point alone.
TEST_F(Sweep, BoundsAreThoseOfThePointWhateverRanBefore) {
  for (const char* first : {"host_pinned", "first_touch"}) {
    const std::string other = first == std::string("host_pinned") ? "first_touch" : "host_pinned";
    const std::string dir = first;
    spec("s", R"("osf": 2, "bounds": true, "migrate": [")" + dir + R"(", ")" + other + R"("])");
    ASSERT_EQ(sweep({"s.json", "-o", dir, "--jobs", "1"}).exit_code, 0);
  }
  EXPECT_EQ(finished("host_pinned"), finished("first_touch"));
  std::set<std::uint64_t> least_moved;
  for (const auto& [name, content] : finished("first_touch")) {
    const auto result = nlohmann::json::parse(content).at("result");
    if (!result.at("bounds").is_null()) least_moved.insert(result["bounds"].at("htod_bytes").get<std::uint64_t>());
  }
  EXPECT_EQ(least_moved.count(0), 1u) << "host_pinned";
  EXPECT_GT(least_moved.size(), 1u) << "first_touch";
}

// Bounds belong to the program: finished runs are kept, and bounds are added to them.
TEST_F(Sweep, BoundsAreAddedToWhatIsFinished) {
  const std::string points = R"("osf": [2, 3], "evict": ["lrm", "lru"])";
  spec("without", points);
  spec("with", points + R"(, "bounds": true)");
  ASSERT_EQ(sweep({"with.json", "-o", "alone"}).exit_code, 0);
  ASSERT_EQ(sweep({"without.json", "-o", "out"}).exit_code, 0);
  const auto without = finished("out");
  ASSERT_EQ(sweep({"with.json", "-o", "out"}).exit_code, 0);
  const auto both = finished("out"), alone = finished("alone");
  EXPECT_THAT(both, IsSupersetOf(without));
  EXPECT_THAT(both, IsSupersetOf(alone)) << "the same bytes as of a run with bounds";

  // The runs are not repeated: an invented number is kept.
  ASSERT_EQ(sweep({"without.json", "-o", "marked"}).exit_code, 0);
  for (const auto& [name, content] : finished("marked")) {
    const std::string id = name.substr(0, name.find('.'));
    auto json = nlohmann::ordered_json::parse(content);
    json["result"]["counters"]["cpu_faults"] = 4711;
    sweep::PointFiles(folder.path("marked")).write_result(id, json["result"].dump() + "\n");
  }
  ASSERT_EQ(sweep({"with.json", "-o", "marked"}).exit_code, 0);
  std::size_t bounded = 0;
  for (const auto& [name, content] : finished("marked")) {
    const auto result = nlohmann::json::parse(content).at("result");
    if (!result.contains("bounds")) continue;
    ++bounded;
    EXPECT_EQ(result.at("counters").at("cpu_faults"), 4711) << name;
  }
  EXPECT_EQ(bounded, alone.size());
}

TEST_F(Sweep, CtrlCAndTerminationLeaveWhatIsFinished) {
  // There is so much work that the signal comes before its end in any build.
  std::string seeds;
  for (int i = 1; i <= 500; ++i) seeds += (i == 1 ? "" : ",") + std::to_string(i);
  ASSERT_EQ(sweep({"plan", spec("s", R"("osf": 2, "seeds": [)" + seeds + "]"), "-o", "out"}).exit_code, 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto before = finished("out");
    const pid_t process = start({"run", "out", "--jobs", "2"});
    while (count_finished("out") < before.size() + 2) ::usleep(200);
    ::kill(process, signal);
    EXPECT_EQ(exit_code_of(process), 130);
    EXPECT_THAT(folder.read("background"), AllOf(HasSubstr("interrupted"), HasSubstr("uvmsim sweep run out")));
    EXPECT_THAT(finished("out"), IsSupersetOf(before));
    EXPECT_EQ(point_files("out").size(), finished("out").size()) << "nothing temporary stays";
  }
  const auto status = sweep({"status", "out"});
  EXPECT_EQ(status.exit_code, 1);
  EXPECT_THAT(status.out, HasSubstr("finished  " + std::to_string(finished("out").size()) + "\n"));
}

// After kill -9 at random moments, 20 times in a row, no finished point is lost or doubled.
TEST_F(Sweep, KilledTwentyTimesItStillFinishes) {
  const auto plan = [&](const std::string& dir) {
    ASSERT_EQ(
        sweep({"plan", spec("s", R"("osf": [1.5, 2, 3, 4], "seeds": [1, 2, 3, 4, 5, 6, 7, 8])"), "-o", dir}).exit_code,
        0);
  };
  plan("whole");
  ASSERT_EQ(sweep({"run", "whole"}).exit_code, 0);
  const auto all = finished("whole");
  ASSERT_EQ(all.size(), 80u);

  Random random(20);
  int kills = 0;
  for (int round = 0; kills < 20; ++round) {
    const std::string dir = "out" + std::to_string(round);
    plan(dir);
    while (kills < 20 && finished(dir).size() < all.size()) {
      const auto before = finished(dir);
      const pid_t process = start({"run", dir, "--jobs", "2"});
      // The kill comes between the start and the fourth point, and not always right after one.
      const std::size_t wanted = std::min(before.size() + random.below(4), all.size());
      while (count_finished(dir) < wanted) ::usleep(200);
      ::usleep(static_cast<useconds_t>(random.below(10'000)));
      ::kill(process, SIGKILL);
      kills += exit_code_of(process) == 128 + SIGKILL;
      const auto after = finished(dir);
      for (const auto& [name, content] : before) {
        ASSERT_EQ(after.at(name), content) << "lost or changed by kill " << kills;
      }
      for (const auto& [name, content] : after) ASSERT_EQ(all.at(name), content) << "half a file after kill " << kills;
    }
    ASSERT_EQ(sweep({"run", dir}).exit_code, 0);
    EXPECT_EQ(finished(dir), all);
    EXPECT_EQ(point_files(dir).size(), all.size()) << "nothing half-written stays";
    ASSERT_EQ(sweep({"collect", dir}).exit_code, 0);
    EXPECT_THAT(query(dir + "/results.sqlite", "SELECT count(*), count(DISTINCT id) FROM points"),
                ElementsAre(ElementsAre("80", "80")));
  }
  EXPECT_EQ(kills, 20);
}

TEST_F(Sweep, SchemaAndHelp) {
  const auto schema = sweep({"--schema"});
  EXPECT_EQ(schema.exit_code, 0);
  EXPECT_TRUE(json::parse(schema.out)["properties"].contains("traces"));
  for (const char* verb : {"plan", "run", "status", "collect"}) {
    EXPECT_THAT(sweep({verb, "--help"}).out, HasSubstr("uvmsim sweep plan SPEC.json -o DIR")) << verb;
  }
}

TEST_F(Sweep, RefusesBadCommandLines) {
  spec("s", R"("osf": 1)");
  folder.write("bad.json", R"({"traces": "a.jsonl", "systems": "h200-sxm-pcie5", "osf": 0})");
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases = {
      {{}, {"no sweep file", "uvmsim sweep --help"}},
      {{"nowhere.json", "-o", "d"}, {"nowhere.json", "plan, run, status, collect"}},
      {{"s.json"}, {"--output"}},
      {{"plan", "s.json"}, {"--output"}},
      {{"plan", "-o", "d"}, {"no sweep file"}},
      {{"plan", "s.json", "t.json", "-o", "d"}, {"t.json"}},
      {{"run"}, {"no folder"}},
      {{"run", "nowhere"}, {"nowhere", "uvmsim sweep plan"}},
      {{"status", "nowhere"}, {"nowhere"}},
      {{"collect", "nowhere"}, {"nowhere"}},
      {{"run", "nowhere", "--shard", "0/2"}, {"--shard", "'0/2'", "I/N"}},
      {{"run", "nowhere", "--shard", "3/2"}, {"--shard", "I/N"}},
      {{"run", "nowhere", "--shard", "1"}, {"--shard", "I/N"}},
      {{"run", "nowhere", "--shard", "a/b"}, {"--shard", "I/N"}},
      {{"run", "nowhere", "--jobs", "0"}, {"--jobs", "1 to"}},
      {{"run", "nowhere", "--jobs", "x"}, {"--jobs", "'x'"}},
      {{"run", "nowhere", "--osf", "2"}, {"--osf"}},
      {{"bad.json", "-o", "d"}, {"bad.json: /osf", "above 0"}},
      {{"plan", "s.json", "-o", "s.json"}, {"s.json"}},
  };
  for (const auto& [arguments, words] : cases) expect_one_line_error(sweep(arguments), words);
  EXPECT_FALSE(exists("d")) << "nothing is written for a sweep that is wrong";
}

}  // namespace
}  // namespace uvmsim
