// SPDX-License-Identifier: Apache-2.0
#include "sim/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/common/units.h"
#include "sim/config/load_system.h"
#include "sim/report/numbers.h"

namespace uvmsim::fit {
namespace {

constexpr std::uint64_t kFinestStep = 50;  // thousandths of a factor

// A run and its baseline.
struct Pair {
  sweep::Point point, baseline;
};

class Study {
 public:
  Study(const Request& request, sweep::Resolver& resolver, const Compute& compute)
      : request_(request), resolver_(resolver), compute_(compute) {
    for (const std::string& system : request.systems) {
      sweep::Point point = request.program;
      point.system = system;
      sweep::Point baseline = sweep::fitting_baseline(point, resolver);
      pairs_.push_back({std::move(point), std::move(baseline)});
    }
  }

  std::vector<Machine> answer() {
    machines_.resize(pairs_.size());
    run_whole_gpus();
    find_ranges();
    change_one_thing();
    find_affordable_factors();
    return std::move(machines_);
  }

 private:
  bool is_baseline(const Pair& pair) { return resolver_.resolve(pair.point).id == resolver_.resolve(pair.baseline).id; }

  // Runs the points of the pairs, each with its baseline, which runs only once if it is the point itself.
  std::vector<report::RunRecord> run(const std::string& step, const std::vector<Pair>& pairs) {
    std::vector<sweep::PointToRun> points;
    std::vector<bool> alone;
    for (const Pair& pair : pairs) {
      alone.push_back(is_baseline(pair));
      points.push_back({resolver_.resolve(pair.point), nullptr});
      if (!alone.back()) points.push_back({resolver_.resolve(pair.baseline), nullptr});
    }
    std::vector<report::RunRecord> records = compute_(step, points), out;
    auto next = records.begin();
    for (const bool is_alone : alone) {
      report::RunRecord record = std::move(*next++);
      record.unlimited = report::as_unlimited(is_alone ? record : *next++);
      out.push_back(std::move(record));
    }
    return out;
  }

  void run_whole_gpus() {
    std::vector<report::RunRecord> records = run("whole GPUs", pairs_);
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      Machine& machine = machines_[i];
      report::require_touches(records[i]);
      machine.run = std::move(records[i]);
      machine.calibration = config::calibration_of(machine.run.options.system, config::default_search_path());
      machine.fits =
          machine.run.result.footprint_bytes + machine.run.result.unmanaged_bytes <= machine.run.result.capacity_bytes;
      machine.is_within_budget = report::slowdown_thousandths(machine.run) <= request_.budget_thousandths;
    }
  }

  void find_ranges() {
    std::vector<Pair> corners;
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      const config::Corners found = config::corners_of(machines_[i].calibration.kind);
      machines_[i].run.uncertainty =
          report::Uncertainty{config::calibration_text(machines_[i].calibration), found.text};
      report::widen(*machines_[i].run.uncertainty, machines_[i].run);
      for (const std::vector<std::string>* settings : {&found.fast, &found.slow}) {
        corners.push_back(with_settings(pairs_[i], *settings));
      }
    }
    const std::vector<report::RunRecord> records = run("the fastest and the slowest machine of each kind", corners);
    for (std::size_t i = 0; i < records.size(); ++i) report::widen(*machines_[i / 2].run.uncertainty, records[i]);
  }

  static Pair with_settings(Pair pair, const std::vector<std::string>& settings) {
    for (sweep::Point* point : {&pair.point, &pair.baseline}) {
      point->settings.insert(point->settings.end(), settings.begin(), settings.end());
    }
    return pair;
  }

  void change_one_thing() {
    std::vector<Pair> changed;
    std::vector<std::pair<std::size_t, std::string>> of;
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      if (machines_[i].fits) continue;
      changed.push_back(
          with_settings(pairs_[i], {"host_links.*bytes_per_us=x2", "runtime.remote_both_ways_bytes_per_us=x2"}));
      of.emplace_back(i, "link x2");
      Pair more = pairs_[i];
      more.point.capacity_bytes = 2 * machines_[i].run.result.capacity_bytes;
      more.point.hypothetical_capacity = true;
      changed.push_back(std::move(more));
      of.emplace_back(i, "memory x2");
    }
    if (changed.empty()) return;
    const std::vector<report::RunRecord> records = run("with one thing changed", changed);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto settled = report::settled_iterations(records[i].result);
      machines_[of[i].first].changes.push_back({of[i].second, report::quoted_ns(records[i].result),
                                                report::slowdown_thousandths(records[i]),
                                                !settled || settled->is_settled});
    }
  }

  // The search between the largest factor known to be within the budget and the smallest known to be beyond it.
  struct Search {
    std::uint64_t low = 1000, high = 0;  // 0: not found yet
    bool done() const { return low == kLargestOsfThousandths || (high != 0 && high - low <= kFinestStep); }
    // Returns the next factor to try: factors at doubling distances from 1, because a run with less memory takes
    // longer; then the middle of the remaining range.
    std::uint64_t next() const {
      if (high != 0) return (low + high) / 2;
      return std::min(kLargestOsfThousandths, 1000 + std::max(kFinestStep, 2 * (low - 1000)));
    }
  };

  // Searches on all machines concurrently: each step on a machine depends on that machine's previous step.
  void find_affordable_factors() {
    std::vector<Search> searches(machines_.size());
    for (int step = 1; !std::ranges::all_of(searches, &Search::done); ++step) {
      std::vector<Pair> pairs;
      std::vector<Search*> tried;
      for (std::size_t i = 0; i < searches.size(); ++i) {
        if (searches[i].done()) continue;
        pairs.push_back(pairs_[i]);
        pairs.back().point.osf_thousandths = searches[i].next();
        pairs.back().point.hypothetical_capacity = true;  // a factor may give more memory than the GPU has
        tried.push_back(&searches[i]);
      }
      const std::vector<report::RunRecord> records =
          run(fmt::format("factors within the budget, step {}", step), pairs);
      for (std::size_t i = 0; i < records.size(); ++i) {
        const std::uint64_t factor = tried[i]->next();
        const bool within = report::slowdown_thousandths(records[i]) <= request_.budget_thousandths;
        (within ? tried[i]->low : tried[i]->high) = factor;
      }
    }
    for (std::size_t i = 0; i < machines_.size(); ++i) machines_[i].affordable_osf_thousandths = searches[i].low;
  }

  const Request& request_;
  sweep::Resolver& resolver_;
  const Compute& compute_;
  std::vector<Pair> pairs_;
  std::vector<Machine> machines_;
};

}  // namespace

std::uint64_t Machine::needed_bytes() const {
  const std::uint64_t bytes =
      run.result.footprint_bytes / affordable_osf_thousandths * 1000 +
      run.result.footprint_bytes % affordable_osf_thousandths * 1000 / affordable_osf_thousandths;
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

Answer fit(const Request& request, sweep::Resolver& resolver, const Compute& compute) {
  return {request, Study(request, resolver, compute).answer()};
}

}  // namespace uvmsim::fit
