// SPDX-License-Identifier: Apache-2.0
#include "sim/cliff/cliff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/report/profile.h"

namespace uvmsim::cliff {
namespace {

// The rise of the time from one place to the next, and the memory taken away between them.
struct Step {
  std::size_t before = 0;  // index of the place with more memory
  std::int64_t rise_ns = 0;
  std::uint64_t bytes = 0;
};

double steepness(std::int64_t rise_ns, std::uint64_t bytes) {
  return static_cast<double>(rise_ns) / static_cast<double>(bytes);
}

Step step_at(const std::vector<Place>& places, std::size_t before) {
  const Place &more = places[before], &less = places[before + 1];
  return {before, static_cast<std::int64_t>(less.time_ns) - static_cast<std::int64_t>(more.time_ns),
          more.capacity_bytes - less.capacity_bytes};
}

class Search {
 public:
  Search(const Request& request, sweep::Resolver& resolver, const Compute& compute)
      : request_(request), resolver_(resolver), compute_(compute) {
    sweep::Point whole = request.program;
    whole.hypothetical_capacity = true;
    footprint_ = sweep::divided_footprint_bytes(resolver.resolve(whole), resolver.trace(whole));
    chunks_ = (footprint_ + kBlockBytes - 1) / kBlockBytes;
    const std::uint64_t least =
        std::max<std::uint64_t>(footprint_ / kBlockBytes * 1000 / request.largest_osf_thousandths, 1);
    if (chunks_ < least + kSteps) {
      throw_input_error(
          "{}: a footprint of {} chunks of 2 MiB is too small to look for a cliff up to factor {}; at least {} chunks "
          "are needed",
          resolver.trace(whole).name(), chunks_, static_cast<double>(request.largest_osf_thousandths) / 1000,
          least + kSteps);
    }
    least_chunks_ = least;
  }

  Answer answer(const std::function<std::string(const std::string& name)>& scratch) {
    run_baseline();
    std::vector<std::uint64_t> chunks;
    for (std::uint64_t i = 0; i <= kSteps; ++i) chunks.push_back(chunks_ - (chunks_ - least_chunks_) * i / kSteps);
    run_with("equal steps of memory", chunks);
    const std::uint64_t finest = std::max<std::uint64_t>(chunks_ / kFinestStep, 1);
    Step steepest = steepest_between(0, answer_.places.size() - 1);
    for (int round = 1; steepest.bytes / kBlockBytes > finest; ++round) {
      const std::uint64_t most = answer_.places[steepest.before].capacity_bytes / kBlockBytes;
      const std::uint64_t width = steepest.bytes / kBlockBytes;
      const std::uint64_t parts = std::min(kParts, width);
      std::vector<std::uint64_t> inner;
      for (std::uint64_t i = 1; i < parts; ++i) inner.push_back(most - width * i / parts);
      run_with(fmt::format("within the steepest step, round {}", round), inner);
      steepest = steepest_between(steepest.before, steepest.before + parts);
    }
    judge(steepest);
    explain(scratch);
    return std::move(answer_);
  }

 private:
  sweep::Point point_with(std::uint64_t chunks) const {
    sweep::Point point = request_.program;
    point.capacity_bytes = chunks * kBlockBytes;
    point.hypothetical_capacity = true;  // a small program on a large GPU, or a large one on a small GPU
    return point;
  }

  void run_baseline() {
    answer_.request = request_;
    const sweep::Point baseline = sweep::fitting_baseline(request_.program, resolver_);
    std::vector<report::RunRecord> records = compute_("with room for all", {{resolver_.resolve(baseline), nullptr}});
    report::require_touches(records.front());
    baseline_ = std::move(records.front());
  }

  Place place_of(const report::RunRecord& record) const {
    const auto settled = report::settled_iterations(record.result);
    return {record.result.capacity_bytes, report::effective_osf_thousandths(record), report::quoted_ns(record.result),
            report::slowdown_thousandths(record), !settled || settled->is_settled};
  }

  // Adds the places with these amounts of memory.
  void run_with(const std::string& step, const std::vector<std::uint64_t>& chunks) {
    std::vector<sweep::PointToRun> points;
    for (const std::uint64_t count : chunks) points.push_back({resolver_.resolve(point_with(count)), nullptr});
    for (report::RunRecord& record : compute_(step, points)) {
      record.unlimited = report::as_unlimited(baseline_);
      answer_.places.push_back(place_of(record));
    }
    std::ranges::sort(answer_.places, std::ranges::greater{}, &Place::capacity_bytes);
  }

