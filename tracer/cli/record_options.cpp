// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/record_options.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/trace/writer.h"
#include "tracer/cli/merge_options.h"
#include "tracer/cli/options.h"

namespace uvmtrace {

namespace {

using uvmsim::throw_input_error;

constexpr const char* kRecordUsage =
    R"(uvmtrace record [OPTIONS] -- PROGRAM ARGUMENTS...: runs a GPU program and writes its trace.

  uvmtrace record -o bfs.uvmt -- ./bfs graph.bin
  uvmtrace record -o gpt2.uvmt --torch -- python train.py --steps 3

The program runs twice: once for times, at nearly its own speed, once for accesses, tens of times slower. Both runs must
do the same (fix its seeds); a beginning in which they differ is left out. Scripts that compile (torch.compile, Triton,
JAX) run once before, to fill the compilers' caches. Shown is what the run for times prints; its exit code is returned.
)";

}  // namespace

RecordOptions RecordOptions::parse(const std::vector<std::string>& arguments) {
  auto list = make_options();
  add_text(list, "output,o", "FILE", "where to, ends in .uvmt or .jsonl; default trace.uvmt");
  add_flag(list, "torch", "PyTorch: tensors, modules, iterations (a helper in PYTHONPATH, the script stays as it is)");
  add_flag(list, "torch-operators",
           "PyTorch: also what operators say they read and write, for kernels that cannot be seen");
  add_text(list, "phases", "K", "slices of the thread blocks whose accesses are told apart, 0 to 64; default 16");
  add_text(list, "phase-bytes", "B", "only for kernels that touch more than this; default 33554432");
  add_flag(list, "order", "record in which order 64 KB pages are touched first");
  add_flag(list, "counts", "record how often 64 KB pages are accessed");
  add_text(list, "window", "WHEN", "all (default), or profiler: accesses only between cudaProfilerStart and Stop");
  add_flag(list, "timing-only", "one run: accesses from operators and launch parameters only");
  add_text(list, "warm-up", "WHEN",
           "a run before that is not recorded and fills compilers' caches: auto (default, where the script uses "
           "torch.compile, Triton or JAX), yes, no");
  add_flag(list, "own-settings", "leave the environment alone; else compilers are set to choose the same in every run");
  add_text(list, "processes", "WHICH",
           "main (default, the one with most launches), or all: a trace of each, out.0.uvmt, out.1.uvmt, ...");
  add_flag(list, "both-outputs", "show what the runs print whose output is hidden, too");
  add_text(list, "keep-logs", "FOLDER",
           "keep the logs of both passes there, in a new or empty folder, and what the second run printed");
  add_merge_options(list);

  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const Options options("record", kRecordUsage, list, Arguments(arguments.begin(), dashes), 1);
  RecordOptions out;
  out.help = options.help();
  if (out.help) return out;
  if (!options.positional().empty()) {
    throw_input_error("put -- before the program: uvmtrace record ... -- {} ...", options.positional().front());
  }
  if (dashes == arguments.end() || dashes + 1 == arguments.end()) {
    throw_input_error("no program given: uvmtrace record ... -- PROGRAM ARGUMENTS...");
  }
  out.program.assign(dashes + 1, arguments.end());
  out.output = options.given("output") ? options.text("output") : "trace.uvmt";
  trace::format_of_path(out.output);  // refuses other endings
  if (out.output == "-") throw_input_error("-o -: standard output is the program's; give a file");
  out.torch_operators = options.flag("torch-operators");
  out.torch = options.flag("torch") || out.torch_operators;
  out.timing_only = options.flag("timing-only");
  out.both_outputs = options.flag("both-outputs");
  out.keep_logs = options.text("keep-logs");
  if (options.given("keep-logs") && out.keep_logs.empty()) {
    throw_input_error("--keep-logs: the name of the folder is empty");
  }
  const std::string window = options.given("window") ? options.text("window") : "all";
  if (window != "all" && window != "profiler") {
    throw_input_error("--window: '{}' will not do; allowed: all, profiler", window);
  }
  const std::string warm_up = options.given("warm-up") ? options.text("warm-up") : "auto";
  if (warm_up != "auto" && warm_up != "yes" && warm_up != "no") {
    throw_input_error("--warm-up: '{}' will not do; allowed: auto, yes, no", warm_up);
  }
  out.warm_up = warm_up == "auto" ? WarmUp::kAuto : warm_up == "yes" ? WarmUp::kYes : WarmUp::kNo;
  out.own_settings = options.flag("own-settings");
  const std::string processes = options.given("processes") ? options.text("processes") : "main";
  if (processes != "main" && processes != "all") {
    throw_input_error("--processes: '{}' will not do; allowed: main, all", processes);
  }
  out.all_processes = processes == "all";
  out.environment = {
      {"UVMTRACE_PHASES", std::to_string(options.number("phases", 16, 0, 64))},
      {"UVMTRACE_PHASE_BYTES", std::to_string(options.number("phase-bytes", 33554432, 0, UINT64_MAX / 2))},
      {"UVMTRACE_ORDER", options.flag("order") ? "1" : "0"},
      {"UVMTRACE_COUNTS", options.flag("counts") ? "1" : "0"},
      {"UVMTRACE_WINDOW", window},
  };
  out.merge = merge_options(options);
  out.compression_level = uvmtrace::compression_level(options);
  return out;
}

}  // namespace uvmtrace
