// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <vector>

#include "sim/common/error.h"
#include "sim/trace/reader.h"
#include "sim/trace/validate.h"
#include "sim/trace/writer.h"
#include "tracer/cli/commands.h"
#include "tracer/cli/merge_options.h"
#include "tracer/merge/workspaces.h"

namespace uvmtrace {

namespace {

constexpr const char* kCompleteUsage =
    R"(uvmtrace complete TRACE -o OUT.uvmt: adds accesses to workspaces, in which kernels exchange data.

  uvmtrace complete old.uvmt -o resnet50.uvmt

Kernels that load by tensor copies cannot be instrumented. Their accesses to a library's workspace are inferred from the
kernels around them; `merge` and `record` do the same. A completed trace stays as it is.

)";

int complete(const Values& values) {
  if (values.arguments().empty() || !values.given("output")) {
    uvmsim::throw_input_error("needs a trace and -o FILE; `uvmtrace complete --help` shows an example");
  }
  trace::TraceReader reader(values.arguments().front());
  std::vector<trace::Record> records;
  for (trace::Record record; reader.next(record);) records.push_back(record);
  const WorkspaceSummary done = complete_workspaces(records);
  const std::string output = *values.text("output");
  trace::TraceWriter writer(output, reader.header(), {compression_level(values)});
  trace::Validator validator(output, reader.header());
  for (const trace::Record& record : records) {
    validator.check(record);
    writer.write(record);
  }
  validator.finish();
  writer.finish();
  fmt::print("{}: {} kernels changed: {} MiB of workspaces added, {} MiB of operands left out\n", output, done.kernels,
             done.added_bytes >> 20, done.removed_bytes >> 20);
  return 0;
}

}  // namespace

CommandLine complete_command() {
  return {.usage = kCompleteUsage,
          .options = {kHelp, {"output,o", "FILE", "where to, ends in .uvmt or .jsonl"}, kLevel},
          .most_arguments = 1,
          .run = complete};
}

}  // namespace uvmtrace
