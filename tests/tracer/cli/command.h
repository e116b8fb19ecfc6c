// SPDX-License-Identifier: Apache-2.0
// Runs the built `uvmtrace` as a user would, in a folder of the test's own, with a program that takes the place of the
// injection libraries: it copies prepared logs to the folder of logs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/report/scratch_folder.h"
#include "tests/tracer/merge/log_builder.h"

namespace uvmtrace {

struct CommandResult {
  int exit_code = -1;
  std::string out, err;
};

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() {
    folder.write("libuvmtrace_timing.so", "");
    folder.write("libuvmtrace_access.so", "");
    folder.write("libuvmtrace_memory.so", "");
    std::filesystem::create_directories(folder.path("torch/site"));
    // `$PASS` is the pass that the script plays; a test may append further lines.
    prelude =
        "case \"$CUDA_INJECTION64_PATH\" in *timing.so) PASS=timing;; *access.so) PASS=access;; "
        "*memory.so) PASS=memory;; *) exit 99;; esac\n"
        "[ -f $PASS.log ] && cp $PASS.log \"$UVMTRACE_LOG_DIR/$PASS.$$.jsonl\"\n"
        "echo \"$PASS\" >>passes.txt\n";
    for (LogBuilder* log : {&timing, &access}) {
      const std::uint64_t base = log == &timing ? 0x7f0000000000 : 0x7e0000000000;
      log->alloc(base, 1 << 20);
      LogBuilder::LaunchSpec launch;
      launch.params = {base};
      launch.accesses = {{base, 4096, trace::AccessMode::kWrite}};
      log->launch(launch);
      log->sync();
    }
    memory.taken(3 << 20, "cuLaunchKernel");
    folder.write("memory.log", memory.text());
    folder.write("timing.log", timing.text());
    folder.write("access.log", access.text());
  }

  void program(const std::string& lines) { folder.write("program.sh", prelude + lines); }

  // Runs a shell command line in the folder; `uvmtrace` in it is the built command.
  CommandResult shell(const std::string& line) {
    folder.write(".script", "uvmtrace() { \"" UVMTRACE_COMMAND "\" \"$@\"; }\n" + line + "\n");
    const std::string all = "cd '" + folder.path() + "' && UVMTRACE_LIBRARY_DIR='" + folder.path() +
                            "' bash .script >.stdout 2>.stderr </dev/null";
    const int status = std::system(all.c_str());
    CommandResult result;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = folder.read(".stdout");
    result.err = folder.read(".stderr");
    for (const char* name : {".script", ".stdout", ".stderr"}) std::filesystem::remove(folder.path(name));
    return result;
  }
  CommandResult record(const std::string& options = "", const std::string& arguments = "") {
    return shell("uvmtrace record -o out.uvmt " + options + " -- bash program.sh " + arguments);
  }

  const uvmsim::ScratchFolder folder;
  LogBuilder timing{Pass::kTiming}, access{Pass::kAccess}, memory{Pass::kMemory};
  std::string prelude;
};

// Expects the form of every error: exit code 2, and one line on standard error that holds all the words.
inline void expect_one_line_error(const CommandResult& result, const std::vector<std::string>& words) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, ::testing::StartsWith("uvmtrace: error: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  for (const std::string& word : words) EXPECT_THAT(result.err, ::testing::HasSubstr(word));
}

}  // namespace uvmtrace
