// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "tracer/cli/commands.h"
#include "tracer/cli/find_parts.h"
#include "tracer/cli/frameworks.h"
#include "tracer/cli/log_folder.h"
#include "tracer/cli/processes.h"
#include "tracer/cli/progress.h"
#include "tracer/cli/record_options.h"
#include "tracer/cli/run_pass.h"
#include "tracer/cli/write_trace.h"
#include "tracer/merge/log_reader.h"

namespace uvmtrace {

namespace {

using uvmsim::InputError;
using uvmsim::throw_input_error;
using Environment = std::vector<std::pair<std::string, std::string>>;

// Prints on standard error, because standard output belongs to the program.
void say(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) fmt::print(stderr, "uvmtrace: {}\n", line);
  std::fflush(stderr);
}

std::string with_folder_first(const std::string& folder, const char* variable) {
  const char* present = std::getenv(variable);
  return present == nullptr || *present == '\0' ? folder : folder + ":" + present;
}

// Returns the last lines of a run's output.
std::string tail_of(const std::string& path) {
  constexpr std::size_t kBytes = 2000;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.size() > kBytes) {
    text.erase(0, text.size() - kBytes);
    text.erase(0, text.find('\n') + 1);
  }
  return text;
}

class Recording {
 public:
  explicit Recording(RecordOptions options)
      : options_(std::move(options)),
        parts_(find_parts()),
        logs_((check_output(), options_.keep_logs), options_.output) {
    if (parts_.timing.empty()) {
      throw_input_error("libuvmtrace_timing.so was not found; set UVMTRACE_LIBRARY_DIR to its folder (searched: {})",
                        parts_.searched_text());
    }
    if (options_.torch && parts_.torch_site.empty()) {
      throw_input_error(
          "the PyTorch helper (torch/site) was not found; set UVMTRACE_LIBRARY_DIR to the folder of torch/");
    }
    frameworks_ = options_.warm_up == RecordOptions::WarmUp::kYes ? Frameworks::all() : frameworks_of(options_.program);
    warm_up_ = options_.warm_up != RecordOptions::WarmUp::kNo && frameworks_.any();
    common_ = {{"UVMTRACE_LOG_DIR", logs_.path()}};
    take_settings();
    if (options_.torch || (frameworks_.jax && !parts_.torch_site.empty())) {
      common_.emplace_back("PYTHONPATH", with_folder_first(parts_.torch_site, "PYTHONPATH"));
    }
    if (!options_.torch) {
      common_.emplace_back("UVMTRACE_TORCH", "0");  // the program may import uvmtrace even so
    }
    two_passes_ = !options_.timing_only && !parts_.access.empty();
    if (!options_.timing_only && parts_.access.empty()) {
      say("libuvmtrace_access.so was not found (it is built where the Compute Sanitizer's headers are): one pass, "
          "accesses "
          "come from operators and launch parameters");
    }
    if (options_.memory_pass && parts_.memory.empty()) {
      options_.memory_pass = false;
      say("libuvmtrace_memory.so was not found: what the process takes beside its allocations is not recorded");
    }
  }

  int run() {
    PassRunner runner;
    if (warm_up_) {
      const RunResult warm = run_warm_up(runner);
      if (stopped(warm) || runner.pending_signal() != 0) {
        say("the program was stopped before it was recorded; no trace is written");
        return warm.exit_code != 0 ? warm.exit_code : 2;
      }
    }
    const auto begin = std::chrono::steady_clock::now();
    const RunResult timed = runner.run(timing_pass());
    expected_.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const LogFolder::Choice timing = logs_.choose("timing");
    if (timing.log.empty()) {
      say("the timing pass left no log: the program did not use the GPU, or the lines above say why; no trace is "
          "written");
      return timed.exit_code != 0 ? timed.exit_code : 2;
    }
    for (const std::string& log : logs_.processes("timing")) add_log(log, expected_);
    std::string access;
    bool goes_on = !stopped(timed) && runner.pending_signal() == 0;
    if (goes_on && options_.memory_pass) goes_on = run_memory_pass(runner);
    if (goes_on && two_passes_) access = run_access_pass(runner, timed);
    if (!goes_on && (two_passes_ || options_.memory_pass)) say("the program was stopped: it does not run again");
    try {
      options_.all_processes&& expected_.launches != 0 ? write_all() : write(timing, access);
    } catch (const InputError& error) {
      say(fmt::format("error: {}", error.what()));
      logs_.keep();
      say(fmt::format("no trace is written; the logs stay in {}", logs_.path()));
      return timed.exit_code != 0 ? timed.exit_code : 2;
    }
    return timed.exit_code;
  }

