// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/formats/json.h"
#include "tracer/cli/commands.h"
#include "tracer/cli/find_parts.h"
#include "tracer/cli/log_folder.h"
#include "tracer/cli/run_pass.h"
#include "tracer/faults/fault_log_reader.h"
#include "tracer/faults/fault_summary.h"

namespace uvmtrace {

namespace {

using faults::FaultSection;
using faults::FaultSummary;
using faults::ProcessFaults;
using uvmsim::throw_input_error;

constexpr std::size_t kRowsAfterARun = 20;

constexpr const char* kFaultsUsage =
    R"(uvmtrace faults [OPTIONS] -- PROGRAM ARGUMENTS...: runs a GPU program and writes every raw fault that the driver fetched.
uvmtrace faults --show FILE: what such a log holds.

  uvmtrace faults -o bfs.faults.zst -- ./bfs graph.bin
  uvmtrace faults --show bfs.faults.zst

A raw fault is one entry of the GPU's fault buffer: its time on the GPU, its SM, its page. The log also has replays
and migrations. The program runs once, unchanged; the log costs it up to 0.1 us per raw fault, and time per copy. A
summary is printed on standard error; the program's exit code is returned, or 1 if the driver's queue was full and
events are missing.

)";

// Prints on standard error, because standard output belongs to the program.
void tell(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) fmt::print(stderr, "uvmtrace: {}\n", line);
  std::fflush(stderr);
}

std::string who(const ProcessFaults& process) {
  std::string out = fmt::format("process {}", process.pid);
  if (!process.program.empty()) out += ": " + process.program;
  if (!process.gpu.empty()) out += "; " + process.gpu;
  if (!process.driver.empty()) out += ", driver " + process.driver;
  return out;
}

std::string state(const ProcessFaults& process) {
  if (!process.complete) return "end          missing: the program was killed, and up to 0.5 s before that are lost\n";
  return process.problem.empty() ? "" : "problem      " + process.problem + "\n";
}

// `most_rows`: number of rows in the table of sections.
std::string text_of(const ProcessFaults& process, std::size_t most_rows) {
  std::string out = who(process) + "\n";
  if (process.sections.size() > 1) {
    out += faults::summary_heading();
    const std::size_t rows = std::min(process.sections.size(), most_rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const FaultSection& section = process.sections[i];
      out += faults::summary_row(section.name, faults::summarize(section.events), section.dropped);
    }
    if (rows < process.sections.size()) {
      out += fmt::format("and {} sections more, which --show prints; {} events dropped in all\n",
                         process.sections.size() - rows, process.dropped);
    }
  } else {
    const FaultSummary summary =
        process.sections.empty() ? FaultSummary{} : faults::summarize(process.sections.front().events);
    out += faults::summary_text(summary, process.dropped);
  }
  return out + state(process);
}

int show(const std::string& path, bool as_json) {
  for (const ProcessFaults& process : faults::read_fault_log(path)) {
    if (!as_json) {
      fmt::print("{}", text_of(process, SIZE_MAX));
      continue;
    }
    const auto print = [&](const std::string& name, const FaultSummary& summary, std::uint64_t dropped) {
      fmt::print("{{\"name\":{},\"pid\":{},\"complete\":{},{}}}\n", nlohmann::json(name).dump(), process.pid,
                 process.complete, faults::summary_json(summary, dropped));
    };
    for (const FaultSection& section : process.sections) {
      print(section.name, faults::summarize(section.events), section.dropped);
    }
    if (process.sections.empty()) print(fmt::format("process {}", process.pid), {}, process.dropped);
  }
  return 0;
}

// Returns the logs that the library has written, by number of the process.
std::vector<ProcessFaults> collect(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("faults.") && name.ends_with(".log")) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ProcessFaults> processes;
  for (const std::string& path : paths) {
    for (ProcessFaults& process : faults::read_fault_log(path)) {
      process.join();
      processes.push_back(std::move(process));
    }
  }
  return processes;
}

int record_faults(const std::string& output, const std::vector<std::string>& program) {
  const Parts parts = find_parts();
  if (parts.faults.empty()) {
    throw_input_error("libuvmtrace_faults.so was not found; set UVMTRACE_LIBRARY_DIR to its folder (searched: {})",
                      parts.searched_text());
  }
  if (::access("/dev/nvidia-uvm-tools", R_OK | W_OK) != 0 && errno == EACCES) {
    throw_input_error("/dev/nvidia-uvm-tools: no permission; the driver's queue of events needs read and write access");
  }
  uvmsim::AtomicFile file(output);  // tests the output file before hours of work, not after
  LogFolder logs("", output);
  ProgramRun pass;
  pass.program = program;
  pass.environment = {{"UVMTRACE_LOG_DIR", logs.path()}, {"CUDA_INJECTION64_PATH", parts.faults}};
  PassRunner runner;
  const RunResult result = runner.run(pass);
  const int own = result.exit_code;
  std::vector<ProcessFaults> processes = collect(logs.path());
  std::erase_if(processes, [&](const ProcessFaults& process) {
    if (process.problem.empty()) return false;
    tell(fmt::format("process {}: {}", process.pid, process.problem));
    return process.sections.empty();
  });
  if (processes.empty()) {
    tell(
        "error: no raw faults were recorded: the program did not use the GPU, or the lines above say why; no log is "
        "written");
    return own != 0 ? own : 2;
  }
  std::uint64_t dropped = 0;
  for (const ProcessFaults& process : processes) dropped += process.dropped;
  faults::write_fault_log(processes, file);
  for (const ProcessFaults& process : processes) tell(text_of(process, kRowsAfterARun));
  tell(fmt::format("{}: {} process{}", output, processes.size(), processes.size() == 1 ? "" : "es"));
  return own == 0 && dropped != 0 ? uvmsim::cli::kFailed : own;
}

int run_faults(const Values& values) {
  const auto shown = values.text("show");
  if (shown) {
    if (values.rest() || values.given("output") || !values.arguments().empty()) {
      throw_input_error("--show prints an existing log; it takes no program and no --output");
    }
    return show(*shown, values.given("json"));
  }
  if (values.given("json")) throw_input_error("--json belongs to --show");
  if (!values.arguments().empty()) {
    throw_input_error("put -- before the program: uvmtrace faults ... -- {} ...", values.arguments().front());
  }
  const std::vector<std::string> program = values.rest().value_or(uvmsim::cli::Arguments{});
  if (program.empty()) throw_input_error("no program given: uvmtrace faults -o FILE -- PROGRAM ARGUMENTS...");
  const std::string output = values.text("output").value_or("program.faults.zst");
  if (output == "-") throw_input_error("-o -: standard output is the program's; give a file");
  return record_faults(output, program);
}

}  // namespace

CommandLine faults_command() {
  return {.usage = kFaultsUsage,
          .options = {kHelp,
                      {"output,o", "FILE", "where to; default program.faults.zst"},
                      {"show", "FILE", "print what a log holds, of this command or of uvm_experiments --raw-faults"},
                      {"json", "", "with --show: one JSON object per section"}},
          .most_arguments = 1,
          .run = run_faults,
          .last_word = "--"};
}

}  // namespace uvmtrace
