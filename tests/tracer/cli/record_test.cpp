// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/trace/reader.h"
#include "sim/trace/statistics.h"
#include "tests/tracer/cli/command.h"
#include "tracer/cli/progress.h"

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
  // Checks that no hidden file is left behind.
  void expect_clean() {
    for (const std::string& name : folder.names()) {
      EXPECT_THAT(name, Not(HasSubstr(".logs-")));
      EXPECT_THAT(name, Not(HasSubstr(".tmp")));
    }
  }
};

TEST_F(RecordTest, RunsThreeTimesAndShowsOneRun) {
  program("echo \"loss 0.5 $1\"; echo oh >&2");
  const CommandResult result = record("", "'two words'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "loss 0.5 two words\n");
  EXPECT_THAT(result.err, StartsWith("oh\nuvmtrace: timing pass done (exit code 0, 1 launches, 0.0 s on the GPU, 0 s); "
                                     "access pass starts, it may take 0 s\nuvmtrace: "));
  EXPECT_THAT(result.err, HasSubstr("out.uvmt: 1 kernels (100.0 % instrumented), 2 objects"));
  EXPECT_EQ(result.err.find("oh"), result.err.rfind("oh"));
  EXPECT_EQ(passes(), "timing\nmemory\naccess\n");
  EXPECT_EQ(statistics().kernels_by_coverage[0], 1u);
  expect_clean();
}

// The log of the memory pass adds an object of kind `device` to the trace.
TEST_F(RecordTest, MemoryOfTheProcessIsInTheTrace) {
  program("");
  const auto device_memory = [&] {
    trace::TraceReader reader(folder.path("out.uvmt"));
    trace::Record record;
    std::uint64_t bytes = 0;
    while (reader.next(record)) {
      const auto* object = std::get_if<trace::ObjectAlloc>(&record);
      if (object != nullptr && object->kind == trace::ObjectKind::kDevice) bytes += object->bytes;
    }
    return bytes;
  };
  const CommandResult result = record();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("memory of the GPU beside allocations: 3.0 MiB: cuLaunchKernel 3.0\n"));
  EXPECT_EQ(device_memory(), 3u << 20);
  EXPECT_THAT(result.err, Not(HasSubstr("unknown type")));
  const CommandResult without = record("--no-memory-pass");
  EXPECT_THAT(without.err, HasSubstr("memory of the GPU beside allocations: not recorded\n"));
  EXPECT_EQ(device_memory(), 0u);
  // The build tree's library lies beside the command, so the command is copied elsewhere.
  std::filesystem::remove(folder.path("libuvmtrace_memory.so"));
  const CommandResult alone = shell("cp \"" UVMTRACE_COMMAND "\" alone; ./alone record -o out.uvmt -- bash program.sh");
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.err, HasSubstr("libuvmtrace_memory.so was not found"));
}

TEST_F(RecordTest, BothOutputs) {
  program("echo out");
  EXPECT_EQ(record("--both-outputs").out, "out\nout\nout\n");
}

TEST_F(RecordTest, ExitCodeIsTheProgramsOwn) {
  program("exit 7");
  const CommandResult result = record();
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(passes(), "timing\nmemory\naccess\n");
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
  EXPECT_EQ(passes(), "timing\nmemory\naccess\n");
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
  EXPECT_THAT(result.err, HasSubstr("libuvmtrace_access.so was not found"));
  EXPECT_EQ(passes(), "timing\nmemory\n");
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
  // Logs of another recording stay, and no new ones are mixed in.
  const CommandResult again = record("--keep-logs logs");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("--keep-logs: logs: is not empty"));
  std::size_t logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("logs"))) {
    logs += entry.path().extension() == ".jsonl" ? 1 : 0;
  }
  EXPECT_EQ(logs, 3u);
}

// --- compilers

constexpr const char* kShowSettings =
    "env | grep -E '^(XLA|JAX|TORCHIND|TRITON|PYTHONHASH|UVMTRACE_SETTINGS)' | sort >set.$PASS\n";

