// SPDX-License-Identifier: Apache-2.0
// Tests of outputs that cannot be written: the error comes before the simulation, and nothing half-written stays.
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::ElementsAre;

class BadOutput : public CommandTest {};

TEST_F(BadOutput, MissingFolder) {
  for (const char* option : {"--json", "--csv", "--timeline"}) {
    SCOPED_TRACE(option);
    expect_one_line_error(run_trace(two_iterations(4), {option, "no/such/out"}),
                          {"cannot write no/such/out", "No such file or directory"});
    EXPECT_THAT(folder.names(), ElementsAre("trace.jsonl"));
  }
}

TEST_F(BadOutput, IsAFolder) {
  for (const char* option : {"--json", "--csv", "--timeline"}) {
    expect_one_line_error(run_trace(two_iterations(4), {option, "."}), {"cannot write .", "folder"});
  }
}

TEST_F(BadOutput, OneUnwritableOutputLeavesNoneOfTheOthers) {
  expect_one_line_error(run_trace(two_iterations(4), {"--json", "a.json", "--csv", "no/b.csv", "--timeline", "c.json"}),
                        {"no/b.csv"});
  EXPECT_THAT(folder.names(), ElementsAre("trace.jsonl"));
}

TEST_F(BadOutput, IsKnownBeforeTheTraceIsRead) {
  // The trace is wrong as well, but the output is checked first.
  expect_one_line_error(run_trace(trace_of({kernel(7, 0, 1)}), {"--json", "no/such/out"}), {"no/such/out"});
}

TEST_F(BadOutput, AnOldResultSurvivesAFailedRun) {
  folder.write("r.json", "old");
  expect_one_line_error(run_trace(trace_of({kernel(7, 0, 1)}), {"--json", "r.json"}), {"object 7"});
  EXPECT_EQ(folder.read("r.json"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("r.json", "trace.jsonl"));
}

TEST_F(BadOutput, FullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto result = run_trace(two_iterations(4), {"--json", "/dev/full"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "uvmsim: error: cannot write /dev/full: No space left on device\n");
}

TEST_F(BadOutput, FullStandardOutput) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  folder.write("trace.jsonl", two_iterations(4));
  const std::string line =
      "cd '" + folder.path() + "' && '" UVMSIM_COMMAND "' run trace.jsonl --system h200-sxm-pcie5 >/dev/full 2>err";
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2);
  EXPECT_EQ(folder.read("err"), "uvmsim: error: cannot write standard output: No space left on device\n");
}

}  // namespace
}  // namespace uvmsim