 private:
  // Tests the output file before hours of work, not after.
  void check_output() const { uvmsim::AtomicFile probe(options_.output); }

  Environment operators(bool wanted) const {
    return {{"UVMTRACE_TORCH_OPERATORS", wanted && options_.torch_operators ? "1" : "0"}};
  }

  // Makes choices of compilers the same in all runs.
  void take_settings() {
    if (options_.own_settings || !frameworks_.any()) return;
    std::string shown;
    const std::string cache = warm_up_ ? logs_.path() + "/jax_cache" : "";
    for (const Setting& setting : repeatable_settings(frameworks_, cache)) {
      common_.emplace_back(setting.name, setting.value);
      settings_.emplace_back(setting.name, setting.value);
      shown += fmt::format("{}{}={}", shown.empty() ? "" : " ", setting.name, setting.shown);
    }
    common_.emplace_back("UVMTRACE_SETTINGS", shown);
  }

  // Runs the program without recording, which leaves compiled kernels and choices by timing in the caches.
  RunResult run_warm_up(PassRunner& runner) {
    say(fmt::format("warm-up: a run that is not recorded, for the caches of {} (--warm-up no leaves it out)",
                    frameworks_.names()));
    ProgramRun pass;
    pass.program = options_.program;
    pass.environment = settings_;
    pass.spare_input = true;
    if (!options_.both_outputs) pass.output = logs_.path() + "/warm_up.txt";
    const RunResult result = runner.run(pass);
    if (result.exit_code != 0) {
      say(fmt::format("the warm-up ended with exit code {}{}", result.exit_code,
                      pass.output.empty() ? "" : "; it printed at last:"));
      if (!pass.output.empty()) say(tail_of(pass.output));
    }
    return result;
  }

  ProgramRun timing_pass() const {
    ProgramRun pass;
    pass.program = options_.program;
    pass.environment = common_;
    pass.environment.emplace_back("CUDA_INJECTION64_PATH", parts_.timing);
    // NVTX ranges are recorded unless the user has another receiver for them.
    if (std::getenv("NVTX_INJECTION64_PATH") == nullptr) {
      pass.environment.emplace_back("NVTX_INJECTION64_PATH", parts_.timing);
    }
    // Observing operators takes host time: the timing pass does it only if it is the only pass.
    for (auto& item : operators(!two_passes_)) pass.environment.push_back(std::move(item));
    return pass;
  }

  static bool stopped(const RunResult& result) {
    return result.forwarded == SIGINT || result.forwarded == SIGTERM || result.forwarded == SIGHUP ||
           result.forwarded == SIGQUIT;
  }

  // Returns whether the recording continues, that is, nobody stopped it.
  bool run_memory_pass(PassRunner& runner) {
    ProgramRun pass;
    pass.program = options_.program;
    pass.environment = common_;
    pass.environment.emplace_back("CUDA_INJECTION64_PATH", parts_.memory);
    pass.spare_input = true;
    if (!options_.both_outputs) pass.output = logs_.path() + "/memory_pass.txt";
    const RunResult result = runner.run(pass);
    if (result.exit_code != 0) say(fmt::format("the memory pass ended with exit code {}", result.exit_code));
    return !stopped(result) && runner.pending_signal() == 0;
  }

  // Returns the log of the memory pass for the process with this log of the timing pass, or an empty text.
  std::string memory_log_of(const std::string& timing_log) const {
    return pair_processes({timing_log}, logs_.all("memory")).front().partner;
  }

  // Runs the access pass. Returns its log, or an empty text.
  std::string run_access_pass(PassRunner& runner, const RunResult& timed) {
    say(
        fmt::format("timing pass done (exit code {}, {} launches, {:.1f} s on the GPU, {}); access pass starts, it may "
                    "take {}",
                    timed.exit_code, expected_.launches, expected_.gpu_seconds, duration_text(expected_.wall_seconds),
                    duration_text(expected_.seconds())));
    Progress progress(logs_.path(), expected_, [](const std::string& text) { say(text); });
    ProgramRun pass;
    pass.program = options_.program;
    pass.environment = common_;
    pass.environment.insert(pass.environment.end(), options_.environment.begin(), options_.environment.end());
    pass.environment.emplace_back("CUDA_INJECTION64_PATH", parts_.access);
    // Launches from several threads would share one patch buffer on drivers from 470.57 on (GVProf documentation).
    pass.environment.emplace_back("SANITIZER_DISABLE_PARALLEL_LAUNCHES", "1");
    for (auto& item : operators(true)) pass.environment.push_back(std::move(item));
    pass.spare_input = true;
    pass.tick = [&progress] { progress.tick(); };
    if (!options_.both_outputs) pass.output = logs_.path() + "/access_pass.txt";
    const RunResult result = runner.run(pass);
    if (result.exit_code != timed.exit_code) {
      say(fmt::format("the passes end differently: exit code {} in the timing pass, {} in the access pass{}",
                      timed.exit_code, result.exit_code, pass.output.empty() ? "" : "; the latter printed at last:"));
      if (!pass.output.empty()) say(tail_of(pass.output));
    }
    const LogFolder::Choice choice = logs_.choose("access");
    if (choice.log.empty()) {
      say("the access pass left no log: accesses come from operators and launch parameters; it printed at last:");
      say(tail_of(pass.output));
    }
    return choice.log;
  }