  Step steepest_between(std::size_t first, std::size_t last) const {
    Step steepest = step_at(answer_.places, first);
    for (std::size_t i = first + 1; i < last; ++i) {
      const Step step = step_at(answer_.places, i);
      if (steepness(step.rise_ns, step.bytes) > steepness(steepest.rise_ns, steepest.bytes)) steepest = step;
    }
    return steepest;
  }

  void judge(const Step& steepest) {
    const Place &first = answer_.places.front(), &last = answer_.places.back();
    const std::int64_t rise = static_cast<std::int64_t>(last.time_ns) - static_cast<std::int64_t>(first.time_ns);
    answer_.before = steepest.before;
    answer_.after = steepest.before + 1;
    if (steepest.rise_ns <= 0 || rise <= 0) return;
    const double mean = steepness(rise, first.capacity_bytes - last.capacity_bytes);
    answer_.steepness_thousandths =
        static_cast<std::uint64_t>(steepness(steepest.rise_ns, steepest.bytes) / mean * 1000 + 0.5);
    const auto room_ns = static_cast<double>(report::quoted_ns(baseline_.result));
    answer_.is_cliff = answer_.steepness_thousandths >= kSteepThousandths &&
                       static_cast<double>(steepest.rise_ns) * 1000 >= room_ns * kRisePerMille;
  }

  // Runs both ends of the step again with a profile.
  void explain(const std::function<std::string(const std::string& name)>& scratch) {
    const std::array<std::size_t, 2> ends = {answer_.before, answer_.after};
    std::array<std::string, 2> paths = {scratch("before.sqlite"), scratch("after.sqlite")};
    std::vector<std::unique_ptr<report::Profile>> profiles;
    std::vector<sweep::PointToRun> points;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      profiles.push_back(std::make_unique<report::Profile>(paths[i]));
      points.push_back(
          {resolver_.resolve(point_with(answer_.places[ends[i]].capacity_bytes / kBlockBytes)), profiles.back().get()});
    }
    std::vector<report::RunRecord> records = compute_("who waits at both ends of the steepest step", points);
    std::array<why::Answer, 2> waits;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      records[i].unlimited = report::as_unlimited(baseline_);
      profiles[i]->finish(records[i]);
      waits[i] = why::read_waits(paths[i], std::move(records[i]));
    }
    answer_.all = {"all kernels", std::move(waits[0].all), std::move(waits[1].all)};
    answer_.kernels = growth_of(std::move(waits[0].kernels), std::move(waits[1].kernels));
    answer_.memory = growth_of(std::move(waits[0].memory), std::move(waits[1].memory));
    answer_.run = std::move(waits[1].run);
  }

  static std::vector<Growth> growth_of(std::vector<why::Waiting> before, std::vector<why::Waiting> after) {
    std::map<std::string, Growth> by_name;
    for (why::Waiting& waiting : before) by_name[waiting.name].before = std::move(waiting);
    for (why::Waiting& waiting : after) by_name[waiting.name].after = std::move(waiting);
    std::vector<Growth> all;
    for (auto& [name, growth] : by_name) {
      growth.name = name;
      if (growth.stall_ns() > 0) all.push_back(std::move(growth));
    }
    std::ranges::stable_sort(all, std::ranges::greater{}, &Growth::stall_ns);
    return all;
  }

  const Request& request_;
  sweep::Resolver& resolver_;
  const Compute& compute_;
  std::uint64_t footprint_ = 0, chunks_ = 0, least_chunks_ = 0;
  report::RunRecord baseline_;
  Answer answer_;
};

}  // namespace

why::Cause Growth::main_cause() const {
  const auto growth = [&](why::Cause cause) {
    const auto i = static_cast<std::size_t>(cause);
    return after.by_cause_ns[i] - before.by_cause_ns[i];
  };
  return *std::ranges::max_element(why::kCauses, {}, growth);
}

Answer find_cliff(const Request& request, sweep::Resolver& resolver, const Compute& compute,
                  const std::function<std::string(const std::string& name)>& scratch) {
  return Search(request, resolver, compute).answer(scratch);
}

}  // namespace uvmsim::cliff
