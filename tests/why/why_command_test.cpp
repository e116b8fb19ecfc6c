// SPDX-License-Identifier: Apache-2.0
// `uvmsim why`: programs whose cause of waiting is known.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class Why : public CommandTest {
 protected:
  CommandResult why(const std::string& trace, std::vector<std::string> options) {
    folder.write("trace.jsonl", trace);
    options.insert(options.begin(), {"why", "trace.jsonl", "--system", "h200-sxm-pcie5"});
    return run(options);
  }
  Json answer(const std::string& trace, std::vector<std::string> options) {
    options.insert(options.end(), {"--json", "-"});
    const CommandResult result = why(trace, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  }
  static std::int64_t sum(const Json& rows, const char* key) {
    std::int64_t all = 0;
    for (const Json& row : rows) all += row[key].get<std::int64_t>();
    return all;
  }
};

// Half of an iteration's memory fits: fetched memory was evicted before.
TEST_F(Why, MemoryThatComesBack) {
  const Json json = answer(two_iterations(32), {"--osf", "2"});
  EXPECT_EQ(json["schema"], "uvmsim.why/1");
  EXPECT_GT(json["slowdown_thousandths"], 1000);
  const Json& all = json["all"];
  EXPECT_GT(all["stall_ns"], 0);
  EXPECT_GT(all["came_back_ns"].get<std::int64_t>() * 10, all["stall_ns"].get<std::int64_t>() * 9);
  EXPECT_EQ(all["back_bytes"], all["in_bytes"]);
  EXPECT_THAT(json["advice"][0], HasSubstr("evicted before it is used again"));
  ASSERT_EQ(json["alternatives"].size(), 2u);
  EXPECT_LE(json["alternatives"][0]["time_ns"], json["time_ns"]) << "MIN keeps half of a cyclic scan";
}

// Each iteration allocates new memory and frees it.
TEST_F(Why, NewMemory) {
  std::vector<std::string> lines;
  for (unsigned i = 0; i < 3; ++i) {
    lines.insert(lines.end(), {iteration("begin", i), alloc(i + 1, 16 << 20), kernel(i + 1, 0, 4096), release(i + 1),
                               iteration("end", i)});
  }
  const Json json = answer(trace_of(lines), {});
  EXPECT_EQ(json["slowdown_thousandths"], 1000);
  EXPECT_EQ(json["all"]["came_back_ns"], 0);
  EXPECT_EQ(json["all"]["in_bytes"], 0);
  EXPECT_EQ(json["all"]["populated_bytes"], 16 << 20);
  EXPECT_GT(json["all"]["first_touch_ns"], 0);
  EXPECT_EQ(json["alternatives"].size(), 0u) << "there is no slower run to compare with";
}

// Kernels and memory are two views of the same waits, and the iteration's counters contain the fetched bytes.
TEST_F(Why, SumsAgree) {
  const std::string trace = two_iterations(32);
  const Json json = answer(trace, {"--osf", "1.5"});
  EXPECT_EQ(sum(json["kernels"], "stall_ns"), json["all"]["stall_ns"]);
  EXPECT_NEAR(static_cast<double>(sum(json["memory"], "stall_ns")), json["all"]["stall_ns"].get<double>(),
              json["all"]["stall_ns"].get<double>() * 0.01);
  for (const char* part : {"kernels", "memory"}) {
    for (const Json& row : json[part]) {
      const auto causes = row["came_back_ns"].get<std::int64_t>() + row["first_load_ns"].get<std::int64_t>() +
                          row["first_touch_ns"].get<std::int64_t>() + row["other_ns"].get<std::int64_t>();
      EXPECT_NEAR(static_cast<double>(causes), row["stall_ns"].get<double>(), 4.0) << "but for rounding of means";
    }
  }
  const CommandResult ran = run({"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--osf", "1.5", "--json", "-"});
  const Json result = Json::parse(ran.out);
  EXPECT_EQ(json["time_ns"], result["settled"]["duration_ns"]);
  const Json& counters = result["settled"]["counters"];
  EXPECT_NEAR(json["all"]["in_bytes"].get<double>(),
              counters["htod_fault_bytes"].get<double>() + counters["htod_prefetch_bytes"].get<double>(), 2)
      << "but for rounding of means";
}

TEST_F(Why, OneScreenInWords) {
  const CommandResult result = why(two_iterations(32), {"--osf", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* words : {"trace.jsonl on h200-sxm-pcie5, 16.00 MiB of memory for 32.00 MiB: an iteration takes",
                            "came back after an eviction", "kernels", "memory", "What policies could save:",
                            "evict min_kernel, which knows the future", "No policy takes less than"}) {
    EXPECT_THAT(result.out, HasSubstr(words));
  }
  EXPECT_LT(std::count(result.out.begin(), result.out.end(), '\n'), 45);
}

// A column is cut between characters, not within one.
TEST_F(Why, LongNamesAreCutAtACharacter) {
  std::string trace = two_iterations(32), name;
  for (int i = 0; i < 30; ++i) name += "\u00e9";
  for (std::size_t at = 0; (at = trace.find("\"name\":\"k\"", at)) != std::string::npos;) {
    trace.replace(at, 10, "\"name\":\"" + name + "\"");
    at += name.size();
  }
  const CommandResult result = why(trace, {"--osf", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(name.substr(0, 40) + "... "));
}

TEST_F(Why, WrongCommandLines) {
  folder.write("trace.jsonl", two_iterations(16));
  expect_one_line_error(run({"why"}), {"no trace given"});
  expect_one_line_error(run({"why", "trace.jsonl"}), {"--system is missing"});
  expect_one_line_error(run({"why", "trace.jsonl", "--system", "h200-sxm-pcie5", "--osf", "1,2"}), {"give one --osf"});
  expect_one_line_error(run({"why", "trace.jsonl", "--system", "h200-sxm-pcie5", "--seeds", "2"}), {"--seed"});
  expect_one_line_error(run({"why", "gone.jsonl", "--system", "h200-sxm-pcie5"}), {"gone.jsonl"});
}

}  // namespace
}  // namespace uvmsim
