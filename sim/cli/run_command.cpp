// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <span>

#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/run_summary.h"
#include "sim/cli/terminal.h"
#include "sim/cli/trace_runs.h"
#include "sim/config/calibration.h"
#include "sim/config/load_system.h"
#include "sim/report/event_fan.h"
#include "sim/report/glossary.h"
#include "sim/report/profile.h"
#include "sim/report/result_csv.h"
#include "sim/report/result_json.h"
#include "sim/report/run_record.h"
#include "sim/report/timeline.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kRunUsage = R"(uvmsim run TRACE --system SYSTEM [options]

Replays a trace on a system and prints how long it takes, how much data moved, and why.

Examples:
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5
      with all of the GPU's memory
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 1,1.25,1.5,2,4
      with so little memory that the program's footprint is 1, 1.25, ... times as large; one table
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 2 --prefetch tree:threshold=75 --json result.json
      another prefetch threshold; the whole result for a script
  uvmsim run gpt2.uvmt --system a100-pcie-80g --osf 1.25,1.5,2 --uncertainty
      how sure that is: a range beside each time and slowdown
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 1.5,2,4 --bounds --best-of all
      also how far that is from what no policy can beat, and from the fastest policy there is

)";

constexpr const char* kRunNotes = R"(
OSF is the oversubscription factor: footprint / capacity, where the footprint is the GPU memory (2 MiB chunks) that
holds all live managed memory at its peak under the chosen layout. Programs that take one large block and divide it
themselves (JAX, TensorFlow, RMM) need --footprint touched: a 2 MiB chunk counts from the GPU's first to its last
touch. Without --osf and --capacity-bytes the GPU's own memory is the capacity.
All slowdowns divide by the time of one run: the driver's own policies with room for all. This run has the GPU's own
memory or, if the program needs more, as much as it needs; the text then says so. In other runs more memory than the GPU
has is refused, or with --hypothetical-capacity noted in the result.
If the trace marks iterations, one of them is repeated until the run has settled, at most 64 times. Numbers are means of
the iterations from which on all agree; the line above them says after how many. A run that has not settled is marked:
its numbers are means of the later half of the passes, with the shortest and the longest. Policies that know the future
are told how long the program is: they run 32 iterations. --iterations fixes the number.
--uncertainty adds a range: the same run with the driver's costs, the link and the host's memory as fast and as slow as
machines differ. It is wider for systems whose costs were carried over from another GPU; `uvmsim systems` says which.
--bounds is about the whole run, not its settled iterations; `uvmsim bounds --help` explains it. With --best-of all runs
are 32 iterations long.
--explain-columns explains every column and counter. Sizes take a unit: 12GiB, 512MiB, 80GB. Results never contain a
file's folder, a date or a machine's name.
`uvmsim systems` and `uvmsim policies` list what --system, --prefetch and --evict take; `uvmsim systems NAME` the keys
of --set, which also multiplies all that match: --set 'costs.*=x1.25'.
)";

// The files that a run writes. They are opened before the simulation, and put in place only when all of it succeeded.
class RunOutputs {
 public:
  // Throws InputError if one of them cannot be written.
  explicit RunOutputs(const RunArguments& run)
      : json_(run.json), csv_(run.csv), standard_output_taken_(run.json == "-" || run.csv == "-") {
    std::vector<EventSink*> sinks;
    if (run.timeline) {
      timeline_ = std::make_unique<report::Timeline>(*run.timeline, run.timeline_window);
      sinks.push_back(timeline_.get());
    }
    if (run.profile) {
      profile_ = std::make_unique<report::Profile>(*run.profile, run.profile_grid);
      sinks.push_back(profile_.get());
    }
    if (!sinks.empty()) events_.emplace(std::move(sinks));
  }

  // Returns the receiver of the run's events; null if no output needs them.
  EventSink* events() { return events_ ? &*events_ : nullptr; }
  // Returns whether standard output takes results instead of the text for people.
  bool standard_output_taken() const { return standard_output_taken_; }

  void write(const std::vector<report::RunRecord>& records) {
    if (timeline_) timeline_->finish(&records.back());
    if (profile_) profile_->finish(records.back());
    // Results that were not asked for are not formatted: a result of many iterations is long.
    if (csv_.wanted()) csv_.add(report::result_csv_header());
    for (const report::RunRecord& record : records) {
      if (json_.wanted()) json_.add(report::result_json(record));
      if (csv_.wanted()) csv_.add(report::result_csv_rows(record));
    }
    json_.finish();
    csv_.finish();
  }

 private:
  ResultOutput json_, csv_;
  bool standard_output_taken_;
  std::unique_ptr<report::Timeline> timeline_;
  std::unique_ptr<report::Profile> profile_;
  std::optional<report::EventFan> events_;
};

class Runner {
 public:
  explicit Runner(const RunArguments& run) : run_(run), runs_(run), outputs_(run) { runs_.measure(); }

