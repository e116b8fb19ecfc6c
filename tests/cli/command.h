// SPDX-License-Identifier: Apache-2.0
// Runs the built `uvmsim` command as a user would, in a folder of the test's own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "tests/report/scratch_folder.h"

namespace uvmsim {

struct CommandResult {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out, err;
};

class CommandTest : public ::testing::Test {
 protected:
  // Passes arguments to the command unchanged; `input` becomes its standard input.
  CommandResult run(const std::vector<std::string>& arguments, const std::string& input = "") {
    folder.write(".stdin", input);
    std::string line = "cd " + quoted(folder.path()) + " && " + quoted(UVMSIM_COMMAND);
    for (const std::string& argument : arguments) line += " " + quoted(argument);
    line += " <.stdin >.stdout 2>.stderr";
    const int status = std::system(line.c_str());
    CommandResult result;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = folder.read(".stdout");
    result.err = without_progress(folder.read(".stderr"));
    for (const char* name : {".stdin", ".stdout", ".stderr"}) std::filesystem::remove(folder.path(name));
    return result;
  }

  // Runs `uvmsim run trace.jsonl --system h200-sxm-pcie5` with further options. Unless the options set the iterations,
  // it runs as many as were recorded, because few tests need settled runs.
  CommandResult run_trace(const std::string& trace, const std::vector<std::string>& options = {}) {
    folder.write("trace.jsonl", trace);
    std::vector<std::string> arguments{"run", "trace.jsonl", "--system", "h200-sxm-pcie5"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto says = [&](const char* option) { return std::ranges::find(options, option) != options.end(); };
    if (!says("--iterations") && !says("--until-settled")) {
      arguments.insert(arguments.end(), {"--iterations", "recorded"});
    }
    return run(arguments);
  }

  const ScratchFolder folder;

 private:
  // Removes lines of progress, "uvmsim: STEP: 50 %, about 2 s left". Commands that take seconds print them; on a slow
  // machine these are all commands.
  static std::string without_progress(const std::string& text) {
    static const std::regex line(
        "uvmsim: [^\n]*: ([0-9]+ %|[0-9,]+ records|at work for [0-9]+ s)(, (about|at most) [0-9]+ s left)?\n");
    return std::regex_replace(text, line, "");
  }
  static std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }
};

// Expects an error in the form that every user should see: exit code 2, nothing on standard output, and exactly one
// line on standard error, which begins with "uvmsim: error: " and contains all the words.
inline void expect_one_line_error(const CommandResult& result, const std::vector<std::string>& words) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, ::testing::StartsWith("uvmsim: error: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, ::testing::EndsWith("\n"));
  for (const std::string& word : words) EXPECT_THAT(result.err, ::testing::HasSubstr(word));
}

}  // namespace uvmsim
