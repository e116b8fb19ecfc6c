// SPDX-License-Identifier: Apache-2.0
// `uvmsim bounds`, and what --bounds adds to `uvmsim run`.
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<json> json_lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

class BoundsCommand : public CommandTest {
 protected:
  CommandResult bounds(const std::vector<std::string>& options) {
    folder.write("trace.jsonl", two_iterations(16));
    std::vector<std::string> arguments{"bounds", "trace.jsonl", "--system", "h200-sxm-pcie5"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run(arguments);
  }
};

TEST_F(BoundsCommand, HelpExplainsEveryColumn) {
  const auto help = run({"bounds", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* word : {"compute", "cold", "MIN", "windowed", "write-backs", "--osf", "--best-of", "--layout"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  EXPECT_THAT(run({"--help"}).out, HasSubstr("\n  bounds "));
}

TEST_F(BoundsCommand, OneRowPerLimit) {
  const auto result = bounds({"--osf", "1,2", "--osf", "4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, HasSubstr("trace.jsonl on h200-sxm-pcie5"));
  EXPECT_THAT(result.out, HasSubstr("footprint 16.00 MiB"));
  EXPECT_THAT(result.out, HasSubstr("write-backs (ms)"));
  EXPECT_THAT(result.out, ContainsRegex("\n +1 +0.016"));
  EXPECT_THAT(result.out, ContainsRegex("\n +4 +0.004"));
  EXPECT_THAT(bounds({}).out, ContainsRegex("\nnone "));
  EXPECT_THAT(bounds({"--capacity-bytes", "8MiB"}).out, ContainsRegex("\n +2 +0.008"));
}

TEST_F(BoundsCommand, JsonHoldsTheChain) {
  const auto result = bounds({"--osf", "2,4", "--json", "b.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("write-backs"));
  const auto lines = json_lines(folder.read("b.json"));
  ASSERT_EQ(lines.size(), 2u);
  for (const json& line : lines) {
    EXPECT_EQ(line["schema"], "uvmsim.bounds/1");
    EXPECT_EQ(line["trace"]["file"], "trace.jsonl");
    EXPECT_EQ(line["system"]["name"], "h200-sxm-pcie5");
    EXPECT_EQ(line["footprint_bytes"], 16 << 20);
    const json& b = line["bounds"];
    EXPECT_LE(b["compute_ns"], b["cold_ns"]);
    EXPECT_LE(b["cold_ns"], b["min_ns"]);
    EXPECT_LE(b["min_ns"], b["windowed_ns"]);
    EXPECT_LE(b["windowed_ns"], b["write_backs_ns"]);
    EXPECT_EQ(b["best_ns"], b["write_backs_ns"]);
    EXPECT_TRUE(b["best_known"].is_null());
  }
  EXPECT_EQ(lines[0]["capacity_bytes"], 8 << 20);
  EXPECT_GE(lines[1]["bounds"]["htod_bytes"], lines[0]["bounds"]["htod_bytes"]);
  EXPECT_EQ(bounds({"--osf", "2,4", "--json", "-"}).out, folder.read("b.json"));
}

TEST_F(BoundsCommand, ComparesWithThePoliciesThatAreNamed) {
  const auto two = bounds({"--osf", "2", "--best-of", "tree+lru", "--best-of", "none+lrm", "--json", "-"});
  ASSERT_EQ(two.exit_code, 0) << two.err;
  const json best = json_lines(two.out).at(0)["bounds"]["best_known"];
  EXPECT_GE(best["over_bound_thousandths"], 1000);
  const auto all = bounds({"--osf", "2", "--best-of", "all", "--json", "-"});
  EXPECT_LE(json_lines(all.out).at(0)["bounds"]["best_known"]["total_ns"], best["total_ns"]);
  EXPECT_THAT(bounds({"--osf", "2", "--best-of", "tree:threshold=75+lru"}).out,
              ContainsRegex("best known.*\n.*tree:threshold=75 lru"));
}

TEST_F(BoundsCommand, ResultsSayHowFarTheyAre) {
  const std::string trace = two_iterations(16);
  const auto plain = run_trace(trace, {"--osf", "2,4", "--json", "plain.json"});
  const auto with = run_trace(trace, {"--osf", "2,4", "--bounds", "--best-of", "all", "--json", "with.json"});
  ASSERT_EQ(with.exit_code, 0) << with.err;
  EXPECT_THAT(with.out, ::testing::StartsWith(plain.out));
  EXPECT_THAT(plain.out, Not(HasSubstr("bound")));
  EXPECT_THAT(with.out, HasSubstr("serialisation"));
  auto plain_lines = json_lines(folder.read("plain.json"));
  auto with_lines = json_lines(folder.read("with.json"));
  ASSERT_EQ(with_lines.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const json b = with_lines[i]["bounds"];
    const json& d = b["distance"];
    const std::int64_t sum = b["compute_ns"].get<std::int64_t>() + d["necessary_bytes_ns"].get<std::int64_t>() +
                             d["excess_bytes_ns"].get<std::int64_t>() + d["fault_latency_ns"].get<std::int64_t>() +
                             d["serialisation_ns"].get<std::int64_t>();
    EXPECT_EQ(sum, with_lines[i]["total_ns"]);
    EXPECT_GE(d["over_bound_thousandths"], 1000);
    EXPECT_GE(d["over_best_known_thousandths"], 1000);
    EXPECT_LE(b["best_known"]["total_ns"], with_lines[i]["total_ns"]);
    with_lines[i].erase("bounds");
    EXPECT_EQ(with_lines[i]["command"], plain_lines[i]["command"].get<std::string>() + " --bounds");
    with_lines[i].erase("command");
    plain_lines[i].erase("command");
    EXPECT_EQ(with_lines[i], plain_lines[i]);
  }
}

TEST_F(BoundsCommand, MistakesAreOneLine) {
  expect_one_line_error(run({"bounds"}), {"no trace given"});
  expect_one_line_error(run({"bounds", "trace.jsonl"}), {"--system is missing"});
  expect_one_line_error(bounds({"--osf", "0"}), {"--osf"});
  expect_one_line_error(bounds({"--osf", "100"}), {"--osf", "allowed here: at most 8"});
  expect_one_line_error(bounds({"--layout", "nowhere"}), {"nowhere"});
  expect_one_line_error(bounds({"--prefetch", "tree"}), {"unknown option --prefetch"});
  expect_one_line_error(bounds({"--best-of", "tree"}), {"--best-of", "'tree' is no pair", "PREFETCH+EVICT"});
  expect_one_line_error(bounds({"--best-of", "tree+lrv"}), {"lrv", "lru"});
  expect_one_line_error(bounds({"--json", "no/such/folder.json"}), {"no/such/folder.json"});
  expect_one_line_error(run_trace(two_iterations(16), {"--best-of", "all"}), {"--best-of", "--bounds"});
  folder.write("bad.jsonl", "{\"t\":\"header\"}\n{\"t\":\"kernel\",\"accesses\":[[9,[[0,1,\"r\"]]]]}\n");
  expect_one_line_error(run({"bounds", "bad.jsonl", "--system", "h200-sxm-pcie5"}), {"bad.jsonl"});
}

}  // namespace
}  // namespace uvmsim