class RecordWarmUp : public RecordTest {
 protected:
  // Also plays the warm-up, which has no injection library.
  void program(const std::string& lines) {
    const std::string known = "*) exit 99;; esac";
    std::string text = prelude;
    text.replace(text.find(known), known.size(), "*) PASS=warm;; esac");
    folder.write("program.sh", text + kShowSettings + lines);
  }
  CommandResult record_script(const std::string& script, const std::string& options = "") {
    folder.write("train.py", script);
    return shell("uvmtrace record -o out.uvmt " + options + " -- bash program.sh train.py");
  }
  std::string attribute(const std::string& key) {
    trace::TraceReader reader(folder.path("out.uvmt"));
    for (const auto& [name, value] : reader.header().attributes) {
      if (name == key) return value;
    }
    return "";
  }
};

TEST_F(RecordWarmUp, RunsOnceMoreWhereTheScriptCompiles) {
  program("echo \"out of $PASS\"; cat >in.$PASS");
  for (LogBuilder* log : {&timing, &access}) {
    const std::string name = log == &timing ? "timing.log" : "access.log";
    std::string text = log->text();
    text.insert(text.find("\"pid\""), R"("settings":"TRITON_CACHE_AUTOTUNING=1",)");
    folder.write(name, text);
  }
  folder.write("train.py", "import torch\nmodel = torch.compile(model)\n");
  folder.write("input.txt", "data");
  const CommandResult result = shell("uvmtrace record -o out.uvmt -- bash program.sh train.py <input.txt");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "out of timing\n");
  EXPECT_EQ(passes(), "warm\ntiming\nmemory\naccess\n");
  EXPECT_THAT(result.err, HasSubstr("warm-up: a run that is not recorded, for the caches of torch.compile"));
  const std::string settings =
      "PYTHONHASHSEED=0\nTORCHINDUCTOR_AUTOGRAD_CACHE=1\nTORCHINDUCTOR_FX_GRAPH_CACHE=1\n"
      "TRITON_CACHE_AUTOTUNING=1\n";
  EXPECT_EQ(folder.read("set.warm"), settings);
  EXPECT_THAT(folder.read("set.timing"), StartsWith(settings + "UVMTRACE_SETTINGS=PYTHONHASHSEED=0 TORCHINDUCTOR_FX"));
  EXPECT_EQ(folder.read("set.timing"), folder.read("set.access"));
  EXPECT_EQ(attribute("settings"), "TRITON_CACHE_AUTOTUNING=1");
  for (const char* pass : {"in.warm", "in.timing", "in.access"}) EXPECT_EQ(folder.read(pass), "data");
  expect_clean();
}

// Input that cannot be read twice is given to the run whose output is shown.
TEST_F(RecordWarmUp, LeavesThePipeAlone) {
  program("cat >in.$PASS");
  folder.write("train.py", "import triton\n");
  ASSERT_EQ(shell("printf piped | uvmtrace record -o out.uvmt -- bash program.sh train.py").exit_code, 0);
  EXPECT_EQ(folder.read("in.warm"), "");
  EXPECT_EQ(folder.read("in.timing"), "piped");
}

TEST_F(RecordWarmUp, OnlyWhereItIsOfUse) {
  program("");
  EXPECT_EQ(record_script("import torch  # torch.compile(x)\nimport jaxlike\n").exit_code, 0);
  EXPECT_EQ(passes(), "timing\nmemory\naccess\n");
  EXPECT_EQ(folder.read("set.timing"), "");
  folder.write("passes.txt", "");
  EXPECT_EQ(record_script("import torch\n", "--warm-up yes").exit_code, 0);
  EXPECT_EQ(passes(), "warm\ntiming\nmemory\naccess\n");
  EXPECT_THAT(folder.read("set.timing"), HasSubstr("JAX_COMPILATION_CACHE_DIR=" + folder.path(".out.uvmt.logs-")));
  EXPECT_THAT(folder.read("set.timing"), HasSubstr("JAX_COMPILATION_CACHE_DIR=(of the recording)"));
}

TEST_F(RecordWarmUp, ModulesOfTheProgramAreLookedInto) {
  program("echo \"$PYTHONPATH $UVMTRACE_TORCH\" >path.$PASS\n");
  std::filesystem::create_directories(folder.path("net"));
  folder.write("net/__init__.py", "from net.layers import *\n");
  folder.write("net/layers.py", "import net.train\nimport net\n");
  folder.write("net/train.py", "  from jax import numpy\n");
  EXPECT_EQ(record_script("import net\n").exit_code, 0);
  EXPECT_EQ(passes(), "warm\ntiming\nmemory\naccess\n");
  // JAX programs mark iterations with the helper's module.
  EXPECT_EQ(folder.read("path.access"), folder.path("torch/site") + " 0\n");
}

