// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sweep_work.h"
#include "sim/cli/say.h"

#include <fmt/format.h>

#include "sim/cli/interrupt.h"
#include "sim/cli/progress.h"
#include "sim/common/error.h"
#include "sim/common/in_parallel.h"
#include "sim/common/plain_text.h"
#include "sim/sweep/collect.h"

namespace uvmsim::cli {
namespace {

std::string time_left(const sweep::SweepProgress& progress) {
  if (!progress.left) return "";
  const auto left = progress.left->count() / 1000;
  if (left >= 3600) return fmt::format(", about {}:{:02}:{:02} left", left / 3600, left / 60 % 60, left % 60);
  return fmt::format(", about {}:{:02} left", left / 60, left % 60);
}

// Names the point that has run longest of those that still run.
std::string longest(const sweep::SweepProgress& progress) {
  if (progress.running.empty()) return "";
  const auto& one = progress.running.front();
  return fmt::format("; running: {} ({} s){}", one.label, one.elapsed.count() / 1000,
                     progress.running.size() == 1 ? "" : fmt::format(" and {} more", progress.running.size() - 1));
}

std::string progress_text(const sweep::SweepProgress& progress) {
  return fmt::format("{} of {} points{}{}{}", progress.finished, progress.points,
                     progress.failed == 0 ? "" : fmt::format(", {} failed", progress.failed), time_left(progress),
                     longest(progress));
}

}  // namespace

std::string output_of(const Values& values, const std::string& command) {
  const std::string folder = values.text("output").value_or("");
  if (folder.empty()) throw_input_error("{}: option --output (-o DIR) is missing", command);
  return folder;
}

std::size_t jobs_of(const Values& values) { return values.number("jobs", available_cpus(), {1, 1024}); }

sweep::SweepRun work_of(const Values& values) {
  sweep::SweepRun run;
  run.jobs = jobs_of(values);
  run.point_limit =
      std::chrono::seconds(values.number("seconds-per-point", 0, {.least = 1, .most = 1'000'000, .as_typed = true}));
  return run;
}

void print_failures(const sweep::SweepStatus& status) {
  for (const sweep::FailedPoint& failed : status.failed) {
    fmt::print("failed: {}: {} (point {}, {})\n", plain_text(failed.label), plain_line(failed.error), failed.position,
               failed.id.substr(0, 12));
  }
}

int run_plan(const sweep::Plan& plan, const std::string& folder, sweep::SweepRun run) {
  StatusLine line;
  sweep::SweepProgress last;
  run.progress = [&](const sweep::SweepProgress& progress) {
    last = progress;
    throw_if_interrupted();
    if (!line.is_due()) return;
    const std::string text = progress_text(progress);
    line.show(fmt::format("{} {}", StatusLine::bar(progress.done_thousandths, 1000), text), text);
  };
  run.failed = [&](const std::string& label, const std::string& error) {
    line.erase();
    say("uvmsim: failed: {}: {}", plain_text(label), error);
  };
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
    say("uvmsim: {}: {} of {} points finished, {} failed, {} missing: nothing collected; `uvmsim sweep run {}` "
        "computes the rest, --partial collects what there is",
        folder, status.finished, status.planned, status.failed.size(), status.missing(), folder);
    return kFailed;
  }
  fmt::print("{}\n{}\n", collected.database, collected.csv);
  if (!status.complete()) fmt::print("partial: {} of {} points\n", status.finished, status.planned);
  return kFine;
}

}  // namespace uvmsim::cli