  void write(const LogFolder::Choice& timing_choice, const std::string& access_log) {
    const PassLog timing = read_log(timing_choice.log, Pass::kTiming);
    std::optional<PassLog> access;
    if (!access_log.empty()) access = read_log(access_log, Pass::kAccess);
    if (!timing_choice.others.empty()) {
      say(
          fmt::format("{} other processes used the GPU too; the trace is of process {}, which launched most kernels "
                      "(--processes all: a trace of each)",
                      timing_choice.others.size(), timing.header.pid));
    }
    write_one(timing, access ? &*access : nullptr, memory_log_of(timing_choice.log), options_.merge, options_.output);
  }

  WrittenTrace write_one(const PassLog& timing, const PassLog* access, const std::string& memory_log,
                         const MergeOptions& merge, const std::string& path) {
    std::optional<PassLog> memory;
    if (!memory_log.empty()) memory = read_log(memory_log, Pass::kMemory);
    const PassLogs logs{&timing, access, memory ? &*memory : nullptr};
    WrittenTrace written = write_trace(logs, merge, path, options_.compression_level);
    say(describe(written, logs, path));
    return written;
  }

  // Writes a trace for each process that launched kernels: out.0.uvmt, out.1.uvmt, ... by rank.
  void write_all() {
    const std::vector<std::string> timings = logs_.processes("timing");
    const std::vector<ProcessLogs> processes = pair_processes(timings, logs_.processes("access"));
    const std::vector<ProcessLogs> memories = pair_processes(timings, logs_.all("memory"));
    const std::filesystem::path output = options_.output;
    std::vector<std::int64_t> begins;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      const PassLog timing = read_log(processes[i].timing, Pass::kTiming);
      std::optional<PassLog> access;
      if (!processes[i].partner.empty()) {
        access = read_log(processes[i].partner, Pass::kAccess);
      } else if (two_passes_) {
        say(fmt::format(
            "process {} has no partner in the access pass: accesses come from operators and launch parameters",
            timing.header.pid));
      }
      MergeOptions merge = options_.merge;
      merge.attributes.emplace_back("process", fmt::format("{} of {}", i, processes.size()));
      merge.attributes.emplace_back("rank", processes[i].rank);
      std::filesystem::path path = output;
      path.replace_extension(fmt::format(".{}{}", i, output.extension().string()));
      const WrittenTrace written =
          write_one(timing, access ? &*access : nullptr, memories[i].partner, merge, path.string());
      begins.push_back(written.merge.begin_ns);
    }
    const std::int64_t first = *std::min_element(begins.begin(), begins.end());
    for (std::size_t i = 0; i < processes.size(); ++i) {
      say(fmt::format("process {}{}: \"start_ns\": {} in a scenario", i,
                      processes[i].rank.empty() ? "" : " (rank " + processes[i].rank + ")", begins[i] - first));
    }
  }

  RecordOptions options_;
  Parts parts_;
  LogFolder logs_;
  Environment common_;
  Environment settings_;  // the part of it that the warm-up gets too
  Frameworks frameworks_;
  Expected expected_;
  bool warm_up_ = false;
  bool two_passes_ = false;
};

constexpr const char* kRecordUsage =
    R"(uvmtrace record [OPTIONS] -- PROGRAM ARGUMENTS...: runs a GPU program and writes its trace.

  uvmtrace record -o bfs.uvmt -- ./bfs graph.bin
  uvmtrace record -o gpt2.uvmt --torch -- python train.py --steps 3

The program runs three times: for times and for memory, at nearly its own speed, and for accesses, tens of times
slower. All runs must do the same (fix the seeds); a beginning in which they differ is left out. Scripts that compile
(torch.compile, Triton, JAX) run once before, to fill the compilers' caches. The output shown and the exit code are
those of the run for times.

)";

int record(const Values& values) { return Recording(RecordOptions::read(values)).run(); }

}  // namespace

CommandLine record_command() {
  return {.usage = kRecordUsage, .options = record_options(), .most_arguments = 1, .run = record, .last_word = "--"};
}

}  // namespace uvmtrace