TEST_F(RecordWarmUp, TheUsersSettingsWin) {
  program("");
  folder.write("train.py", "import jax\n");
  const std::string record = "uvmtrace record -o out.uvmt --warm-up no ";
  const auto run = [&](const std::string& before, const std::string& options = "") {
    const CommandResult result = shell(before + record + options + "-- bash program.sh train.py");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return folder.read("set.timing");
  };
  EXPECT_THAT(run(""), HasSubstr("\nXLA_FLAGS=--xla_gpu_autotune_level=0\nXLA_PYTHON_CLIENT_ALLOCATOR=cuda_async\n"));
  EXPECT_THAT(run("export XLA_PYTHON_CLIENT_ALLOCATOR=bfc; "), HasSubstr("\nXLA_PYTHON_CLIENT_ALLOCATOR=bfc\n"));
  EXPECT_THAT(run("export XLA_FLAGS=--xla_mine; "), HasSubstr("\nXLA_FLAGS=--xla_mine --xla_gpu_autotune_level=0\n"));
  EXPECT_THAT(run("export XLA_FLAGS=--xla_gpu_autotune_level=4 PYTHONHASHSEED=7; "),
              StartsWith("PYTHONHASHSEED=7\nUVMTRACE_SETTINGS=XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async "
                         "XLA_PYTHON_CLIENT_PREALLOCATE=false\nXLA_FLAGS=--xla_gpu_autotune_level=4\n"));
  EXPECT_EQ(run("", "--own-settings "), "");
}

TEST_F(RecordWarmUp, ThatFailsIsSaid) {
  program("[ $PASS != warm ] || { echo 'no such data'; exit 3; }");
  const CommandResult result = record_script("import jax\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("the warm-up ended with exit code 3; it printed at last:\nuvmtrace: no such data"));
  EXPECT_EQ(passes(), "warm\ntiming\nmemory\naccess\n");
}

TEST_F(RecordWarmUp, ASignalDuringItEndsTheRecording) {
  program("trap 'exit 9' TERM; echo >ready; while :; do sleep 0.05; done");
  folder.write("train.py", "import jax\n");
  const CommandResult result = shell("\"" UVMTRACE_COMMAND
                                     "\" record -o out.uvmt -- bash program.sh train.py & child=$!\n"
                                     "while [ ! -f ready ]; do sleep 0.05; done; kill -TERM $child; wait $child");
  EXPECT_EQ(result.exit_code, 9) << result.err;
  EXPECT_EQ(passes(), "warm\n");
  EXPECT_THAT(result.err, HasSubstr("stopped before it was recorded"));
  EXPECT_FALSE(has("out.uvmt"));
  expect_clean();
}

// --- several processes

// The two ranks start in another order in the access pass; a third process has no counterpart in it.
TEST_F(RecordTest, ATraceOfEachProcess) {
  const auto write = [&](const std::string& name, Pass pass, const std::string& rank, int launches, int started) {
    LogBuilder log(pass);
    const std::uint64_t base = 0x7f0000000000 + static_cast<std::uint64_t>(started) * (1 << 30);
    log.at(1000 + started * 10, 1001 + started * 10);
    log.alloc(base, 1 << 20);
    for (int i = 0; i < launches; ++i) {
      LogBuilder::LaunchSpec launch;
      launch.accesses = {{base, static_cast<std::uint64_t>(launches) * 512, trace::AccessMode::kWrite}};
      log.launch(launch);
    }
    std::string text = log.text();
    text.insert(text.find("\"pid\""),
                "\"started_ns\":" + std::to_string(started) + "," + (rank.empty() ? "" : "\"rank\":\"" + rank + "\","));
    folder.write(name, text);
  };
  write("timing.a", Pass::kTiming, "1", 3, 20);
  write("timing.b", Pass::kTiming, "0", 2, 30);
  write("timing.c", Pass::kTiming, "2", 1, 50);
  write("access.a", Pass::kAccess, "0", 2, 70);
  write("access.b", Pass::kAccess, "1", 3, 80);
  folder.write(
      "program.sh",
      "case \"$CUDA_INJECTION64_PATH\" in *timing.so) PASS=timing;; *memory.so) PASS=memory;; *) PASS=access;; esac\n"
      "for x in a b c; do [ -f $PASS.$x ] && cp $PASS.$x \"$UVMTRACE_LOG_DIR/$PASS.$x.jsonl\"; done; true\n");
  const CommandResult result = record("--processes all");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(has("out.uvmt"));
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    trace::TraceReader reader(folder.path("out." + std::to_string(rank) + ".uvmt"));
    std::map<std::string, std::string> attributes(reader.header().attributes.begin(), reader.header().attributes.end());
    EXPECT_EQ(attributes["rank"], std::to_string(rank));
    EXPECT_EQ(attributes["process"], std::to_string(rank) + " of 3");
    EXPECT_EQ(attributes["begins_at_ns"], std::to_string(rank == 0 ? 1300 : rank == 1 ? 1200 : 1500));
    trace::Record record;
    std::uint64_t kernels = 0;
    while (reader.next(record)) {
      if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
        ++kernels;
        if (rank < 2) {
          ASSERT_EQ(kernel->accesses.size(), 1u);
          EXPECT_EQ(kernel->accesses[0].extents[0].count, rank + 2);
        }
      }
    }
    EXPECT_EQ(kernels, rank == 0 ? 2u : rank == 1 ? 3u : 1u);
  }
  EXPECT_THAT(result.err, HasSubstr("process 0 (rank 0): \"start_ns\": 100 in a scenario"));
  EXPECT_THAT(result.err, HasSubstr("process 1 (rank 1): \"start_ns\": 0 in a scenario"));
  EXPECT_THAT(result.err, HasSubstr("has no partner in the access pass"));
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

