#include <fmt/format.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "tracer/cli/commands.h"
#include "tracer/cli/find_parts.h"
#include "tracer/cli/log_folder.h"
#include "tracer/cli/record_options.h"
#include "tracer/cli/run_pass.h"
#include "tracer/cli/write_trace.h"
#include "tracer/merge/log_reader.h"

namespace uvmtrace {

namespace {

using uvmsim::InputError;
using uvmsim::throw_input_error;
using Environment = std::vector<std::pair<std::string, std::string>>;

// Standard output is the program's.
void say(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    fmt::print(stderr, "uvmtrace: {}\n", line);
  }
  std::fflush(stderr);
}

std::string with_folder_first(const std::string& folder, const char* variable) {
  const char* present = std::getenv(variable);
  return present == nullptr || *present == '\0' ? folder : folder + ":" + present;
}

// The last lines of what a run printed.
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
      throw_input_error("libuvmtrace_timing.so is not there; set UVMTRACE_LIBRARY_DIR to its folder (searched: {})",
                        searched());
    }
    if (options_.torch && parts_.torch_site.empty()) {
      throw_input_error(
          "the PyTorch helper (torch/site) is not there; set UVMTRACE_LIBRARY_DIR to the folder of torch/");
    }
    common_ = {{"UVMTRACE_LOG_DIR", logs_.path()}};
    if (options_.torch) {
      common_.emplace_back("PYTHONPATH", with_folder_first(parts_.torch_site, "PYTHONPATH"));
    }
    two_passes_ = !options_.timing_only && !parts_.access.empty();
    if (!options_.timing_only && parts_.access.empty()) {
      say("libuvmtrace_access.so is not there (it is built where the Compute Sanitizer's headers are): one pass, "
          "accesses "
          "come from operators and launch parameters");
    }
  }

  int run() {
    PassRunner runner;
    const RunResult timed = runner.run(timing_pass());
    const LogFolder::Choice timing = logs_.choose("timing");
    if (timing.log.empty()) {
      say("the timing pass left no log: the program did not use the GPU, or the lines above say why; no trace is "
          "written");
      return timed.exit_code != 0 ? timed.exit_code : 2;
    }
    std::string access;
    if (two_passes_ && (stopped(timed) || runner.pending_signal() != 0)) {
      say("the program was stopped: no access pass");
    } else if (two_passes_) {
      access = run_access_pass(runner, timed);
    }
    try {
      write(timing, access);
    } catch (const InputError& error) {
      say(fmt::format("error: {}", error.what()));
      logs_.keep();
      say(fmt::format("no trace is written; the logs stay in {}", logs_.path()));
      return timed.exit_code != 0 ? timed.exit_code : 2;
    }
    return timed.exit_code;
  }

 private:
  // Before hours of work, not after.
  void check_output() const { uvmsim::AtomicFile probe(options_.output); }

  std::string searched() const {
    std::string out;
    for (const std::string& folder : parts_.searched) {
      out += (out.empty() ? "" : ", ") + folder;
    }
    return out;
  }

  Environment operators(bool wanted) const {
    return {{"UVMTRACE_TORCH_OPERATORS", wanted && options_.torch_operators ? "1" : "0"}};
  }

  ProgramRun timing_pass() const {
    ProgramRun pass;
    pass.program = options_.program;
    pass.environment = common_;
    pass.environment.emplace_back("CUDA_INJECTION64_PATH", parts_.timing);
    // NVTX ranges, unless the user has another receiver for them.
    if (std::getenv("NVTX_INJECTION64_PATH") == nullptr) {
      pass.environment.emplace_back("NVTX_INJECTION64_PATH", parts_.timing);
    }
    // Observing operators takes host time: in the timing pass only when there is no other.
    for (auto& item : operators(!two_passes_)) {
      pass.environment.push_back(std::move(item));
    }
    return pass;
  }

  static bool stopped(const RunResult& result) {
    return result.forwarded == SIGINT || result.forwarded == SIGTERM || result.forwarded == SIGHUP ||
           result.forwarded == SIGQUIT;
  }

  // The log of the pass, or empty.
  std::string run_access_pass(PassRunner& runner, const RunResult& timed) {
    say(fmt::format("timing pass done (exit code {}); access pass starts", timed.exit_code));
    ProgramRun pass;
    pass.program = options_.program;
    pass.environment = common_;
    pass.environment.insert(pass.environment.end(), options_.environment.begin(), options_.environment.end());
    pass.environment.emplace_back("CUDA_INJECTION64_PATH", parts_.access);
    // Launches from several threads would share one patch buffer on drivers from 470.57 on (GVProf documentation).
    pass.environment.emplace_back("SANITIZER_DISABLE_PARALLEL_LAUNCHES", "1");
    for (auto& item : operators(true)) {
      pass.environment.push_back(std::move(item));
    }
    pass.rewind_input = true;
    if (!options_.both_outputs) {
      pass.output = logs_.path() + "/access_pass.txt";
    }
    const RunResult result = runner.run(pass);
    if (result.exit_code != timed.exit_code) {
      say(fmt::format("the passes end differently: exit code {} in the timing pass, {} in the access pass{}",
                      timed.exit_code, result.exit_code, pass.output.empty() ? "" : "; the latter printed at last:"));
      if (!pass.output.empty()) {
        say(tail_of(pass.output));
      }
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
    if (!access_log.empty()) {
      access = read_log(access_log, Pass::kAccess);
    }
    if (!timing_choice.others.empty()) {
      say(fmt::format("{} other processes used the GPU too; the trace is of process {}, which launched most kernels",
                      timing_choice.others.size(), timing.header.pid));
    }
    const PassLog* second = access ? &*access : nullptr;
    const WrittenTrace written =
        write_trace(timing, second, options_.merge, options_.output, options_.compression_level);
    say(describe(written, timing, second, options_.output));
  }

  RecordOptions options_;
  Parts parts_;
  LogFolder logs_;
  Environment common_;
  bool two_passes_ = false;
};

}  // namespace

int record_command(const std::vector<std::string>& arguments) {
  RecordOptions options = RecordOptions::parse(arguments);
  if (options.help) {
    return 0;
  }
  return Recording(std::move(options)).run();
}

}  // namespace uvmtrace
