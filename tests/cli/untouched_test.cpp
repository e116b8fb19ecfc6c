// SPDX-License-Identifier: Apache-2.0
// Tests of a trace whose kernels touch nothing, as in recordings without accesses: no command prints a slowdown of
// 1.000 for it. Each command refuses the trace, or marks the missing number.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kMark = "touches managed memory";

class Untouched : public CommandTest {
 protected:
  void SetUp() override {
    const std::string kernel =
        R"({"t":"kernel","name":"k","grid":[64],"block":[256],"duration_ns":100000,"coverage":"none","accesses":[]})";
    folder.write("trace.jsonl", trace_of({alloc(1, 8 << 20), iteration("begin", 0), kernel, iteration("end", 0),
                                          iteration("begin", 1), kernel, iteration("end", 1)}));
  }
  // Runs a command on the trace, on a system with half of the memory.
  CommandResult half(const std::string& command, std::vector<std::string> options = {}) {
    std::vector<std::string> arguments{command, "trace.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run(arguments);
  }
  Json object(const std::string& name) { return Json::parse(folder.read(name)); }
};

// Splits a line of CSV without quotes.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (const char c : line) {
    quoted = quoted != (c == '"');
    if (c == ',' && !quoted) {
      all.emplace_back();
    } else {
      all.back() += c;
    }
  }
  return all;
}

TEST_F(Untouched, RunsMarkTheirSlowdowns) {
  const CommandResult one = half("run", {"--json", "r.json", "--csv", "r.csv"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr(kMark));
  EXPECT_THAT(one.out, Not(HasSubstr("1.000")));
  EXPECT_EQ(object("r.json")["slowdown_thousandths"], 0);
  EXPECT_EQ(object("r.json")["slowdown_ideal_thousandths"], 0);
  const CommandResult several =
      run({"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--osf", "1,2", "--uncertainty"});
  EXPECT_EQ(several.exit_code, 0) << several.err;
  EXPECT_THAT(several.out, HasSubstr(kMark));
  EXPECT_THAT(several.out, Not(HasSubstr("1.000")));
}

TEST_F(Untouched, CommandsThatAnswerAboutMemoryAloneRefuseIt) {
  expect_one_line_error(half("why"), {"trace.jsonl", kMark, "coverage none"});
  expect_one_line_error(run({"fit", "trace.jsonl", "--gpus", "h200-sxm-pcie5"}), {"trace.jsonl", kMark});
}

TEST_F(Untouched, SweepsAndScenariosHaveNoSlowdown) {
  folder.write("s.json", R"({"traces": "trace.jsonl", "systems": "h200-sxm-pcie5", "osf": [1, 2]})");
  const CommandResult sweep = run({"sweep", "s.json", "-o", "out"});
  EXPECT_EQ(sweep.exit_code, 0) << sweep.err;
  std::istringstream csv(folder.read("out/results.csv"));
  std::string line;
  std::getline(csv, line);
  const std::vector<std::string> header = cells(line);
  const auto column = std::find(header.begin(), header.end(), "slowdown_thousandths") - header.begin();
  ASSERT_LT(static_cast<std::size_t>(column), header.size());
  while (std::getline(csv, line)) EXPECT_EQ(cells(line).at(static_cast<std::size_t>(column)), "") << line;
  const CommandResult report = run({"report", "out", "-o", "page.html"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(folder.read("page.html"), Not(HasSubstr("1.000 times as long")));

  folder.write("scenario.json",
               R"({"system": "h200-sxm-pcie5", "programs": [{"name": "a", "trace": "trace.jsonl", "gpus": [0]}]})");
  const CommandResult scenario = run({"scenario", "scenario.json", "--json", "scenario.out.json"});
  if (scenario.exit_code == 0) {
    EXPECT_THAT(scenario.out, Not(HasSubstr("1.000")));
  }
}

}  // namespace
}  // namespace uvmsim
