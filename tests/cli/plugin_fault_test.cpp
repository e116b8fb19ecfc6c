// SPDX-License-Identifier: Apache-2.0
// Tests of faults of plug-ins: each is one line that names policy, plug-in, function and block, and no success.
#include <chrono>

#include "tests/cli/sweep_command_test.h"

namespace uvmsim {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

constexpr const char* kWhere = "prefetch policy 'crash' (" UVMSIM_CRASH_PLUGIN "): prefetch() for block ";

class PluginFault : public SweepCommandTest {
 protected:
  static std::vector<std::string> arguments(const std::string& fault) {
    return {"run",      "a.jsonl",           "--system",   "h200-sxm-pcie5",       "--osf",  "2",
            "--plugin", UVMSIM_CRASH_PLUGIN, "--prefetch", "crash:fault=" + fault, "--json", "out.jsonl"};
  }
  void expect_line(const std::string& fault, const std::string& what) {
    const CommandResult result = run(arguments(fault));
    EXPECT_EQ(result.exit_code, 3) << fault;
    EXPECT_THAT(result.err, AllOf(HasSubstr(kWhere), EndsWith(what + "\n"))) << fault;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(exists("out.jsonl"));
  }
};

TEST_F(PluginFault, ExceptionsOfAnyTypeNameWhereTheyCameFrom) {
  expect_line("exception", " threw: no such thing");
  expect_line("number", " threw something that is no std::exception");
}

TEST_F(PluginFault, CrashesNameWhereTheyHappened) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer ends the program in its own way";
#endif
  expect_line("null", " crashed: signal 11 (Segmentation fault)");
  expect_line("stack", " crashed: signal 11 (Segmentation fault)");
  expect_line("abort", " crashed: signal 6 (Aborted)");
}

// The damage shows when the memory is freed, not in the call that did it: as a bad access, or as abort().
TEST_F(PluginFault, AHeapThatAPluginBrokeNamesThePlugin) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer ends the program in its own way";
#endif
  for (const std::string fault : {"heap", "late_abort"}) {
    const CommandResult result = run(arguments(fault));
    EXPECT_EQ(result.exit_code, 3) << fault;
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("uvmsim: this is a bug in a policy plug-in: "), HasSubstr(" crashed: signal "),
                      HasSubstr("prefetch policy 'crash' (" UVMSIM_CRASH_PLUGIN ")")))
        << fault;
  }
}

TEST_F(PluginFault, AnExitIsNoSuccess) { expect_line("exit", " ended the program"); }

TEST_F(PluginFault, AFileThatIsCutOffIsRefused) {
  const std::string whole = [] {
    std::ifstream file(UVMSIM_CRASH_PLUGIN, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{5000}, whole.size() / 2, whole.size() - 1}) {
    folder.write("cut.so", whole.substr(0, bytes));
    const CommandResult result = run({"policies", "--plugin", "./cut.so"});
    EXPECT_EQ(result.exit_code, 2) << bytes;
    EXPECT_THAT(result.err, StartsWith("uvmsim: error: plug-in ./cut.so: ")) << bytes;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST_F(PluginFault, CtrlCEndsARunInsideAPolicyThatNeverReturns) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t process = start_command(arguments("loop"));
    ::usleep(500'000);
    const auto asked = Clock::now();
    ::kill(process, signal);
    EXPECT_EQ(exit_code_of(process), 130);
    EXPECT_LT(Clock::now() - asked, std::chrono::milliseconds(1800));
    EXPECT_THAT(folder.read("background"), HasSubstr("interrupted in prefetch policy 'crash' (" UVMSIM_CRASH_PLUGIN
                                                     "): prefetch(), no output is half written"));
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      EXPECT_EQ(entry.path().filename().string().find(".tmp-"), std::string::npos) << entry.path();
    }
  }
}

TEST_F(PluginFault, ASecondSignalEndsItAtOnce) {
  const pid_t process = start_command(arguments("loop"));
  ::usleep(500'000);
  ::kill(process, SIGINT);
  ::usleep(100'000);
  const auto asked = Clock::now();
  ::kill(process, SIGINT);
  EXPECT_EQ(exit_code_of(process), 130);
  EXPECT_LT(Clock::now() - asked, std::chrono::milliseconds(500));
}

TEST_F(PluginFault, APointThatTakesTooLongFailsAlone) {
  spec("s", R"("osf": 2, "plugins": ")" UVMSIM_CRASH_PLUGIN
            R"(", "prefetch": ["none", {"name": "crash", "parameters": {"fault": ["none", "sleep"]}}])");
  const auto result = sweep({"s.json", "-o", "out", "--jobs", "2", "--seconds-per-point", "3"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("stopped after 3 s, the limit of a point"));
  EXPECT_EQ(finished("out").size(), 6u) << "two traces: none, crash, and what slowdowns divide by";
}

}  // namespace
}  // namespace uvmsim