TEST_F(RecordTest, ProgressCountsWholeLaunchesOfAllProcesses) {
  LogBuilder builder(Pass::kTiming);
  for (int i = 0; i < 4; ++i) builder.launch({});
  folder.write("timing.1.jsonl", builder.text());
  Expected expected;
  add_log(folder.path("timing.1.jsonl"), expected);
  EXPECT_EQ(expected.launches, 4u);
  EXPECT_NEAR(expected.gpu_seconds, 4 * 2000e-9, 1e-12);
  std::vector<std::string> said;
  Progress progress(
      folder.path(), expected, [&](const std::string& text) { said.push_back(text); }, std::chrono::seconds(0));
  // The next line is due when as much time has passed again.
  const auto tick = [&] {
    for (const std::size_t lines = said.size(); said.size() == lines;) progress.tick();
  };
  tick();
  const std::string line = "{\"t\":\"launch\",\"seq\":1}\n";
  folder.write("access.1.jsonl", line + line.substr(0, 10));
  tick();
  folder.write("access.1.jsonl", line + line + line);
  folder.write("access.2.jsonl", line);
  tick();
  using ::testing::MatchesRegex;
  EXPECT_THAT(said,
              ::testing::ElementsAre(MatchesRegex("access pass: [0-9]+ s, no launch yet"),
                                     MatchesRegex("access pass: 1 of 4 launches after [0-9]+ s, about [0-9]+ s left"),
                                     MatchesRegex("access pass: 4 of 4 launches after [0-9]+ s, little left")));
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
  EXPECT_THAT(result.err, HasSubstr("the program was stopped: it does not run again"));
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
  const CommandResult result = shell("\"" UVMTRACE_COMMAND
                                     "\" record -o out.uvmt -- bash program.sh & child=$!\n"
                                     "for pass in timing memory access; do while [ ! -f ready.$pass ]; do sleep 0.05; "
                                     "done; kill -USR1 $child; done; wait "
                                     "$child");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(passes(), "timing\nmemory\naccess\n");
}

// --- mistakes of the user: no program runs

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
  expect_refused("uvmtrace record --warm-up maybe -- bash program.sh", {"--warm-up: 'maybe'", "auto, yes, no"});
  expect_refused("uvmtrace record --processes 2 -- bash program.sh", {"--processes: '2'", "main, all"});
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
  expect_one_line_error(result, {"libuvmtrace_timing.so was not found", "UVMTRACE_LIBRARY_DIR"});
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
