// SPDX-License-Identifier: Apache-2.0
// `uvmsim fit`: each of its figures is one that `uvmsim run` prints.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// A GPU with 32 MiB for managed data.
const std::vector<std::string> kSmall = {"--set", "gpus.0.memory_bytes=32MiB", "--set", "gpus.0.reserved_bytes=0"};

class Fit : public CommandTest {
 protected:
  void SetUp() override { folder.write("trace.jsonl", two_iterations(40)); }

  CommandResult fit(std::vector<std::string> options) {
    std::vector<std::string> arguments{"fit", "trace.jsonl"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run(arguments);
  }
  Json answer(std::vector<std::string> options, const std::string& systems = "h200-sxm-pcie5") {
    options.insert(options.end(), {"--gpus", systems, "--json", "-"});
    const CommandResult result = fit(options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  }
  // Returns the result of `uvmsim run` for the same program.
  Json ran(std::vector<std::string> options) {
    std::vector<std::string> arguments{"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--json", "-"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  }
  static std::vector<std::string> on_small(std::vector<std::string> options) {
    options.insert(options.begin(), kSmall.begin(), kSmall.end());
    return options;
  }
};

TEST_F(Fit, AProgramThatFitsTakesItsTime) {
  const Json json = answer({}, "h200-sxm-pcie5,a100-pcie-80g");
  EXPECT_EQ(json["schema"], "uvmsim.fit/1");
  ASSERT_EQ(json["machines"].size(), 2u);
  const Json& h200 = json["machines"][0];
  EXPECT_EQ(h200["system"], "h200-sxm-pcie5");
  EXPECT_EQ(json["machines"][1]["system"], "a100-pcie-80g");
  EXPECT_EQ(h200["fits"], true);
  EXPECT_EQ(h200["footprint_bytes"], 40 << 20);
  EXPECT_EQ(h200["slowdown_thousandths"], 1000);
  EXPECT_EQ(h200["changes"].size(), 0u);
  const Json one = ran({});
  EXPECT_EQ(h200["time_ns"], one["settled"]["duration_ns"]);
  EXPECT_EQ(h200["memory_bytes"], one["capacity_bytes"]);
}

TEST_F(Fit, TheLargestFactorIsWithinTheBudgetAndTheNextStepIsNot) {
  for (const char* budget : {"2x", "30"}) {
    SCOPED_TRACE(budget);
    const Json machine = answer({"--budget", budget})["machines"][0];
    const std::uint64_t factor = machine["affordable_osf_thousandths"], most = budget[0] == '2' ? 2000 : 30000;
    ASSERT_LT(factor, 4000u);
    EXPECT_EQ(machine["needed_bytes"].get<std::uint64_t>() % (2 << 20), 0u);
    EXPECT_GE(machine["needed_bytes"].get<std::uint64_t>() * factor, (40ull << 20) * 1000);
    const auto slowdown_at = [&](std::uint64_t thousandths) {
      return ran({"--osf", fmt::format("{}.{:03}", thousandths / 1000, thousandths % 1000)})["slowdown_thousandths"]
          .get<std::uint64_t>();
    };
    EXPECT_LE(slowdown_at(factor), most);
    EXPECT_GT(slowdown_at(factor + 50), most);
  }
}

TEST_F(Fit, WhatDoesNotFitIsRunAsItIsAndWithOneThingChanged) {
  const Json machine = answer(kSmall)["machines"][0];
  EXPECT_EQ(machine["fits"], false);
  EXPECT_EQ(machine["memory_bytes"], 32 << 20);
  EXPECT_EQ(machine["osf_thousandths"], 1250);
  EXPECT_EQ(machine["baseline_hypothetical"], true);
  const Json one = ran(on_small({"--uncertainty"}));
  EXPECT_EQ(machine["slowdown_thousandths"], one["slowdown_thousandths"]);
  EXPECT_EQ(machine["low_ns"], one["uncertainty"]["low_ns"]);
  EXPECT_EQ(machine["high_slowdown_thousandths"], one["uncertainty"]["high_slowdown_thousandths"]);
  ASSERT_EQ(machine["changes"].size(), 2u);
  const Json &link = machine["changes"][0], &memory = machine["changes"][1];
  EXPECT_EQ(link["time_ns"], ran(on_small({"--set", "host_links.*bytes_per_us=x2", "--set",
                                           "runtime.remote_both_ways_bytes_per_us=x2"}))["settled"]["duration_ns"]);
  EXPECT_LT(link["time_ns"], machine["time_ns"]);
  EXPECT_EQ(memory["slowdown_thousandths"], 1000) << "64 MiB hold it";
}

TEST_F(Fit, TheTableSaysWhatItRestsOn) {
  const CommandResult result = fit(on_small({"--gpus", "h200-sxm-pcie5", "--gpus", "a100-pcie-80g"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("trace.jsonl: needs 40.00 MiB at its peak, layout recorded. Budget: 2 times"));
  EXPECT_THAT(result.out, HasSubstr("largest factor"));
  EXPECT_THAT(result.out, HasSubstr("driver costs measured here"));
  EXPECT_THAT(result.out, HasSubstr("driver costs carried over from"));
}

TEST_F(Fit, WrongCommandLines) {
  expect_one_line_error(run({"fit"}), {"no trace given"});
  expect_one_line_error(fit({}), {"--gpus is missing"});
  expect_one_line_error(fit({"--gpus", "h200-sxm-pcie5,"}), {"--gpus"});
  expect_one_line_error(fit({"--gpus", "h200-sxm"}), {"h200-sxm"});
  expect_one_line_error(fit({"--gpus", "h200-sxm-pcie5,nothing"}), {"nothing"});
  for (const char* budget : {"0.5x", "x", "fast", "1001x", "-2"}) {
    expect_one_line_error(fit({"--gpus", "h200-sxm-pcie5", "--budget", budget}), {"--budget", "allowed: 1x to 1000x"});
  }
  expect_one_line_error(run({"fit", "-", "--gpus", "h200-sxm-pcie5"}), {"standard input"});
  expect_one_line_error(fit({"--gpus", "h200-sxm-pcie5", "--osf", "2"}), {"--osf"});
  expect_one_line_error(fit({"--gpus", "h200-sxm-pcie5", "--json", "no/such.json"}), {"cannot write"});
}

}  // namespace
}  // namespace uvmsim
