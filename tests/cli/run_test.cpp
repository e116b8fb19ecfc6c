// SPDX-License-Identifier: Apache-2.0
// Tests of `uvmsim run` with good input: its output and files.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/common/sha256.h"
#include "sim/common/version.h"
#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class Run : public CommandTest {};

std::vector<json> json_lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST_F(Run, HelpAndVersion) {
  EXPECT_EQ(run({"--version"}).out, std::string("uvmsim ") + version() + "\n");
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--help"}, {"-h"}, {"help"}}) {
    const auto help = run(arguments);
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, HasSubstr("uvmsim run "));
    EXPECT_THAT(help.err, IsEmpty());
  }
  for (const char* command : {"run", "trace", "systems", "policies", "validate"}) {
    EXPECT_THAT(run({"--help"}).out, HasSubstr(command));
    const auto help = run({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr(std::string("uvmsim ") + command)) << command;
    EXPECT_EQ(run({"help", command}).out, help.out);
  }
}

TEST_F(Run, SummaryOfOneRun) {
  const auto result = run_trace(two_iterations(16));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, HasSubstr("trace.jsonl on h200-sxm-pcie5"));
  EXPECT_THAT(result.out, HasSubstr("footprint 16.00 MiB"));
  EXPECT_THAT(result.out, HasSubstr("iteration 1"));
  EXPECT_THAT(result.out, HasSubstr("not settled after 2 iterations (as recorded): iteration 1\n"));
  EXPECT_THAT(result.out, HasSubstr("fault batches"));
}

