// SPDX-License-Identifier: Apache-2.0
// `uvmtrace faults` from end to end, with the unmodified library and a program that takes the place of the driver.
#include "tests/tracer/cli/command.h"

namespace uvmtrace {
namespace {

using ::testing::HasSubstr;

class FaultsCommand : public CommandTest {
 protected:
  CommandResult run(const std::string& mode) {
    return shell("UVMTRACE_LIBRARY_DIR='" UVMTRACE_FAULTS_FOLDER
                 "' uvmtrace faults -o out.zst -- '" UVMTRACE_FAKE_DRIVER "' " +
                 mode);
  }
  bool exists(const std::string& name) { return std::filesystem::exists(folder.path(name)); }
};

TEST_F(FaultsCommand, RecordsAProgramAndShowsTheLog) {
  const CommandResult result = run("faults 300");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "program runs\n");
  for (const char* words : {"300: 300 reads, 0 writes", "300 replays", "300 to the GPU by fault: 1228800 bytes",
                            "dropped      nothing", "out.zst: 1 process\n"}) {
    EXPECT_THAT(result.err, HasSubstr(words));
  }
  const CommandResult shown = shell("uvmtrace faults --show out.zst");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("300: 300 reads"));
  EXPECT_THAT(shell("uvmtrace faults --json --show out.zst").out, HasSubstr("\"raw_faults\":300,"));
  for (const std::string& name : folder.names()) EXPECT_THAT(name, ::testing::Not(HasSubstr(".logs-")));
}

TEST_F(FaultsCommand, MoreEventsThanTheThreadKeeps) {
  const CommandResult result = run("faults 200000");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("200000: 200000 reads"));
}

TEST_F(FaultsCommand, SaysWhatWasDropped) {
  const CommandResult result = run("drop 10");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("dropped      17 events: the queue was full, so counts are too low\n"));
  EXPECT_THAT(shell("uvmtrace faults --show out.zst").out, HasSubstr("dropped      17 events"));
}

TEST_F(FaultsCommand, TriesAgainUntilTheProcessHasUsedTheGpu) {
  const CommandResult result = run("refuse");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1: 1 reads"));
}

TEST_F(FaultsCommand, AKilledProgramKeepsItsEvents) {
  const CommandResult result = run("killed");
  EXPECT_EQ(result.exit_code, 137);
  EXPECT_THAT(result.err, HasSubstr("100: 100 reads"));
  EXPECT_THAT(result.err, HasSubstr("end          missing"));
}

TEST_F(FaultsCommand, AProgramMayBeginSections) {
  ASSERT_EQ(run("sections").exit_code, 0);
  const std::string json = shell("uvmtrace faults --json --show out.zst").out;
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 3) << json;
  for (const char* words : {"\"complete\":true,\"raw_faults\":1,", "{\"name\":\"two\",", "\"raw_faults\":2,",
                            "{\"name\":\"three\",", "\"raw_faults\":3,"}) {
    EXPECT_THAT(json, HasSubstr(words));
  }
}

TEST_F(FaultsCommand, ExitCodesAndForks) {
  EXPECT_EQ(run("exit 7").exit_code, 7);
  const CommandResult forked = run("fork");
  EXPECT_EQ(forked.exit_code, 0) << forked.err;
  EXPECT_THAT(forked.err, HasSubstr("1: 1 reads"));
}

TEST_F(FaultsCommand, NoPermissionIsSaidAndLeavesNoFile) {
  const CommandResult result = run("no-permission");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("/dev/nvidia-uvm-tools: Permission denied"));
  EXPECT_THAT(result.err, HasSubstr("uvmtrace: error: no raw faults were recorded"));
  EXPECT_FALSE(exists("out.zst"));
}

TEST_F(FaultsCommand, AProgramWithoutGpu) {
  const CommandResult result =
      shell("UVMTRACE_LIBRARY_DIR='" UVMTRACE_FAULTS_FOLDER "' uvmtrace faults -o out.zst -- true");
  expect_one_line_error(result, {"no raw faults were recorded"});
  EXPECT_FALSE(exists("out.zst"));
}

TEST_F(FaultsCommand, RefusesWrongCommandLinesInOneLine) {
  folder.write("log.txt", "no log\n");
  const std::string library = "UVMTRACE_LIBRARY_DIR='" UVMTRACE_FAULTS_FOLDER "' ";
  expect_one_line_error(shell("uvmtrace faults -o x"), {"no program given"});
  expect_one_line_error(shell("uvmtrace faults ls"), {"put -- before the program"});
  expect_one_line_error(shell("uvmtrace faults --json -- ls"), {"--json belongs to --show"});
  expect_one_line_error(shell("uvmtrace faults --show log.txt -- ls"), {"--show prints an existing log"});
  expect_one_line_error(shell("uvmtrace faults --show log.txt -o y"), {"--show prints an existing log"});
  expect_one_line_error(shell("uvmtrace faults --show log.txt"), {"log.txt: is not a log of raw faults"});
  expect_one_line_error(shell("uvmtrace faults --show nothing.zst"), {"nothing.zst", "No such file"});
  expect_one_line_error(shell(library + "uvmtrace faults -o - -- ls"), {"standard output is the program's"});
  expect_one_line_error(shell(library + "uvmtrace faults -o no/x -- ls"), {"cannot write no/x", "No such file"});
  expect_one_line_error(shell(library + "uvmtrace faults -o . -- ls"), {"cannot write"});
  expect_one_line_error(shell(library + "uvmtrace faults -o x -- ./nosuch"), {"cannot start './nosuch'"});
  EXPECT_FALSE(exists("x"));
}

TEST_F(FaultsCommand, NamesTheFolderOfAMissingLibrary) {
  // The test's folder has no library, but the command would find the one of its build tree, so the test runs a copy of
  // the command elsewhere.
  std::filesystem::create_directories(folder.path("alone"));
  std::filesystem::copy_file(UVMTRACE_COMMAND, folder.path("alone/uvmtrace"));
  expect_one_line_error(shell("alone/uvmtrace faults -o x -- ls"),
                        {"libuvmtrace_faults.so was not found", folder.path()});
}

}  // namespace
}  // namespace uvmtrace
