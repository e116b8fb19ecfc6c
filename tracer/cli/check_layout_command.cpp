// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/common/error.h"
#include "tracer/cli/commands.h"
#include "tracer/cli/write_trace.h"
#include "tracer/merge/layout_check.h"

namespace uvmtrace {

namespace {

constexpr const char* kCheckLayoutUsage =
    R"(uvmtrace check-layout TRACE...: does the model of PyTorch's caching allocator place the tensors as recorded?

  uvmtrace check-layout gpt2.uvmt

Replays what the program asked the allocator for, compares segment and offset of every tensor, and exits with 1 when
fewer than 99.9 % agree. Needs traces recorded with --torch and the default allocator.

)";

constexpr std::uint32_t kNeededThousandths = 999;

int check_layouts(const Values& values) {
  values.first("no trace given; `uvmtrace check-layout --help` shows an example");
  int code = 0;
  for (const std::string& path : values.arguments()) {
    trace::TraceReader reader(path);
    const LayoutCheck check = check_layout(reader);
    if (check.tensors == 0) {
      uvmsim::throw_input_error("{}: no tensor has a recorded placement; record with --torch and the default allocator",
                                path);
    }
    const bool good = check.at_least(kNeededThousandths);
    fmt::print("{}: {} of {} tensors ({} %) where they were recorded, in {} of {} segments{}\n", path, check.equal,
               check.tensors, percent(check.equal, check.tensors), check.model_segments, check.segments,
               good ? "" : "; at least 99.9 % are needed");
    if (check.unplaced != 0) fmt::print("  {} tensors have no recorded placement\n", check.unplaced);
    if (check.segments_freed != 0) {
      fmt::print("  {} segments were given back while recording; the model emptied its cache\n", check.segments_freed);
    }
    if (!check.first_difference.empty()) fmt::print("  first difference: {}\n", check.first_difference);
    code = good ? code : 1;
  }
  return code;
}

}  // namespace

CommandLine check_layout_command() {
  return {.usage = kCheckLayoutUsage, .options = {kHelp}, .most_arguments = 1000000, .run = check_layouts};
}

}  // namespace uvmtrace
