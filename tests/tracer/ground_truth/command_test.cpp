// SPDX-License-Identifier: Apache-2.0
// uvm_experiments on a machine without a GPU: its command line, and that a failed run leaves no files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/report/scratch_folder.h"

namespace uvmtrace::ground_truth {
namespace {

class ExperimentsCommand : public ::testing::Test {
 protected:
  int run(const std::string& arguments) {
    const std::string line =
        std::string("cd '") + folder.path() + "' && " + UVM_EXPERIMENTS + " " + arguments + " >out 2>err </dev/null";
    const int status = std::system(line.c_str());
    out = folder.read("out");
    err = folder.read("err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder.path(name)); }

  const uvmsim::ScratchFolder folder;
  std::string out, err;
};

TEST_F(ExperimentsCommand, ListsWithoutAGpu) {
  ASSERT_EQ(run("--list"), 0) << err;
  EXPECT_THAT(out, ::testing::HasSubstr("seq_s16_r_host"));
  ASSERT_EQ(run("--list --only vadd"), 0);
  EXPECT_THAT(out, ::testing::StartsWith("vadd_24m_g132"));
}

TEST_F(ExperimentsCommand, RefusesWrongCommandLinesInOneLine) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "nothing to do"},
      {"--share 51 --output x", "allowed: 1 to 50"},
      {"--share 0 --output x", "allowed: 1 to 50"},
      {"--share 10% --output x", "allowed: 1 to 50"},
      {"--repeats 0 --output x", "allowed: 1 to 1000"},
      {"--seed -1 --output x", "allowed: 0 to"},
      {"--seed 99999999999999999999999 --output x", "allowed: 0 to"},
      {"--device 256 --output x", "allowed: 0 to 255"},
      {"--output", "--output needs a value"},
      {"--output a --costs b", "exclude each other"},
      {"--output a --observer b", "exclude each other"},
      {"--calls a --costs b", "exclude each other"},
      {"--raw-faults a --calls b", "exclude each other"},
      {"--raw-faults", "--raw-faults needs a value"},
      {"--observer a --times 0", "--observer needs --times"},
      {"--times 1001 --output a", "allowed: 0 to 1000"},
      {"--list --only nosuch", "matches no experiment"},
      {"--oversubscribe --output x", "hangs some drivers"},
      {"--oversubscribe --i-know-this-can-hang-the-gpu", "nothing to do"},
      {"--oversubscribe --i-know-this-can-hang-the-gpu --list", "excludes --list"},
      {"--oversubscribe --i-know-this-can-hang-the-gpu --output x --repeats 2", "excludes --list"},
      {"--bytes 5", "unknown argument '--bytes'"},
  };
  for (const auto& [arguments, words] : wrong) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    EXPECT_THAT(err, ::testing::StartsWith("uvm_experiments: error: ")) << arguments;
    EXPECT_THAT(err, ::testing::HasSubstr(words));
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  }
}

TEST_F(ExperimentsCommand, FailsCleanlyWithoutADriver) {
  if (std::filesystem::exists("/dev/nvidia0")) GTEST_SKIP() << "there is a GPU";
  for (const char* arguments : {"--output x.jsonl", "--costs x.jsonl", "--raw-faults x.jsonl",
                                "--oversubscribe --i-know-this-can-hang-the-gpu --output x.jsonl"}) {
    EXPECT_EQ(run(arguments), 1);
    EXPECT_THAT(err, ::testing::StartsWith("uvm_experiments: error: "));
    EXPECT_FALSE(exists("x.jsonl"));
    EXPECT_FALSE(exists("x.jsonl.part"));
  }
}

}  // namespace
}  // namespace uvmtrace::ground_truth
