#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/reader.h"
#include "sim/trace/statistics.h"
#include "tests/tracer/cli/command.h"

namespace uvmtrace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RecordTest : public CommandTest {
 protected:
  trace::TraceStatistics statistics() {
    trace::TraceReader reader(folder.path("out.uvmt"));
    return trace::summarize(reader);
  }
  bool has(const std::string& name) { return std::filesystem::exists(folder.path(name)); }
  std::string passes() { return folder.read("passes.txt"); }
  // Nothing hidden is left behind.
  void expect_clean() {
    for (const std::string& name : folder.names()) {
      EXPECT_THAT(name, Not(HasSubstr(".logs-")));
      EXPECT_THAT(name, Not(HasSubstr(".tmp")));
    }
  }
};

TEST_F(RecordTest, RunsTwiceAndShowsOneRun) {
  program("echo \"loss 0.5 $1\"; echo oh >&2");
  const CommandResult result = record("", "'two words'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "loss 0.5 two words\n");
  EXPECT_THAT(result.err, StartsWith("oh\nuvmtrace: timing pass done (exit code 0); access pass starts\nuvmtrace: "));
  EXPECT_THAT(result.err, HasSubstr("out.uvmt: 1 kernels (100.0 % instrumented), 1 objects"));
  EXPECT_EQ(result.err.find("oh"), result.err.rfind("oh"));
  EXPECT_EQ(passes(), "timing\naccess\n");
  EXPECT_EQ(statistics().kernels_by_coverage[0], 1u);
  expect_clean();
}

TEST_F(RecordTest, BothOutputs) {
  program("echo out");
  EXPECT_EQ(record("--both-outputs").out, "out\nout\n");
}

TEST_F(RecordTest, ExitCodeIsTheProgramsOwn) {
  program("exit 7");
  const CommandResult result = record();
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(passes(), "timing\naccess\n");
  EXPECT_EQ(statistics().totals.kernels, 1u);
}

TEST_F(RecordTest, ExitCodesThatDiffer) {
  program("[ $PASS = timing ] || { echo 'out of memory'; exit 5; }");
  const CommandResult result = record();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("exit code 0 in the timing pass, 5 in the access pass"));
  EXPECT_THAT(result.err, HasSubstr("uvmtrace: out of memory"));
  EXPECT_EQ(statistics().totals.kernels, 1u);
}

TEST_F(RecordTest, CrashLeavesATraceThatLoads) {
  const std::string whole = timing.text(false);
  folder.write("timing.log", whole.substr(0, whole.size() - 20));
  folder.write("access.log", access.text(false));
  program("kill -9 $$");
  const CommandResult result = record();
  EXPECT_EQ(result.exit_code, 137);
  EXPECT_EQ(passes(), "timing\naccess\n");
  EXPECT_EQ(statistics().totals.kernels, 1u);
  EXPECT_THAT(result.err, HasSubstr("has no end"));
}

TEST_F(RecordTest, Environment) {
  program("env | grep -E '^(CUDA|NVTX|UVMTRACE|SANITIZER|PYTHONPATH)' | sort >env.$PASS");
  const CommandResult result = shell(
      "export PYTHONPATH=mine; uvmtrace record -o out.uvmt --torch --torch-operators --phases 8 --phase-bytes 4096 "
      "--order --counts --window profiler -- bash program.sh");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string timing_env = folder.read("env.timing"), access_env = folder.read("env.access");
  for (const char* name : {"CUDA", "NVTX"}) {
    EXPECT_THAT(timing_env, HasSubstr(name + ("_INJECTION64_PATH=" + folder.path("libuvmtrace_timing.so"))));
  }
  for (const std::string& env : {timing_env, access_env}) {
    EXPECT_THAT(env, HasSubstr("PYTHONPATH=" + folder.path("torch/site") + ":mine\n"));
  }
  EXPECT_THAT(timing_env, HasSubstr("UVMTRACE_TORCH_OPERATORS=0\n"));
  for (const char* line :
       {"SANITIZER_DISABLE_PARALLEL_LAUNCHES=1\n", "UVMTRACE_PHASES=8\n", "UVMTRACE_PHASE_BYTES=4096\n",
        "UVMTRACE_ORDER=1\n", "UVMTRACE_COUNTS=1\n", "UVMTRACE_WINDOW=profiler\n", "UVMTRACE_TORCH_OPERATORS=1\n"}) {
    EXPECT_THAT(access_env, HasSubstr(line));
  }
  EXPECT_THAT(access_env, Not(HasSubstr("NVTX")));
}

