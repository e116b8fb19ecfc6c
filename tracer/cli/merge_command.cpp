// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>

#include "sim/common/error.h"
#include "tracer/cli/commands.h"
#include "tracer/cli/merge_options.h"
#include "tracer/cli/options.h"
#include "tracer/cli/write_trace.h"
#include "tracer/merge/log_reader.h"

namespace uvmtrace {

namespace {

constexpr const char* kMergeUsage =
    R"(uvmtrace merge TIMING [ACCESS] -o OUT.uvmt: joins the logs of the two passes into a trace.

  uvmtrace merge logs/timing.4711.jsonl logs/access.4712.jsonl -o gpt2.uvmt
  uvmtrace merge logs/timing.4711.jsonl -o gpt2.uvmt      accesses from operators and launch parameters only

Fails when fewer than 99 % of the launches match, and shows the first that differ.
)";

}  // namespace

int merge_command(const Arguments& arguments) {
  auto list = make_options();
  add_text(list, "output,o", "FILE", "where to, ends in .uvmt or .jsonl");
  add_merge_options(list);
  const Options options("merge", kMergeUsage, list, arguments, 2);
  if (options.help()) return 0;
  if (options.positional().empty()) uvmsim::throw_input_error("no log given; `uvmtrace merge --help` shows examples");
  if (!options.given("output")) {
    uvmsim::throw_input_error("no output given: add -o FILE; `uvmtrace merge --help` shows examples");
  }
  const MergeOptions merge = merge_options(options);
  const int level = compression_level(options);
  const PassLog timing = read_log(options.positional()[0], Pass::kTiming);
  std::optional<PassLog> access;
  if (options.positional().size() == 2) access = read_log(options.positional()[1], Pass::kAccess);
  const PassLog* second = access ? &*access : nullptr;
  const std::string output = options.text("output");
  const WrittenTrace written = write_trace(timing, second, merge, output, level);
  fmt::print(stderr, "{}", describe(written, timing, second, output));
  return 0;
}

}  // namespace uvmtrace
