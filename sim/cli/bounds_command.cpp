// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/run_summary.h"
#include "sim/cli/trace_runs.h"
#include "sim/report/result_json.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kBoundsUsage = R"(uvmsim bounds TRACE --system SYSTEM [options]

Computes how fast the program can be at best on a system with so little GPU memory, whatever the prefetch and eviction
policies do, and how much data must move. Nothing is simulated.

Examples:
  uvmsim bounds gpt2.uvmt --system a100-pcie-80g --osf 1.25,2,4
      one row per oversubscription factor
  uvmsim bounds gpt2.uvmt --system a100-pcie-80g --osf 2 --layout none --json bounds.json
      every tensor by itself; all numbers for a script
  uvmsim bounds gpt2.uvmt --system a100-pcie-80g --osf 2 --best-of tree+lru --best-of none+lrm
      also simulates two pairs of policies and compares the faster one with the bound

)";

constexpr const char* kBoundsNotes = R"(
Times are lower bounds of the whole program (with 32 iterations, if the trace marks some and --iterations says no other
number), each at least the one before:
  compute      everything is in GPU memory and that costs nothing: the ideal time of `uvmsim run`
  cold         data that the host wrote must also arrive before the kernels that use it end
  MIN          data that cannot have stayed in memory since its last use must also be fetched again (Belady's MIN)
  windowed     between any two points of the program, no more than fits in memory can have been fetched before the first
  write-backs  data that must leave memory takes time as well; the best bound
HtoD and DtoH: the least that any policy moves to the GPU and back. No policy of the simulator is ever below any of
these; real drivers that read host memory from afar may be. Faults, calls and wake-ups cost nothing in a bound, and a
kernel needs each of its pages once, so that kernels much larger than memory have a low bound.
Without --osf and --capacity-bytes the GPU's own memory is the capacity. What is assumed: sim/bounds/README.md.
)";

// Simulates the policies that --best-of names, and notes the fastest.
void compare(TraceRuns& runs, const sweep::Point& point, report::RunBounds& bounds) {
  std::vector<sweep::PointToRun> rivals;
  for (const sweep::Point& rival : runs.rivals_of(point)) rivals.push_back({runs.resolve(rival)});
  if (rivals.empty()) return;
  const std::string step = "policies, " + sweep::limit_text(point);
  for (const report::RunRecord& record : runs.compute(sweep::run_points, step, rivals)) note_known(bounds, record);
}

std::vector<report::RunRecord> bounds_of(TraceRuns& runs, const RunArguments& run) {
  runs.measure();
  std::vector<sweep::Point> points = points_of(run);
  for (sweep::Point& point : points) runs.fix_length(point);
  std::vector<sweep::PointToRun> limits;
  std::vector<std::string> names;
  for (const sweep::Point& point : points) {
    limits.push_back({runs.resolve(point)});
    names.push_back(sweep::limit_text(point));
  }
  const std::string step = fmt::format("bounds, {}", fmt::join(names, ", "));
  std::vector<report::RunRecord> records = runs.compute(sweep::bound_points, step, limits);
  for (std::size_t i = 0; i < points.size(); ++i) compare(runs, points[i], *records[i].bounds);
  return records;
}

int print_bounds(const Values& values) {
  const RunArguments run = read_bounds_options(values);
  TraceRuns runs(run);
  ResultOutput output(run.json);
  const std::vector<report::RunRecord> records = bounds_of(runs, run);
  std::string json;
  for (const report::RunRecord& record : records) json += report::bounds_json(record);
  output.write(json);
  if (run.json != "-") fmt::print("{}", bounds_summary(records));
  return 0;
}

}  // namespace

CommandLine bounds_command() {
  return {.usage = kBoundsUsage,
          .options = bounds_options(),
          .notes = kBoundsNotes,
          .most_arguments = 1,
          .run = print_bounds};
}

}  // namespace uvmsim::cli