TEST_F(RecordTest, TimingOnly) {
  program("echo $UVMTRACE_TORCH_OPERATORS");
  const CommandResult result = record("--timing-only --torch-operators");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "1\n");
  EXPECT_EQ(passes(), "timing\n");
  EXPECT_EQ(statistics().kernels_by_coverage[static_cast<std::size_t>(trace::Coverage::kParameters)], 1u);
}

TEST_F(RecordTest, WithoutTheAccessLibrary) {
  std::filesystem::remove(folder.path("libuvmtrace_access.so"));
  program("");
  const CommandResult result = record();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("libuvmtrace_access.so is not there"));
  EXPECT_EQ(passes(), "timing\n");
  EXPECT_EQ(statistics().kernels_by_coverage[static_cast<std::size_t>(trace::Coverage::kParameters)], 1u);
}

TEST_F(RecordTest, AccessPassWithoutALog) {
  std::filesystem::remove(folder.path("access.log"));
  program("[ $PASS = timing ] || echo 'Device not supported'");
  const CommandResult result = record();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("access pass left no log"));
  EXPECT_THAT(result.err, HasSubstr("Device not supported"));
  EXPECT_EQ(statistics().kernels_by_coverage[static_cast<std::size_t>(trace::Coverage::kParameters)], 1u);
}

TEST_F(RecordTest, NoTimingLog) {
  std::filesystem::remove(folder.path("timing.log"));
  program("exit $1");
  const CommandResult fine = record("", "0");
  EXPECT_EQ(fine.exit_code, 2);
  EXPECT_THAT(fine.err, HasSubstr("timing pass left no log"));
  EXPECT_EQ(record("", "6").exit_code, 6);
  EXPECT_FALSE(has("out.uvmt"));
  expect_clean();
}

TEST_F(RecordTest, KeepLogs) {
  program("echo hello");
  ASSERT_EQ(record("--keep-logs logs").exit_code, 0);
  EXPECT_EQ(folder.read("logs/access_pass.txt"), "hello\n");
  // Those of another recording stay, and no new ones are mixed in.
  const CommandResult again = record("--keep-logs logs");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("--keep-logs: logs: is not empty"));
  std::size_t logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("logs"))) {
    logs += entry.path().extension() == ".jsonl" ? 1 : 0;
  }
  EXPECT_EQ(logs, 2u);
}

TEST_F(RecordTest, SeveralProcesses) {
  LogBuilder small(Pass::kTiming);
  small.launch({});
  small.launch({});
  folder.write("small.log", LogBuilder(Pass::kTiming).text());
  folder.write("large.log", small.text());
  program(
      "cp small.log \"$UVMTRACE_LOG_DIR/$PASS.1.jsonl\"\n"
      "[ $PASS = timing ] && cp large.log \"$UVMTRACE_LOG_DIR/timing.2.jsonl\"; true");
  const CommandResult result = record("--timing-only");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(statistics().totals.kernels, 2u);
  EXPECT_THAT(result.err, HasSubstr("1 other processes used the GPU too"));
}

TEST_F(RecordTest, PassesThatDiverge) {
  LogBuilder other(Pass::kAccess);
  LogBuilder::LaunchSpec launch;
  launch.name = "different";
  other.launch(launch);
  folder.write("access.log", other.text());
  program("");
  const CommandResult result = record();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("0 of 1 launches match"));
  EXPECT_THAT(result.err, HasSubstr("'different'"));
  EXPECT_THAT(result.err, HasSubstr("logs stay in"));
  EXPECT_FALSE(has("out.uvmt"));
}

TEST_F(RecordTest, InputIsReadByBothPasses) {
  folder.write("input.txt", "first\nsecond\n");
  program("cat >got.$PASS");
  const CommandResult result =
      shell("exec 5<input.txt; read line <&5; uvmtrace record -o out.uvmt -- bash program.sh <&5");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(folder.read("got.timing"), folder.read("got.access"));
  ASSERT_EQ(shell("printf 'piped\\n' | uvmtrace record -o out.uvmt -- bash program.sh").exit_code, 0);
  EXPECT_EQ(folder.read("got.timing"), "piped\n");
  EXPECT_EQ(folder.read("got.access"), "");
}

// --- signals

TEST_F(RecordTest, TerminationGoesOnToTheProgram) {
  program("trap 'echo stopped; exit 9' TERM; echo ready >ready; while :; do sleep 0.05; done");
  const CommandResult result = shell("\"" UVMTRACE_COMMAND
                                     "\" record -o out.uvmt -- bash program.sh & child=$!\n"
                                     "while [ ! -f ready ]; do sleep 0.05; done; kill -TERM $child; wait $child");
  EXPECT_EQ(result.exit_code, 9) << result.err;
  EXPECT_EQ(result.out, "stopped\n");
  EXPECT_EQ(passes(), "timing\n");
  EXPECT_THAT(result.err, HasSubstr("the program was stopped: no access pass"));
  EXPECT_EQ(statistics().totals.kernels, 1u);
}

