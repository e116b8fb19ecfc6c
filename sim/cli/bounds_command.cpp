// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/best_known.h"
#include "sim/cli/bounds_text.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/progress.h"
#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/run_to_points.h"
#include "sim/common/in_parallel.h"
#include "sim/report/result_json.h"
#include "sim/sweep/run_point.h"

namespace uvmsim::cli {
namespace {

// Several limits read the trace from memory up to this size.
constexpr std::uint64_t kLargestBoundedTrace = std::uint64_t{256} << 20;

class Bounder {
 public:
  explicit Bounder(const RunArguments& run)
      : run_(run),
        resolver_(kLargestBoundedTrace),
        trace_(resolver_.trace(shared_point(run))),
        progress_(run.verbose),
        output_(run.json) {
    // Finds what is wrong before the trace is read.
    layout_ = resolver_.resolve(shared_point(run)).record.options.layout;
    for (const sweep::Point& rival : rivals_of(run, shared_point(run), resolver_.registry())) resolver_.resolve(rival);
  }

  std::vector<report::RunRecord> bounds() {
    progress_.begin("reading " + trace_.name(), 0);
    const std::uint64_t footprint = sweep::divided_footprint_bytes(shared_point(run_), layout_, trace_, reporter());
    progress_.end();
    if (trace_.truncated()) {
      fmt::print(stderr, "uvmsim: {}; using the {} records before\n", trace_.truncation(), trace_.records());
    }
    for (const std::uint64_t osf : run_.osf_thousandths) sweep::check_factor(osf, footprint, "--osf", trace_.name());
    const std::vector<sweep::Point> points = points_of(run_);
    std::vector<sweep::PointToRun> limits;
    std::vector<std::string> names;
    for (const sweep::Point& point : points) {
      limits.push_back({resolver_.resolve(point), nullptr});
      names.push_back(sweep::limit_text(point));
    }
    progress_.begin(fmt::format("bounds, {}", fmt::join(names, ", ")), trace_.records() * limits.size());
    std::vector<report::RunRecord> records = sweep::bound_points(limits, trace_, available_cpus(), reporter());
    progress_.end();
    for (std::size_t i = 0; i < points.size(); ++i) compare(points[i], *records[i].bounds);
    return records;
  }

  void write(const std::vector<report::RunRecord>& records) {
    if (!output_.wanted()) return;
    std::string json;
    for (const report::RunRecord& record : records) json += report::bounds_json(record);
    output_.write(json);
  }

 private:
  sweep::ReadProgress reporter() {
    return [this](std::uint64_t done) {
      throw_if_interrupted();
      progress_.update(done);
    };
  }

  void compare(const sweep::Point& point, report::RunBounds& bounds) {
    std::vector<sweep::PointToRun> rivals;
    for (const sweep::Point& rival : rivals_of(run_, point, resolver_.registry())) {
      rivals.push_back({resolver_.resolve(rival), nullptr});
    }
    if (rivals.empty()) return;
    progress_.begin("policies, " + sweep::limit_text(point), trace_.records() * rivals.size());
    for (const report::RunRecord& record : sweep::run_points(rivals, trace_, available_cpus(), reporter())) {
      note_known(bounds, record);
    }
    progress_.end();
  }

  const RunArguments& run_;
  sweep::Resolver resolver_;
  layout::LayoutChoice layout_;  // on this system
  sweep::TraceInput& trace_;
  Progress progress_;
  ResultOutput output_;
};

}  // namespace

int bounds_command(const std::vector<std::string>& arguments) {
  const RunArguments run = parse_bounds_arguments(arguments);
  if (run.help) {
    fmt::print("{}", bounds_help());
    return 0;
  }
  Bounder bounder(run);
  const std::vector<report::RunRecord> records = bounder.bounds();
  bounder.write(records);
  if (run.json != "-") fmt::print("{}", bounds_summary(records));
  return 0;
}

}  // namespace uvmsim::cli
