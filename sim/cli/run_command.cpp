#include "sim/cli/run_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "sim/cli/interrupt.h"
#include "sim/cli/progress.h"
#include "sim/cli/run_options.h"
#include "sim/cli/run_outputs.h"
#include "sim/cli/run_summary.h"
#include "sim/cli/run_to_points.h"
#include "sim/report/run_record.h"
#include "sim/sweep/run_points.h"
#include "sim/sweep/worker_pool.h"

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
    resolver_.resolve(shared_);  // finds what is wrong before the trace is read
  }

  void measure() {
    progress_.begin("reading " + trace_.name(), 0);
    const std::uint64_t measured = trace_.footprint_bytes(run_.layout, run_.iterations, reporter());
    progress_.end();
    if (trace_.truncated()) {
      fmt::print(stderr, "uvmsim: {}; using the {} records before\n", trace_.truncation(), trace_.records());
    }
    // Before the first of several runs.
    for (const std::uint64_t osf : run_.osf_thousandths) {
      sweep::check_factor(osf, run_.footprint_bytes != 0 ? run_.footprint_bytes : measured, "--osf", trace_.name());
    }
  }

  void run_all() {
    const bool limited = run_.capacity_bytes != 0 || !run_.osf_thousandths.empty();
    const bool unlimited_run = !limited || run_.unlimited_run;
    std::vector<sweep::Point> points = points_of(run_);
    if (limited && unlimited_run) points.insert(points.begin(), shared_);
    records_of_runs_ = run(points, limited);
    if (!limited || !unlimited_run) return;
    const RunResult& without = records_of_runs_.front().result;
    const auto settled = report::settled_iterations(without);
    const report::UnlimitedRun unlimited{without.total, settled ? settled->duration : Nanoseconds{},
                                         without.counters.evictions};
    records_of_runs_.erase(records_of_runs_.begin());
    for (report::RunRecord& record : records_of_runs_) record.unlimited = unlimited;
  }

  void write_and_print() {
    outputs_.write(records_of_runs_);
    if (outputs_.standard_output_taken()) return;
    fmt::print("{}",
               records_of_runs_.size() == 1 ? run_summary(records_of_runs_.front()) : runs_table(records_of_runs_));
  }

 private:
  sweep::ReadProgress reporter() {
    return [this](std::uint64_t done) {
      throw_if_interrupted();
      progress_.update(done);
    };
  }

  // At the same time. A timeline or profile is of a run with a limit, if there is one.
  std::vector<report::RunRecord> run(const std::vector<sweep::Point>& points, bool limited) {
    std::vector<std::string> names;
    std::vector<sweep::PointToRun> runs;
    for (const sweep::Point& point : points) {
      names.push_back(sweep::limit_text(point));
      const bool observed = !limited || point.osf_thousandths != 0 || point.capacity_bytes != 0;
      runs.push_back({resolver_.resolve(point), observed ? outputs_.events() : nullptr});
    }
    progress_.begin(fmt::format("{}", fmt::join(names, ", ")), trace_.records() * points.size());
    std::vector<report::RunRecord> records = sweep::run_points(runs, trace_, sweep::available_cpus(), reporter());
    progress_.end();
    return records;
  }

  const RunArguments& run_;
  sweep::Resolver resolver_;
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
  const InterruptGuard guard;
  Runner runner(run);
  runner.measure();
  runner.run_all();
  runner.write_and_print();
  return 0;
}

}  // namespace uvmsim::cli