TEST_F(RecordTest, ProgramThatDiesOfTheSignal) {
  program("echo ready >ready; exec sleep 60");
  const CommandResult result = shell("\"" UVMTRACE_COMMAND
                                     "\" record -o out.uvmt -- bash program.sh & child=$!\n"
                                     "while [ ! -f ready ]; do sleep 0.05; done; kill -TERM $child; wait $child");
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_EQ(statistics().totals.kernels, 1u);
  expect_clean();
}

TEST_F(RecordTest, OtherSignalsDoNotStopTheRecording) {
  program(
      "trap 'echo >signal.$PASS' USR1; echo >ready.$PASS\n"
      "while [ ! -f signal.$PASS ]; do sleep 0.05; done");
  const CommandResult result = shell(
      "\"" UVMTRACE_COMMAND
      "\" record -o out.uvmt -- bash program.sh & child=$!\n"
      "for pass in timing access; do while [ ! -f ready.$pass ]; do sleep 0.05; done; kill -USR1 $child; done; wait "
      "$child");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(passes(), "timing\naccess\n");
}

// --- what the user got wrong: nothing runs

class RecordHostile : public RecordTest {
 protected:
  void expect_refused(const std::string& line, const std::vector<std::string>& words) {
    program("");
    expect_one_line_error(shell(line), words);
    EXPECT_FALSE(has("passes.txt")) << line;
    expect_clean();
  }
};

TEST_F(RecordHostile, CommandLines) {
  expect_refused("uvmtrace", {"no command given"});
  expect_refused("uvmtrace recrod", {"did you mean 'record'"});
  expect_refused("uvmtrace record", {"no program given"});
  expect_refused("uvmtrace record --", {"no program given"});
  expect_refused("uvmtrace record bash program.sh", {"unexpected argument 'program.sh'"});
  expect_refused("uvmtrace record program.sh", {"put -- before the program"});
  expect_refused("uvmtrace record --phasess 3 -- bash program.sh", {"unknown option --phasess", "did you mean"});
  expect_refused("uvmtrace record --phases many -- bash program.sh", {"--phases: 'many'", "0 to 64"});
  expect_refused("uvmtrace record --phases 65 -- bash program.sh", {"0 to 64"});
  expect_refused("uvmtrace record --phases -- bash program.sh", {"option --phases needs a value"});
  expect_refused("uvmtrace record --window sometimes -- bash program.sh", {"allowed: all, profiler"});
  expect_refused("uvmtrace record --as magic -- bash program.sh", {"allowed: managed, recorded"});
  expect_refused("uvmtrace record --level 20 -- bash program.sh", {"--level"});
  expect_refused("uvmtrace record --torch=1 -- bash program.sh", {"takes no value"});
  expect_refused("uvmtrace record -o out.txt -- bash program.sh", {"out.txt"});
  expect_refused("uvmtrace record -o - -- bash program.sh", {"standard output is the program's"});
  expect_refused("uvmtrace record -o nowhere/out.uvmt -- bash program.sh", {"nowhere/out.uvmt"});
  expect_refused("uvmtrace record --keep-logs program.sh -- bash program.sh", {"program.sh"});
}

TEST_F(RecordHostile, ProgramsThatCannotStart) {
  expect_one_line_error(shell("uvmtrace record -o out.uvmt -- ./missing"),
                        {"cannot start './missing'", "No such file"});
  expect_one_line_error(shell("uvmtrace record -o out.uvmt -- ./timing.log"), {"cannot start", "Permission denied"});
  expect_clean();
}

TEST_F(RecordHostile, WithoutTheTimingLibrary) {
  std::filesystem::remove(folder.path("libuvmtrace_timing.so"));
  program("");
  const CommandResult result =
      shell("cp \"" UVMTRACE_COMMAND "\" alone; ./alone record -o out.uvmt -- bash program.sh");
  expect_one_line_error(result, {"libuvmtrace_timing.so is not there", "UVMTRACE_LIBRARY_DIR"});
  EXPECT_FALSE(has("passes.txt"));
}

TEST_F(RecordHostile, DamagedLog) {
  folder.write("access.log", access.text() + "garbage\n");
  program("");
  const CommandResult result = record();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("line 6: not valid JSON"));
  EXPECT_FALSE(has("out.uvmt"));
}

}  // namespace
}  // namespace uvmtrace
