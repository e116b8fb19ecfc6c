// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <iterator>
#include <optional>
#include <span>

#include "sim/cli/best_known.h"
#include "sim/cli/bounds_text.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/progress.h"
#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/run_outputs.h"
#include "sim/cli/run_summary.h"
#include "sim/cli/run_to_points.h"
#include "sim/cli/terminal.h"
#include "sim/common/in_parallel.h"
#include "sim/report/glossary.h"
#include "sim/report/run_record.h"
#include "sim/sweep/run_point.h"

namespace uvmsim::cli {
namespace {

// Several runs replay the trace from memory up to this size.
constexpr std::uint64_t kLargestKeptTrace = std::uint64_t{256} << 20;

class Runner {
 public:
  explicit Runner(const RunArguments& run)
      : run_(run),
        resolver_(kLargestKeptTrace),
        shared_(shared_point(run)),
        trace_(resolver_.trace(shared_)),
        progress_(run.verbose),
        outputs_(run) {
    // Finds what is wrong before the trace is read.
    layout_ = resolver_.resolve(shared_).record.options.layout;
    for (const sweep::Point& rival : rivals_of(run, shared_, resolver_.registry())) resolver_.resolve(rival);
  }

  void measure() {
    progress_.begin("reading " + trace_.name(), 0);
    const std::uint64_t footprint = sweep::divided_footprint_bytes(shared_, layout_, trace_, reporter());
    progress_.end();
    if (trace_.truncated()) {
      fmt::print(stderr, "uvmsim: {}; using the {} records before\n", trace_.truncation(), trace_.records());
    }
    // Before the first of several runs.
    for (const std::uint64_t osf : run_.osf_thousandths) sweep::check_factor(osf, footprint, "--osf", trace_.name());
  }

  void run_all() {
    std::vector<sweep::Point> chosen = points_of(run_);
    const sweep::Point& first = chosen.front();
    const bool is_baseline = resolver_.resolve(first).id == resolver_.resolve(sweep::baseline_of(first)).id;
    const bool with_unlimited = run_.unlimited_run && !is_baseline;
    std::vector<sweep::Point> rivals;  // the same number for each chosen point
    for (const sweep::Point& point : chosen) {
      for (sweep::Point& rival : rivals_of(run_, point, resolver_.registry())) rivals.push_back(std::move(rival));
    }
    for (sweep::Point& point : chosen) point.bounds = run_.bounds;
    std::vector<report::RunRecord> records = run(with_unlimited, chosen, rivals);
    auto next = records.begin();
    std::vector<report::UnlimitedRun> unlimited;  // by seed
    for (std::uint64_t seed = 0; (with_unlimited || is_baseline) && seed < run_.seeds; ++seed) {
      unlimited.push_back(report::as_unlimited(next[static_cast<std::ptrdiff_t>(seed)].result));
    }
    if (with_unlimited) next += static_cast<std::ptrdiff_t>(run_.seeds);
    const auto end_of_chosen = next + static_cast<std::ptrdiff_t>(chosen.size());
    records_of_runs_.assign(std::move_iterator(next), std::move_iterator(end_of_chosen));
    for (std::size_t i = 0; !unlimited.empty() && i < records_of_runs_.size(); ++i) {
      records_of_runs_[i].unlimited = unlimited[i % run_.seeds];
    }
    if (!rivals.empty()) compare(std::span(end_of_chosen, records.end()));
  }

  void write_and_print() {
    outputs_.write(records_of_runs_);
    if (outputs_.standard_output_taken()) return;
    const std::string text =
        records_of_runs_.size() == 1 ? run_summary(records_of_runs_.front()) : runs_table(records_of_runs_, run_.seeds);
    fmt::print("{}", with_headline(STDOUT_FILENO, text));
    if (run_.bounds) fmt::print("{}", distances_table(records_of_runs_));
  }

 private:
  sweep::ReadProgress reporter() {
    return [this](std::uint64_t done) {
      throw_if_interrupted();
      progress_.update(done);
    };
  }

  // All at the same time: the unlimited run if it is wanted, the chosen points, their rivals. Only what is chosen tells
  // its events and is compared with bounds.
  std::vector<report::RunRecord> run(bool with_unlimited, const std::vector<sweep::Point>& chosen,
                                     const std::vector<sweep::Point>& rivals) {
    std::vector<std::string> names;
    std::vector<sweep::PointToRun> runs;
    const auto add = [&](const sweep::Point& point, bool is_chosen) {
      runs.push_back({resolver_.resolve(point), is_chosen ? outputs_.events() : nullptr});
    };
    if (with_unlimited) {
      names.emplace_back("no limit");
      for (std::uint64_t seed = 0; seed < run_.seeds; ++seed) {
        sweep::Point baseline = sweep::baseline_of(shared_);
        baseline.seed += seed;
        add(baseline, false);
      }
    }
    for (const sweep::Point& point : chosen) {
      if (point.seed == run_.seed) names.push_back(sweep::limit_text(point));
      add(point, true);
    }
    if (run_.seeds > 1) names.push_back(fmt::format("{} seeds each", run_.seeds));
    for (const sweep::Point& rival : rivals) add(rival, false);
    if (!rivals.empty()) names.push_back(fmt::format("{} runs of other policies", rivals.size()));
    progress_.begin(fmt::format("{}", fmt::join(names, ", ")), trace_.records() * runs.size());
    std::vector<report::RunRecord> records = sweep::run_points(runs, trace_, available_cpus(), reporter());
    progress_.end();
    return records;
  }

  void compare(std::span<const report::RunRecord> rivals) {
    const std::size_t of_each = rivals.size() / records_of_runs_.size();
    for (report::RunRecord& record : records_of_runs_) {
      note_known(*record.bounds, record);
      for (const report::RunRecord& rival : rivals.first(of_each)) note_known(*record.bounds, rival);
      rivals = rivals.subspan(of_each);
    }
  }

  const RunArguments& run_;
  sweep::Resolver resolver_;
  layout::LayoutChoice layout_;  // on this system
  sweep::Point shared_;
  sweep::TraceInput& trace_;
  Progress progress_;
  RunOutputs outputs_;
  std::vector<report::RunRecord> records_of_runs_;
};

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  const RunArguments run = parse_run_arguments(arguments);
  if (run.help) {
    fmt::print("{}", run_help());
    return 0;
  }
  if (run.explain_columns) {
    ResultOutput output(run.json);
    if (output.wanted()) {
      output.write(report::glossary_json());
    } else {
      fmt::print("{}", report::glossary_text());
    }
    return 0;
  }
  Runner runner(run);
  runner.measure();
  runner.run_all();
  runner.write_and_print();
  return 0;
}

}  // namespace uvmsim::cli
