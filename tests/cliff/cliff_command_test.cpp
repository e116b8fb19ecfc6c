// SPDX-License-Identifier: Apache-2.0
// `uvmsim cliff`: programs whose cliff follows from the sizes of the memory that they reuse.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr std::uint64_t kMib = 1 << 20;

class Cliff : public CommandTest {
 protected:
  CommandResult cliff(const std::string& trace, std::vector<std::string> options) {
    folder.write("trace.jsonl", trace);
    options.insert(options.begin(), {"cliff", "trace.jsonl", "--system", "h200-sxm-pcie5"});
    return run(options);
  }
  Json answer(const std::string& trace, std::vector<std::string> options = {}) {
    options.insert(options.end(), {"--json", "-"});
    const CommandResult result = cliff(trace, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  }

  static std::string reads(const std::string& name, std::uint64_t object, std::uint64_t first, std::uint64_t pages) {
    return fmt::format(R"({{"t":"kernel","name":"{}","grid":[64],"block":[256],"duration_ns":100000,)"
                       R"("accesses":[[{},[[{},{},"r"]]]]}})",
                       name, object, first, pages);
  }
  // Returns three iterations: a kernel per block, first over all of object 1 once, then over all of object 2 ten times.
  static std::string inner_loop(std::uint64_t once_mib, std::uint64_t again_mib) {
    std::vector<std::string> lines = {alloc(1, once_mib * kMib), alloc(2, again_mib * kMib)};
    for (unsigned i = 0; i < 3; ++i) {
      lines.push_back(iteration("begin", i));
      const auto scan = [&](const char* name, std::uint64_t object, std::uint64_t blocks) {
        for (std::uint64_t block = 0; block < blocks; ++block) lines.push_back(reads(name, object, block * 512, 512));
      };
      scan("once", 1, once_mib / 2);
      for (int pass = 0; pass < 10; ++pass) scan("again", 2, again_mib / 2);
      lines.push_back(iteration("end", i));
    }
    return trace_of(lines);
  }
  // Three iterations, each of which reads the blocks of one object in turn, a kernel each.
  static std::string cyclic_scan(std::uint64_t blocks) {
    std::vector<std::string> lines = {alloc(1, blocks * 2 * kMib)};
    for (unsigned i = 0; i < 3; ++i) {
      lines.push_back(iteration("begin", i));
      for (std::uint64_t block = 0; block < blocks; ++block) lines.push_back(reads("scan", 1, block * 512, 512));
      lines.push_back(iteration("end", i));
    }
    return trace_of(lines);
  }
};

// The inner loop reuses 40 of 100 MiB: while they fit, nine of ten passes move nothing.
TEST_F(Cliff, LiesWhereAnInnerLoopNoLongerFits) {
  const Json json = answer(inner_loop(60, 40));
  EXPECT_EQ(json["schema"], "uvmsim.cliff/1");
  EXPECT_EQ(json["footprint_bytes"], 100 * kMib);
  EXPECT_EQ(json["is_cliff"], true);
  EXPECT_EQ(json["before"]["capacity_bytes"], 40 * kMib);
  EXPECT_EQ(json["after"]["capacity_bytes"], 38 * kMib);
  EXPECT_EQ(json["before"]["osf_thousandths"], 2500);
  ASSERT_EQ(json["kernels"].size(), 1u) << "only the loop waits more";
  EXPECT_EQ(json["kernels"][0]["name"], "again");
  EXPECT_EQ(json["kernels"][0]["main_cause"], "came_back");
  EXPECT_EQ(json["memory"][0]["name"], "object 2");
  const auto grown =
      json["all"]["after_back_bytes"].get<std::uint64_t>() - json["all"]["before_back_bytes"].get<std::uint64_t>();
  EXPECT_GE(grown, 9 * 38 * kMib) << "nine passes bring back what they need";
}

// The least recently used block is the one that a cyclic scan needs next. MIN keeps everything except the excess.
TEST_F(Cliff, OfACyclicScanFollowsFromThePolicy) {
  const std::string trace = cyclic_scan(24);
  const Json lru = answer(trace, {"--evict", "lru"});
  EXPECT_EQ(lru["is_cliff"], true);
  EXPECT_EQ(lru["before"]["capacity_bytes"], 48 * kMib);
  EXPECT_EQ(lru["after"]["capacity_bytes"], 46 * kMib);
  const Json min = answer(trace, {"--evict", "min_kernel"});
  EXPECT_EQ(min["is_cliff"], false);
  EXPECT_LT(min["steepness_thousandths"], lru["steepness_thousandths"]);
}

// Each time is the one that `uvmsim run` prints.
TEST_F(Cliff, PlacesAreRuns) {
  const Json json = answer(inner_loop(60, 40), {"--to", "2"});
  const Json& places = json["places"];
  ASSERT_GE(places.size(), 10u);
  EXPECT_TRUE(std::ranges::is_sorted(places, std::ranges::greater{},
                                     [](const Json& place) { return place["capacity_bytes"].get<std::uint64_t>(); }));
  EXPECT_EQ(places.front()["slowdown_thousandths"], 1000);
  EXPECT_EQ(places.back()["capacity_bytes"], 50 * kMib);
  for (const std::size_t i : {std::size_t{0}, places.size() / 2, places.size() - 1}) {
    const std::string bytes = std::to_string(places[i]["capacity_bytes"].get<std::uint64_t>());
    const CommandResult ran =
        run({"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--capacity-bytes", bytes, "--json", "-"});
    const Json result = Json::parse(ran.out);
    EXPECT_EQ(places[i]["time_ns"], result["settled"]["duration_ns"]);
    EXPECT_EQ(places[i]["slowdown_thousandths"], result["slowdown_thousandths"]);
  }
}

TEST_F(Cliff, OneScreenInWords) {
  const CommandResult result = cliff(inner_loop(60, 40), {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* words :
       {"trace.jsonl on h200-sxm-pcie5, needs 100.00 MiB; factors 1 to 4.",
        "Cliff: from 40 to 38 MiB of memory (factor 2.500 to 2.632)", "<- steepest", "came back after an eviction",
        "again", "object 2", "A cliff is at least 4 times as steep"}) {
    EXPECT_THAT(result.out, HasSubstr(words));
  }
  EXPECT_LT(std::count(result.out.begin(), result.out.end(), '\n'), 45);
}

TEST_F(Cliff, WrongCommandLines) {
  folder.write("trace.jsonl", two_iterations(16));
  expect_one_line_error(run({"cliff"}), {"no trace given"});
  expect_one_line_error(run({"cliff", "trace.jsonl"}), {"--system is missing"});
  const std::vector<std::string> whole = {"cliff", "trace.jsonl", "--system", "h200-sxm-pcie5"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), whole.begin(), whole.end());
    return run(more);
  };
  expect_one_line_error(with({}), {"trace.jsonl", "8 chunks of 2 MiB", "at least 11 chunks"});
  expect_one_line_error(with({"--to", "1"}), {"--to", "more than 1"});
  expect_one_line_error(with({"--to", "fast"}), {"--to", "'fast'"});
  expect_one_line_error(with({"--evict", "nobody"}), {"nobody"});
}

}  // namespace
}  // namespace uvmsim
