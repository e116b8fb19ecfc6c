// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>

#include "sim/common/error.h"
#include "tracer/cli/commands.h"
#include "tracer/cli/merge_options.h"
#include "tracer/cli/write_trace.h"
#include "tracer/merge/log_reader.h"

namespace uvmtrace {

namespace {

constexpr const char* kMergeUsage =
    R"(uvmtrace merge TIMING [ACCESS] -o OUT.uvmt: joins the logs of the passes into a trace.

  uvmtrace merge logs/timing.4711.jsonl logs/access.4712.jsonl --memory logs/memory.4713.jsonl -o gpt2.uvmt
  uvmtrace merge logs/timing.4711.jsonl -o gpt2.uvmt      accesses from operators and launch parameters only

Fails when fewer than 99 % of the launches match, and shows the first that differ.

)";

int merge_logs(const Values& values) {
  values.first("no log given; `uvmtrace merge --help` shows examples");
  const std::string output =
      values.required("output", "no output given: add -o FILE; `uvmtrace merge --help` shows examples");
  const MergeOptions merge = merge_options(values);
  const int level = compression_level(values);
  const PassLog timing = read_log(values.arguments()[0], Pass::kTiming);
  std::optional<PassLog> access;
  if (values.arguments().size() == 2) access = read_log(values.arguments()[1], Pass::kAccess);
  std::optional<PassLog> memory;
  if (const auto path = values.text("memory")) memory = read_log(*path, Pass::kMemory);
  const PassLogs logs{&timing, access ? &*access : nullptr, memory ? &*memory : nullptr};
  const WrittenTrace written = write_trace(logs, merge, output, level);
  fmt::print(stderr, "{}", describe(written, logs, output));
  return 0;
}

}  // namespace

CommandLine merge_command() {
  CommandLine line{
      .usage = kMergeUsage,
      .options = {kHelp,
                  {"output,o", "FILE", "where to, ends in .uvmt or .jsonl"},
                  {"memory", "LOG", "the log of the memory pass: what the process takes beside allocations"}},
      .most_arguments = 2,
      .run = merge_logs};
  add_merge_options(line.options);
  return line;
}

}  // namespace uvmtrace
