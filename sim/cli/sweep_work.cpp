// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sweep_work.h"

#include <fmt/format.h>

#include "sim/cli/exit_codes.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/sweep_display.h"
#include "sim/cli/values.h"
#include "sim/common/error.h"
#include "sim/common/in_parallel.h"
#include "sim/sweep/collect.h"
#include "sim/sweep/run_sweep.h"

namespace uvmsim::cli {

namespace {

namespace po = boost::program_options;

}  // namespace

std::string output_of(const po::variables_map& values, const std::string& command) {
  const auto folder = text_of(values, "output");
  if (!folder || folder->empty()) throw_input_error("{}: option --output (-o DIR) is missing", command);
  return *folder;
}

std::size_t jobs_of(const po::variables_map& values) {
  const auto given = text_of(values, "jobs");
  if (!given) return available_cpus();
  constexpr std::uint64_t kMost = 1024;
  const std::uint64_t jobs = parse_unsigned("--jobs", *given);
  if (jobs == 0 || jobs > kMost) throw_input_error("--jobs: {} is not allowed; allowed: 1 to {}", jobs, kMost);
  return jobs;
}

std::chrono::seconds point_limit_of(const po::variables_map& values) {
  const auto given = text_of(values, "seconds-per-point");
  if (!given) return {};
  constexpr std::uint64_t kMost = 1'000'000;
  const std::uint64_t seconds = parse_unsigned("--seconds-per-point", *given);
  if (seconds == 0 || seconds > kMost) {
    throw_input_error("--seconds-per-point: {} is not allowed; allowed: 1 to {}", *given, kMost);
  }
  return std::chrono::seconds(seconds);
}

Work work_of(const po::variables_map& values) { return {jobs_of(values), point_limit_of(values)}; }

void print_failures(const sweep::SweepStatus& status) {
  for (const sweep::FailedPoint& failed : status.failed) {
    fmt::print("failed: {}: {} (point {}, {})\n", one_line(failed.label), one_line(failed.error), failed.position,
               failed.id.substr(0, 12));
  }
}

int run_plan(const sweep::Plan& plan, const std::string& folder, sweep::Shard shard, Work work) {
  SweepDisplay display;
  sweep::SweepProgress last;
  sweep::SweepRun run;
  run.shard = shard;
  run.jobs = work.jobs;
  run.point_limit = work.point_limit;
  run.progress = [&](const sweep::SweepProgress& progress) {
    last = progress;
    throw_if_interrupted();
    display.update(progress);
  };
  run.failed = [&](const std::string& label, const std::string& error) { display.failed(label, error); };
  try {
    last = sweep::run_sweep(plan, folder, run);
  } catch (const Interrupted&) {
    fmt::print(stderr, "\nuvmsim: interrupted, {} of {} points are finished; `uvmsim sweep run {}` goes on\n",
               last.finished, last.points, folder);
    return kInterrupted;
  }
  fmt::print("{}: {} of {} points finished, {} failed\n", folder, last.finished, last.points, last.failed);
  return last.failed == 0 ? kFine : kFailed;
}

int collect_plan(const sweep::Plan& plan, const std::string& folder, bool partial) {
  const sweep::Collected collected = sweep::collect(plan, folder, partial);
  const sweep::SweepStatus& status = collected.status;
  if (!collected.written) {
    print_failures(status);
    fmt::print(stderr,
               "uvmsim: {}: {} of {} points finished, {} failed, {} missing: nothing collected; `uvmsim sweep run {}` "
               "computes the rest, --partial collects what there is\n",
               folder, status.finished, status.planned, status.failed.size(), status.missing(), folder);
    return kFailed;
  }
  fmt::print("{}\n{}\n", collected.database, collected.csv);
  if (!status.complete()) fmt::print("partial: {} of {} points\n", status.finished, status.planned);
  return kFine;
}

}  // namespace uvmsim::cli