// Every sum of bytes is the sum of the lines below it, for all causes.
TEST_F(Run, SumsOfBytesAreThoseOfTheirLines) {
  const std::string all = R"("object":1,"offset":0,"bytes":16777216)";
  const std::string trace =
      trace_of({alloc(1, 16 << 20), R"({"t":"prefetch",)" + all + R"(,"destination":0})", kernel(1, 0, 4096),
                R"({"t":"sync","kind":"device"})", R"({"t":"host_access","object":1,"extents":[[0,1024,"rw"]]})",
                kernel(1, 0, 4096), R"({"t":"sync","kind":"device"})",
                R"({"t":"prefetch",)" + all + R"(,"destination":-1})", R"({"t":"sync","kind":"device"})", release(1)});
  const auto result = run_trace(trace, {"--osf", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, double> sums, lines;
  std::set<std::string> causes;
  std::string of;
  std::istringstream text(result.out);
  for (std::string line; std::getline(text, line);) {
    const std::size_t end = line.find_last_not_of(' '), number = line.rfind(' ', end) + 1;
    const std::string name = line.substr(0, line.find("   "));
    if (name.find("(GiB)") != std::string::npos) sums[of = name] = std::stod(line.substr(number));
    if (!line.starts_with("  ") || of.empty()) {
      if (name.find("(GiB)") == std::string::npos) of.clear();
      continue;
    }
    lines[of] += std::stod(line.substr(number));
    causes.insert(name);
  }
  for (const char* direction : {"HtoD (GiB)", "DtoH (GiB)"}) {
    EXPECT_GT(sums[direction], 0.01) << direction;
    EXPECT_NEAR(lines[direction], sums[direction], 0.0021) << direction << ", each line rounded\n" << result.out;
  }
  EXPECT_THAT(causes, ::testing::IsSupersetOf({"  by calls of the program", "  for faults of the host"}));
}

TEST_F(Run, TableOfSeveralFactors) {
  const auto result = run_trace(two_iterations(16), {"--osf", "1,2", "--osf", "4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("OSF 4: not settled after 2 iterations (as recorded): iteration 1\n"));
  EXPECT_THAT(result.out, HasSubstr("learning"));
  EXPECT_THAT(result.out, HasSubstr("slowdown"));
  EXPECT_THAT(result.out, ::testing::ContainsRegex("\n +4 "));
}

TEST_F(Run, JsonHoldsTheWholeRun) {
  const std::string trace = two_iterations(16);
  const auto result =
      run_trace(trace, {"--osf", "2", "--seed", "7", "--prefetch", "tree:threshold=75", "--json", "r.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto runs = json_lines(folder.read("r.json"));
  ASSERT_EQ(runs.size(), 1u);
  const json& r = runs[0];
  EXPECT_EQ(r["schema"], "uvmsim.result/3");
  EXPECT_EQ(r["trace"]["file"], "trace.jsonl");
  EXPECT_EQ(r["trace"]["sha256"], sha256(trace));
  EXPECT_EQ(r["trace"]["partial"], false);
  EXPECT_EQ(r["seed"], 7);
  EXPECT_EQ(r["policies"]["prefetch"]["parameters"]["threshold"], "75");
  EXPECT_EQ(r["policies"]["evict"]["name"], "lrm");
  EXPECT_EQ(r["system"]["name"], "h200-sxm-pcie5");
  EXPECT_EQ(r["footprint_bytes"], 16 << 20);
  EXPECT_EQ(r["capacity_bytes"], 8 << 20);
  EXPECT_EQ(r["osf_thousandths"], 2000);
  EXPECT_EQ(r["iterations"].size(), 2u);
  EXPECT_EQ(r["settled"]["index"], 1);
  EXPECT_EQ(r["counters"]["kernels"], 2);
  EXPECT_GT(r["counters"]["evictions"], 0);
  EXPECT_GE(r["slowdown_thousandths"], 1000);
  EXPECT_GE(r["slowdown_ideal_thousandths"], r["slowdown_thousandths"]);
  EXPECT_GT(r["total_ns"], r["ideal_ns"]);
}

TEST_F(Run, MoreMemoryThanTheGpuHasIsRefusedOrSaid) {
  const std::vector<std::string> small = {
      "--set", "gpus.0.memory_bytes=16MiB", "--set", "gpus.0.reserved_bytes=0", "--json", "r.json"};
  const auto with = [&](std::vector<std::string> options) {
    options.insert(options.end(), small.begin(), small.end());
    return run_trace(two_iterations(32), options);
  };
  for (const auto& limit : std::vector<std::vector<std::string>>{{"--osf", "1"}, {"--capacity-bytes", "300GiB"}}) {
    expect_one_line_error(with(limit), {"trace.jsonl", "16777216", "--hypothetical-capacity"});
  }
  EXPECT_EQ(with({"--osf", "2"}).exit_code, 0);
  EXPECT_FALSE(json::parse(folder.read("r.json"))["limit"].contains("hypothetical"));
  const auto asked = with({"--osf", "1", "--hypothetical-capacity"});
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("capacity 32.00 MiB (hypothetical: the GPU has less)"));
  EXPECT_EQ(json::parse(folder.read("r.json"))["limit"]["hypothetical"], true);
}

TEST_F(Run, TheTableSaysWhichFactorRan) {
  const auto result = run_trace(two_iterations(6), {"--osf", "1,1.25,2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1.25 (ran 1.5)"));
  EXPECT_THAT(result.out, HasSubstr("2 (ran 3)"));
  EXPECT_THAT(result.out, Not(HasSubstr("(ran 1)")));
}

// All policies have one baseline, in the summary, the table and the JSON.
TEST_F(Run, SlowdownIsAgainstTheDriversOwnPoliciesWithoutLimit) {
  const std::string trace = two_iterations(16);
  const auto settled_of = [&](const std::vector<std::string>& options, const char* key) {
    std::vector<std::string> all = {"--json", "r.json"};
    all.insert(all.end(), options.begin(), options.end());
    EXPECT_EQ(run_trace(trace, all).exit_code, 0);
    const json r = json::parse(folder.read("r.json"));
    if (key == nullptr) return r["settled"]["duration_ns"].get<std::uint64_t>();
    return (r["unlimited"].contains(key) ? r["unlimited"][key] : r[key]).get<std::uint64_t>();
  };
  const std::uint64_t baseline = settled_of({}, nullptr);
  EXPECT_EQ(settled_of({}, "settled_ns"), baseline);
  EXPECT_EQ(settled_of({}, "slowdown_thousandths"), 1000u);
  EXPECT_EQ(settled_of({"--osf", "2"}, "settled_ns"), baseline);
  EXPECT_EQ(settled_of({"--osf", "2", "--prefetch", "none"}, "settled_ns"), baseline);
  EXPECT_EQ(settled_of({"--prefetch", "none"}, "settled_ns"), baseline);
  EXPECT_THAT(run_trace(trace, {"--osf", "2", "--prefetch", "none"}).out,
              HasSubstr("slowdown against the driver's policies with room for all"));
}

TEST_F(Run, SeveralSeeds) {
  const auto result = run_trace(
      two_iterations(16), {"--osf", "2,4", "--evict", "random", "--seed", "3", "--seeds", "4", "--json", "r.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto runs = json_lines(folder.read("r.json"));
  ASSERT_EQ(runs.size(), 8u);
  std::uint64_t sum = 0, least = ~std::uint64_t{0}, most = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(runs[i]["seed"], 3 + i);
    const auto time = runs[i]["settled"]["duration_ns"].get<std::uint64_t>();
    sum += time;
    least = std::min(least, time);
    most = std::max(most, time);
  }
  const auto ms = [](std::uint64_t ns) {
    return fmt::format("{}.{:03}", (ns + 500) / 1000000, (ns + 500) / 1000 % 1000);
  };
  EXPECT_THAT(result.out, HasSubstr("means of 4 seeds"));
  EXPECT_THAT(result.out, ::testing::ContainsRegex("shortest \\(ms\\) +longest \\(ms\\)"));
  EXPECT_THAT(result.out, ::testing::ContainsRegex(ms((sum + 2) / 4) + " +" + ms(least) + " +" + ms(most)));
  expect_one_line_error(run_trace(two_iterations(16), {"--seeds", "0"}), {"--seeds", "1 to 1000"});
  expect_one_line_error(run_trace(two_iterations(16), {"--seeds", "2", "--timeline", "t.json"}),
                        {"--timeline", "--seeds"});
}

TEST_F(Run, EveryLineFitsATerminal) {
  const std::string trace = two_iterations(16);
  for (const auto& options : std::vector<std::vector<std::string>>{{},
                                                                   {"--osf", "1,1.3,2,3"},
                                                                   {"--osf", "2,4", "--seeds", "2"},
                                                                   {"--osf", "2,4", "--bounds"},
                                                                   {"--explain-columns"}}) {
    const auto result = run_trace(trace, options);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::istringstream text(result.out);
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 120u) << line;
  }
}

// A result contains its origin, and the command that it names gives the same result.
TEST_F(Run, ResultsSayWhatMadeThem) {
  const auto result = run_trace(two_iterations(16), {"--osf", "2", "--evict", "lru", "--no-host-gaps", "--set",
                                                     "costs.batch_ns=7 us", "--json", "r.json", "--csv", "r.csv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json r = json::parse(folder.read("r.json"));
  EXPECT_EQ(
      r["command"],
      "uvmsim run trace.jsonl --system h200-sxm-pcie5 --set 'costs.batch_ns=7 us' --osf 2 --evict lru --iterations "
      "recorded --no-host-gaps");
  EXPECT_EQ(r["model_version"].get<std::string>().size(), 64u);
  EXPECT_EQ(r["system_sha256"].get<std::string>().size(), 64u);
  EXPECT_TRUE(r.contains("uvmsim_commit"));
  for (const char* key : {"command", "model_version", "system_sha256", "uvmsim_commit"}) {
    EXPECT_THAT(folder.read("r.csv"), HasSubstr(std::string(",") + key + ","));
    EXPECT_THAT(folder.read("r.csv"), HasSubstr(r[key].get<std::string>()));
  }
  ASSERT_EQ(run({"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--set", "costs.batch_ns=7 us", "--osf", "2",
                 "--evict", "lru", "--iterations", "recorded", "--no-host-gaps", "--json", "again.json"})
                .exit_code,
            0);
  EXPECT_EQ(folder.read("again.json"), folder.read("r.json"));
}

TEST_F(Run, MoreIterationsThanRecorded) {
  const auto result = run_trace(two_iterations(16), {"--iterations", "10", "--json", "r.json", "--csv", "r.csv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("iterations 1-9, mean"));
  const json r = json::parse(folder.read("r.json"));
  EXPECT_EQ(r["requested_iterations"], 10);
  ASSERT_EQ(r["iterations"].size(), 10u);
  EXPECT_EQ(r["iterations"][9]["index"], 9);
  EXPECT_EQ(r["iterations"][0]["settled"], false);
  EXPECT_EQ(r["settled"]["count"], 9);
  EXPECT_EQ(r["settled"]["first_index"], 1);
  EXPECT_EQ(r["settled"]["shortest_ns"], r["settled"]["longest_ns"]);
  EXPECT_EQ(r["settled"]["duration_ns"], r["iterations"][5]["duration_ns"]);
  EXPECT_EQ(r["counters"]["kernels"], 10);
  EXPECT_THAT(folder.read("r.csv"), HasSubstr(",settled,"));
  EXPECT_THAT(result.out, HasSubstr("settled after 1 of 10 iterations (10)\n"));
  EXPECT_EQ(r["settled"]["learning_iterations"], 1);
}

TEST_F(Run, EndsWhenItHasSettled) {
  const auto all = run_trace(two_iterations(16), {"--iterations", "500", "--json", "all.json"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  const auto some = run_trace(two_iterations(16), {"--iterations", "500", "--until-settled", "--json", "r.json"});
  ASSERT_EQ(some.exit_code, 0) << some.err;
  const json r = json::parse(folder.read("r.json")), whole = json::parse(folder.read("all.json"));
  EXPECT_LT(r["iterations"].size(), 500u) << "nobody waits for the GPU: the host has launched more by then";
  EXPECT_EQ(r["settled"]["is_settled"], true);
  EXPECT_EQ(r["until_settled"], true);
  EXPECT_EQ(r["requested_iterations"], 500);
  EXPECT_EQ(r["settled"]["duration_ns"], whole["settled"]["duration_ns"]);
  EXPECT_THAT(r["command"].get<std::string>(), HasSubstr(" --iterations 500 --until-settled"));
  EXPECT_EQ(r["unlimited"]["settled_ns"], whole["unlimited"]["settled_ns"]);
}

TEST_F(Run, SettlesByDefault) {
  folder.write("trace.jsonl", two_iterations(16));
  const auto with = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--json", "r.json"});
    const auto result = run(options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return std::pair(json::parse(folder.read("r.json")), result.out);
  };
  const auto [r, text] = with({"--osf", "2"});
  EXPECT_GT(r["iterations"].size(), 2u);
  EXPECT_LE(r["iterations"].size(), 64u);
  EXPECT_EQ(r["settled"]["is_settled"], true);
  EXPECT_EQ(r["until_settled"], true);
  EXPECT_EQ(r["requested_iterations"], 64) << "the bound";
  EXPECT_THAT(text, HasSubstr("(at most 64)"));
  EXPECT_EQ(r["command"], "uvmsim run trace.jsonl --system h200-sxm-pcie5 --osf 2");
  EXPECT_EQ(with({"--osf", "2", "--iterations", "settled"}).first, r);
  EXPECT_EQ(with({"--osf", "2", "--until-settled"}).first, r);

  const json bounded = with({"--osf", "2", "--bounds"}).first;
  EXPECT_EQ(bounded["total_ns"], r["total_ns"]) << "bounds are of the program as long as it ran";
  EXPECT_LE(bounded["bounds"]["best_ns"], bounded["total_ns"]);
  // A policy that knows the future is told how long the program is.
  const json oracle = with({"--osf", "2", "--evict", "min"}).first;
  EXPECT_EQ(oracle["iterations"].size(), 32u);
  EXPECT_FALSE(oracle.contains("until_settled"));
  expect_one_line_error(run_trace(two_iterations(16), {"--until-settled", "--iterations", "recorded"}),
                        {"--iterations", "as many iterations as were recorded", "until settled"});
}

TEST_F(Run, WhatCannotBeRepeatedRunsAsRecordedAndSaysWhy) {
  const std::string trace =
      trace_of({alloc(1, 16 << 20), iteration("begin", 0), kernel(1, 0, 4096), iteration("end", 0),
                iteration("begin", 1), alloc(2, 2 << 20), kernel(2, 0, 512), iteration("end", 1)});
  const auto result = run_trace(trace, {"--iterations", "settled", "--json", "r.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json r = json::parse(folder.read("r.json"));
  EXPECT_EQ(r["iterations"].size(), 2u);
  EXPECT_THAT(r["not_repeated"].get<std::string>(), HasSubstr("never frees it"));
  EXPECT_THAT(result.out, HasSubstr("as recorded, since iteration 1 cannot be repeated"));
  EXPECT_TRUE(r["requested_iterations"].is_null());
}

// The settled flag of a row is never set if no iteration has settled; another column says which rows are quoted.
TEST_F(Run, OfARunThatHasNotSettledTheLaterHalfIsQuoted) {
  const auto result = run_trace(two_iterations(16), {"--iterations", "8", "--json", "r.json", "--csv", "r.csv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json r = json::parse(folder.read("r.json"));
  ASSERT_EQ(r["settled"]["is_settled"], false) << "seven passes are too few to tell";
  EXPECT_EQ(r["settled"]["first_index"], 4);
  EXPECT_EQ(r["settled"]["index"], 7);
  for (const json& one : r["iterations"]) {
    EXPECT_EQ(one["quoted"], one["index"] >= 4);
    EXPECT_EQ(one["settled"], false);
  }
  EXPECT_THAT(result.out, HasSubstr("not settled after 8 iterations (8): iterations 4-7, mean, "));
  EXPECT_THAT(folder.read("r.csv"), HasSubstr(",quoted,settled,"));
}

// A small form of `rtx4080`: the whole GPU is too small for the program.
TEST_F(Run, ABaselineThatDoesNotFitIsNoBaseline) {
  const std::vector<std::string> small = {
      "--set", "gpus.0.memory_bytes=16MiB", "--set", "gpus.0.reserved_bytes=0", "--json", "r.json", "--csv", "r.csv"};
  const auto whole = run_trace(two_iterations(32), small);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  json r = json::parse(folder.read("r.json"));
  EXPECT_GT(r["counters"]["evictions"], 0);
  EXPECT_GT(r["slowdown_thousandths"], 1100) << "not against itself";
  EXPECT_EQ(r["unlimited"]["hypothetical"], true);
  EXPECT_EQ(r["unlimited"]["capacity_bytes"], 32 << 20);
  EXPECT_THAT(whole.out, HasSubstr("room for all (hypothetical: 32.00 MiB)"));
  EXPECT_THAT(whole.out, HasSubstr("this GPU's own memory is too small for the program"));
  EXPECT_THAT(folder.read("r.csv"), HasSubstr(",baseline_hypothetical,"));

  std::vector<std::string> room = small;
  room.emplace_back("--hypothetical-capacity");
  ASSERT_EQ(run_trace(two_iterations(32), room).exit_code, 0);
  r = json::parse(folder.read("r.json"));
  EXPECT_EQ(r["capacity_bytes"], 32 << 20);
  EXPECT_EQ(r["counters"]["evictions"], 0);
  EXPECT_EQ(r["slowdown_thousandths"], 1000);
}

// Two iterations of kernels that touch the VA blocks one by one: higher costs make every step slower.
std::string blocks_in_turn(std::uint64_t blocks) {
  std::vector<std::string> lines{alloc(1, blocks << 21)};
  for (const unsigned index : {0u, 1u}) {
    lines.push_back(iteration("begin", index));
    for (std::uint64_t block = 0; block < blocks; ++block) lines.push_back(kernel(1, block * 512, 512));
    lines.push_back(iteration("end", index));
  }
  lines.push_back(release(1));
  return trace_of(lines);
}

TEST_F(Run, UncertaintyIsARangeAroundTheResult) {
  const auto result =
      run_trace(blocks_in_turn(8), {"--osf", "2", "--uncertainty", "--json", "r.json", "--csv", "r.csv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json r = json::parse(folder.read("r.json"));
  const json& range = r["uncertainty"];
  EXPECT_LT(range["low_ns"], r["settled"]["duration_ns"]);
  EXPECT_GT(range["high_ns"], r["settled"]["duration_ns"]);
  EXPECT_LE(range["low_slowdown_thousandths"], r["slowdown_thousandths"]);
  EXPECT_GE(range["high_slowdown_thousandths"], r["slowdown_thousandths"]);
  EXPECT_EQ(range["calibration"], "measured here");
  EXPECT_THAT(result.out, HasSubstr("time on other machines (ms)"));
  EXPECT_THAT(result.out, HasSubstr("ranges: driver costs x0.8 to x1.25"));
  // The ends of the range are runs that any user can make.
  ASSERT_EQ(
      run_trace(blocks_in_turn(8), {"--osf", "2", "--set", "costs.*=x1.25", "--set", "host_links.*bytes_per_us=x0.97",
                                    "--set", "host.*bytes_per_us=x0.8", "--json", "slow.json"})
          .exit_code,
      0);
  EXPECT_EQ(json::parse(folder.read("slow.json"))["settled"]["duration_ns"], range["high_ns"]);
  EXPECT_THAT(run_trace(blocks_in_turn(8), {"--osf", "2,4", "--uncertainty"}).out, HasSubstr("slowdown range"));
}

// The file gives the width of an access: no value may cause a division by zero or an endless loop.
TEST_F(Run, AccessesOfAnyWidth) {
  for (const char* distribution : {"block_linear", "grid_stride"}) {
    for (const std::uint32_t bytes : {1u, 3u, 16u, 4096u, 134217728u, 4294967295u}) {
      const std::string line = fmt::format(
          R"({{"t":"kernel","name":"k","grid":[64,1,1],"block":[256,1,1],"duration_ns":100000,"distribution":"{}",)"
          R"("bytes_per_thread_access":{},"accesses":[[1,[[0,512,"rw"]]]]}})",
          distribution, bytes);
      const auto result = run_trace(trace_of({alloc(1, 2 << 20), line, release(1)}), {"--json", "r.json"});
      ASSERT_EQ(result.exit_code, 0) << distribution << ' ' << bytes << ' ' << result.err;
      EXPECT_EQ(json::parse(folder.read("r.json"))["counters"]["populated_pages"], 512) << distribution << ' ' << bytes;
    }
  }
}

// If a system has the GPU of a trace, the trace is scaled to another system's GPU by the peaks of both.
TEST_F(Run, DurationsOfAnotherGpu) {
  std::string trace = two_iterations(16);
  trace.replace(trace.find(R"("tool")"), 0, R"("gpu":"NVIDIA H200",)");
  const auto on = [&](const std::vector<std::string>& options) {
    std::vector<std::string> all = {"--json", "r.json"};
    all.insert(all.end(), options.begin(), options.end());
    const auto result = run_trace(trace, all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return std::pair(json::parse(folder.read("r.json")), result.out);
  };
  const auto [same, same_text] = on({});
  EXPECT_EQ(same["time_scale"]["rule"], "roofline");
  EXPECT_EQ(same["time_scale"]["recorded_on"], "NVIDIA H200");
  EXPECT_EQ(same["counters"]["kernel_compute_ns"], 200000);
  EXPECT_THAT(same_text, HasSubstr("kernel durations as recorded on NVIDIA H200"));

  // At half the clock, kernels that neither compute matrices nor fill the memory take twice as long.
  const auto [slow, slow_text] = on({"--set", "gpus.0.sm_clock_khz=990 MHz"});
  EXPECT_EQ(slow["time_scale"]["classes"]["sm"]["factor_millionths"], 2000000);
  EXPECT_EQ(slow["time_scale"]["classes"]["sm"]["kernels"], 2);
  EXPECT_EQ(slow["time_scale"]["classes"]["sm"]["scaled_ns"], 400000);
  EXPECT_EQ(slow["counters"]["kernel_compute_ns"], 400000);
  EXPECT_THAT(slow_text, HasSubstr("kernel durations from NVIDIA H200 by a roofline"));

  const auto [fixed, fixed_text] = on({"--set", "gpus.0.sm_clock_khz=990 MHz", "--time-scale", "1.5"});
  EXPECT_EQ(fixed["time_scale"]["rule"], "fixed");
  EXPECT_EQ(fixed["time_scale"]["factor_millionths"], 1500000);
  EXPECT_EQ(fixed["counters"]["kernel_compute_ns"], 300000);
  EXPECT_THAT(fixed_text, HasSubstr("kernel durations times 1.5"));

  // Durations from an unknown GPU stay as recorded, and the text says so, unless a system is named.
  trace.replace(trace.find("NVIDIA H200"), 11, "NVIDIA H201");
  const auto [unknown, unknown_text] = on({});
  EXPECT_EQ(unknown["time_scale"]["rule"], "none");
  EXPECT_TRUE(unknown["time_scale"]["recorded_on"].is_null());
  EXPECT_THAT(unknown_text, HasSubstr("as recorded on NVIDIA H201, which no system has"));
  const auto [named, named_text] = on({"--recorded-on", "a100-pcie-80g"});
  EXPECT_EQ(named["time_scale"]["recorded_on"], "NVIDIA A100 80GB PCIe");
  EXPECT_EQ(named["time_scale"]["classes"]["sm"]["factor_millionths"], 582645);  // 108 * 1410 / (132 * 1980)
}

TEST_F(Run, IterationsAddUpToNoMoreThanTheRun) {
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "2", "--json", "r.json"}).exit_code, 0);
  const json r = json::parse(folder.read("r.json"));
  for (const auto& [name, value] : r["counters"].items()) {
    std::uint64_t sum = 0;
    for (const auto& one : r["iterations"]) sum += one["counters"][name].get<std::uint64_t>();
    EXPECT_LE(sum, value.get<std::uint64_t>()) << name;
  }
}

TEST_F(Run, SameInputSameBytes) {
  const std::vector<std::string> options{"--osf", "1.5,3", "--json", "r.json", "--csv", "r.csv"};
  ASSERT_EQ(run_trace(two_iterations(16), options).exit_code, 0);
  const std::string first_json = folder.read("r.json"), first_csv = folder.read("r.csv");
  ASSERT_EQ(run_trace(two_iterations(16), options).exit_code, 0);
  EXPECT_EQ(folder.read("r.json"), first_json);
  EXPECT_EQ(folder.read("r.csv"), first_csv);
  EXPECT_THAT(first_json, Not(HasSubstr(folder.path())));
}

TEST_F(Run, ALimitAloneOrInAListIsTheSameRun) {
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "1.5,3", "--json", "list.json"}).exit_code, 0);
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "3", "--json", "alone.json"}).exit_code, 0);
  const std::string list = folder.read("list.json");
  EXPECT_EQ(list.substr(list.find('\n') + 1), folder.read("alone.json"));
}

TEST_F(Run, StandardOutputIsOnlyJsonWhenAskedFor) {
  const auto result = run_trace(two_iterations(4), {"--osf", "1,2", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_lines(result.out).size(), 2u);
}

TEST_F(Run, CsvHasOneRowPerIterationAndRun) {
  ASSERT_EQ(run_trace(two_iterations(4), {"--osf", "1,2", "--csv", "r.csv"}).exit_code, 0);
  const std::string csv = folder.read("r.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 3);
  EXPECT_THAT(csv, HasSubstr(",footprint_bytes,"));
}

TEST_F(Run, TimelineIsJson) {
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "2", "--timeline", "t.json"}).exit_code, 0);
  const json timeline = json::parse(folder.read("t.json"));
  EXPECT_EQ(timeline["otherData"]["command"],
            "uvmsim run trace.jsonl --system h200-sxm-pcie5 --osf 2 --iterations recorded");
  const json& events = timeline["traceEvents"];
  std::size_t kernels = 0, evictions = 0, batches = 0, transfers = 0, ranges = 0, samples = 0;
  for (const json& event : events) {
    const std::string category = event.value("cat", "");
    kernels += category == "kernel";
    evictions += category == "eviction";
    batches += category == "fault batch";
    transfers += category == "evict" || category == "fault" || category == "prefetch";
    ranges += category == "range";
    samples += event["ph"] == "C";
  }
  EXPECT_EQ(kernels, 2u);
  EXPECT_EQ(ranges, 2u);
  EXPECT_GT(evictions, 0u);
  EXPECT_GT(batches, 0u);
  EXPECT_GT(transfers, 0u);
  EXPECT_GT(samples, 0u);
}

TEST_F(Run, TimelineOfOneIteration) {
  const auto kernels = [&](const std::string& window) {
    const auto result =
        run_trace(two_iterations(16), {"--osf", "2", "--timeline", "t.json", "--timeline-window", window});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const json events = json::parse(folder.read("t.json"))["traceEvents"];
    return std::count_if(events.begin(), events.end(),
                         [](const json& event) { return event.value("cat", "") == "kernel"; });
  };
  EXPECT_EQ(kernels("iterations=1..1"), 1);
  EXPECT_EQ(kernels("iterations=0..1"), 2);
  EXPECT_EQ(kernels("kernels=2..2"), 1);
  EXPECT_EQ(kernels("time=0ms..1s"), 2);
  for (const char* wrong :
       {"iterations=2", "iterations=2..1", "kernels=0..1", "time=1..x", "layers=1..2", "time=1ms..2"}) {
    expect_one_line_error(run_trace(two_iterations(4), {"--timeline", "t.json", "--timeline-window", wrong}),
                          {"--timeline-window", wrong, "iterations=A..B"});
  }
  expect_one_line_error(run_trace(two_iterations(4), {"--timeline-window", "iterations=0..0"}), {"without --timeline"});
}

TEST_F(Run, TimelineDoesNotChangeTheResult) {
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "2", "--json", "a.json"}).exit_code, 0);
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "2", "--json", "b.json", "--timeline", "t.json"}).exit_code, 0);
  EXPECT_EQ(folder.read("a.json"), folder.read("b.json"));
}

TEST_F(Run, ReadsStandardInput) {
  const auto result = run({"run", "-", "--system", "h200-sxm-pcie5", "--osf", "2", "--json", "-"}, two_iterations(4));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["trace"]["sha256"], sha256(two_iterations(4)));
}

TEST_F(Run, SettingsChangeTheSystemAndAreRecorded) {
  const auto slow = run_trace(two_iterations(4), {"--set", "costs.batch_ns=900 us", "--json", "-"});
  const auto fast = run_trace(two_iterations(4), {"--json", "-"});
  ASSERT_EQ(slow.exit_code, 0) << slow.err;
  EXPECT_EQ(json::parse(slow.out)["system"]["costs"]["batch_ns"], 900000);
  EXPECT_GT(json::parse(slow.out)["total_ns"], json::parse(fast.out)["total_ns"]);
}

TEST_F(Run, CapacityInBytes) {
  const auto result = run_trace(two_iterations(16), {"--capacity-bytes", "4MiB", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json r = json::parse(result.out);
  EXPECT_EQ(r["capacity_bytes"], 4 << 20);
  EXPECT_EQ(r["limit"]["by"], "capacity");
  EXPECT_EQ(r["osf_thousandths"], 4000);
}

TEST_F(Run, FootprintInBytes) {
  const auto result = run_trace(two_iterations(16), {"--footprint-bytes", "32MiB", "--osf", "2", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json r = json::parse(result.out);
  EXPECT_EQ(r["capacity_bytes"], 16 << 20);
  EXPECT_EQ(r["osf_thousandths"], 2000);
  EXPECT_EQ(r["counters"]["evictions"], 0);
}

// Real unified memory runs a kernel whose set exceeds the GPU's memory, and so does the simulator.
TEST_F(Run, KernelLargerThanTheGpu) {
  const auto result = run_trace(two_iterations(64), {"--capacity-bytes", "4MiB", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json r = json::parse(result.out);
  EXPECT_GT(r["counters"]["evictions"], 2 * (64 - 4) / 2 - 1);
  EXPECT_GE(r["counters"]["faulting_pages"], 1);
}

TEST_F(Run, AProgramWithoutManagedMemoryRunsUnlimited) {
  const auto result = run_trace(trace_of({R"({"t":"sync","kind":"device"})"}), {"--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["footprint_bytes"], 0);
}

TEST_F(Run, VerboseSpeaksOnStandardErrorOnly) {
  const auto result = run_trace(two_iterations(4), {"--osf", "2", "--verbose", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("OSF 2"));
  EXPECT_EQ(json_lines(result.out).size(), 1u);
}

TEST_F(Run, LeavesNoTemporaryFiles) {
  ASSERT_EQ(run_trace(two_iterations(4), {"--json", "a", "--csv", "b", "--timeline", "c"}).exit_code, 0);
  EXPECT_THAT(folder.names(), UnorderedElementsAre("a", "b", "c", "trace.jsonl"));
}

}  // namespace
}  // namespace uvmsim
