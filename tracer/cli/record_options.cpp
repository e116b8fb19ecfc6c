// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/record_options.h"

#include "sim/common/error.h"
#include "sim/trace/writer.h"
#include "tracer/cli/merge_options.h"

namespace uvmtrace {

using uvmsim::throw_input_error;

std::vector<uvmsim::cli::Option> record_options() {
  std::vector<uvmsim::cli::Option> options = {
      uvmsim::cli::kHelp,
      {"output,o", "FILE", "where to, ends in .uvmt or .jsonl; default trace.uvmt"},
      {"torch", "", "PyTorch: tensors, modules, iterations (a helper in PYTHONPATH, the script stays as it is)"},
      {"torch-operators", "", "PyTorch: also what operators say they read and write, for kernels that cannot be seen"},
      {"phases", "K", "slices of the thread blocks whose accesses are told apart, 0 to 64; default 16"},
      {"phase-bytes", "B", "only for kernels that touch more than this; default 33554432"},
      {"order", "", "record in which order 64 KB pages are touched first"},
      {"counts", "", "record how often 64 KB pages are accessed"},
      {"window", "WHEN", "all (default), or profiler: accesses only between cudaProfilerStart and Stop"},
      {"timing-only", "", "one run: accesses from operators and launch parameters only"},
      {"no-memory-pass", "", "no run that measures which memory of the GPU the process takes beside its allocations"},
      {"warm-up", "WHEN",
       "a run before that is not recorded and fills compilers' caches: auto (default, where the script uses "
       "torch.compile, Triton or JAX), yes, no"},
      {"own-settings", "", "leave the environment alone; else compilers are set to choose the same in every run"},
      {"processes", "WHICH",
       "main (default, the one with most launches), or all: a trace of each, out.0.uvmt, out.1.uvmt, ..."},
      {"both-outputs", "", "show what the runs print whose output is hidden, too"},
      {"keep-logs", "FOLDER",
       "keep the logs of all passes there, in a new or empty folder, and what hidden runs printed"}};
  add_merge_options(options);
  return options;
}

RecordOptions RecordOptions::read(const uvmsim::cli::Values& values) {
  RecordOptions out;
  if (!values.arguments().empty()) {
    throw_input_error("put -- before the program: uvmtrace record ... -- {} ...", values.arguments().front());
  }
  out.program = values.rest().value_or(uvmsim::cli::Arguments{});
  if (out.program.empty()) throw_input_error("no program given: uvmtrace record ... -- PROGRAM ARGUMENTS...");
  out.output = values.text("output").value_or("trace.uvmt");
  trace::format_of_path(out.output);  // refuses other endings
  if (out.output == "-") throw_input_error("-o -: standard output is the program's; give a file");
  out.torch_operators = values.given("torch-operators");
  out.torch = values.given("torch") || out.torch_operators;
  out.timing_only = values.given("timing-only");
  out.memory_pass = !out.timing_only && !values.given("no-memory-pass");
  out.both_outputs = values.given("both-outputs");
  out.keep_logs = values.text("keep-logs").value_or("");
  if (values.given("keep-logs") && out.keep_logs.empty()) {
    throw_input_error("--keep-logs: the name of the folder is empty");
  }
  const std::string window = word(values, "window", {"all", "profiler"});
  const std::string warm_up = word(values, "warm-up", {"auto", "yes", "no"});
  out.warm_up = warm_up == "auto" ? WarmUp::kAuto : warm_up == "yes" ? WarmUp::kYes : WarmUp::kNo;
  out.own_settings = values.given("own-settings");
  out.all_processes = word(values, "processes", {"main", "all"}) == "all";
  out.environment = {
      {"UVMTRACE_PHASES", std::to_string(number(values, "phases", 16, 0, 64))},
      {"UVMTRACE_PHASE_BYTES", std::to_string(number(values, "phase-bytes", 33554432, 0, UINT64_MAX / 2))},
      {"UVMTRACE_ORDER", values.given("order") ? "1" : "0"},
      {"UVMTRACE_COUNTS", values.given("counts") ? "1" : "0"},
      {"UVMTRACE_WINDOW", window},
  };
  out.merge = merge_options(values);
  out.compression_level = uvmtrace::compression_level(values);
  return out;
}

}  // namespace uvmtrace