  void run_all() {
    std::vector<sweep::Point> chosen = points_of(run_);
    baseline_ = runs_.fitting_baseline(chosen.front());
    const bool is_baseline = runs_.resolve(chosen.front()).id == runs_.resolve(baseline_).id;
    const bool with_unlimited = run_.unlimited_run && !is_baseline;
    std::vector<sweep::Point> rivals;  // the same number for each chosen point
    for (const sweep::Point& point : chosen) {
      for (sweep::Point& rival : runs_.rivals_of(point)) rivals.push_back(std::move(rival));
    }
    // The fastest policy is found by times of whole runs, which must have the same length.
    if (!rivals.empty()) {
      for (sweep::Point& point : chosen) runs_.fix_length(point);
      for (sweep::Point& point : rivals) runs_.fix_length(point);
    }
    for (sweep::Point& point : chosen) point.bounds = run_.bounds;
    std::vector<report::RunRecord> records = run(with_unlimited, chosen, rivals);
    auto next = records.begin();
    std::vector<report::UnlimitedRun> unlimited;  // by seed
    for (std::uint64_t seed = 0; (with_unlimited || is_baseline) && seed < run_.seeds; ++seed) {
      unlimited.push_back(report::as_unlimited(next[static_cast<std::ptrdiff_t>(seed)]));
    }
    if (with_unlimited) next += static_cast<std::ptrdiff_t>(run_.seeds);
    const auto end_of_chosen = next + static_cast<std::ptrdiff_t>(chosen.size());
    records_of_runs_.assign(std::move_iterator(next), std::move_iterator(end_of_chosen));
    for (std::size_t i = 0; !unlimited.empty() && i < records_of_runs_.size(); ++i) {
      records_of_runs_[i].unlimited = unlimited[i % run_.seeds];
    }
    if (!rivals.empty()) compare(std::span(end_of_chosen, records.end()));
    if (run_.uncertainty) find_ranges(chosen, !unlimited.empty());
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
  // Runs all points at the same time: the unlimited run if it is wanted, the chosen points, their rivals. Only chosen
  // points report events and are compared with bounds.
  std::vector<report::RunRecord> run(bool with_unlimited, const std::vector<sweep::Point>& chosen,
                                     const std::vector<sweep::Point>& rivals) {
    std::vector<std::string> names;
    std::vector<sweep::PointToRun> points;
    const auto add = [&](const sweep::Point& point, bool is_chosen) {
      points.push_back({runs_.resolve(point), is_chosen ? outputs_.events() : nullptr});
    };
    if (with_unlimited) {
      names.emplace_back("room for all");
      for (std::uint64_t seed = 0; seed < run_.seeds; ++seed) {
        sweep::Point baseline = baseline_;
        baseline.seed += seed;
        add(baseline, false);
      }
    }
    for (const sweep::Point& point : chosen) {
      if (point.seed == run_.shared.seed) names.push_back(sweep::limit_text(point));
      add(point, true);
    }
    if (run_.seeds > 1) names.push_back(fmt::format("{} seeds each", run_.seeds));
    for (const sweep::Point& rival : rivals) add(rival, false);
    if (!rivals.empty()) names.push_back(fmt::format("{} runs of other policies", rivals.size()));
    return runs_.compute(sweep::run_points, fmt::format("{}", fmt::join(names, ", ")), points);
  }

  // Repeats the runs on the fastest and the slowest machine that the system may stand for, each with its own baseline.
  void find_ranges(std::vector<sweep::Point> chosen, bool with_unlimited) {
    const config::SystemConfig& system = records_of_runs_.front().options.system;
    const config::Calibration calibration = config::calibration_of(system, config::default_search_path());
    const config::Corners corners = config::corners_of(calibration.kind);
    for (report::RunRecord& record : records_of_runs_) {
      record.uncertainty = report::Uncertainty{config::calibration_text(calibration), corners.text};
      report::widen(*record.uncertainty, record);
    }
    std::vector<sweep::PointToRun> points;
    for (const std::vector<std::string>* settings : {&corners.fast, &corners.slow}) {
      const auto add = [&](sweep::Point point) {
        point.bounds = false;
        point.settings.insert(point.settings.end(), settings->begin(), settings->end());
        points.push_back({runs_.resolve(point), nullptr});
      };
      for (std::uint64_t seed = 0; with_unlimited && seed < run_.seeds; ++seed) {
        sweep::Point baseline = baseline_;
        baseline.seed += seed;
        add(std::move(baseline));
      }
      for (const sweep::Point& point : chosen) add(point);
    }
    const std::vector<report::RunRecord> records =
        runs_.compute(sweep::run_points, "the fastest and the slowest machine", points);
    auto next = records.begin();
    for (int corner = 0; corner < 2; ++corner) {
      std::vector<report::UnlimitedRun> unlimited;
      for (std::uint64_t seed = 0; with_unlimited && seed < run_.seeds; ++seed) {
        unlimited.push_back(report::as_unlimited(*next++));
      }
      for (std::size_t i = 0; i < records_of_runs_.size(); ++i) {
        report::RunRecord run = *next++;
        if (with_unlimited) run.unlimited = unlimited[i % run_.seeds];
        report::widen(*records_of_runs_[i].uncertainty, run);
      }
    }
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
  TraceRuns runs_;
  RunOutputs outputs_;
  sweep::Point baseline_;  // the run that slowdowns divide by, of the first seed
  std::vector<report::RunRecord> records_of_runs_;
};

int replay(const Values& values) {
  if (values.given("explain-columns")) {
    const auto json = values.text("json");
    if (json) {
      ResultOutput(json).write(report::glossary_json());
    } else {
      fmt::print("{}", report::glossary_text());
    }
    return 0;
  }
  const RunArguments run = read_run_options(values);
  Runner runner(run);
  runner.run_all();
  runner.write_and_print();
  return 0;
}

}  // namespace

CommandLine run_command() {
  return {.usage = kRunUsage, .options = run_options(), .notes = kRunNotes, .most_arguments = 1, .run = replay};
}

}  // namespace uvmsim::cli
