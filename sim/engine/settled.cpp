// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/settled.h"

#include <algorithm>
#include <array>
#include <vector>

namespace uvmsim::engine {
namespace {

constexpr std::size_t kTime = 0;  // index of the time in Measures; the others are counts
using Measures = std::array<std::uint64_t, 6>;

Measures measures_of(const IterationResult& iteration) {
  const Counters& c = iteration.counters;
  return {static_cast<std::uint64_t>((iteration.end - iteration.begin).value),
          c.fault_batches,
          c.faulting_pages * kBasePageBytes / kBlockBytes,
          c.htod_bytes() / kBlockBytes,
          c.dtoh_bytes() / kBlockBytes,
          c.evictions};
}

// The smallest and largest measures of the iterations at one place in the period.
struct Range {
  Measures least{}, most{};
  bool empty = true;

  // Adds an iteration. Returns false, without a change, if it does not agree with all the others.
  bool take(const Measures& measures) {
    Range wider = *this;
    for (std::size_t i = 0; i < measures.size(); ++i) {
      wider.least[i] = empty ? measures[i] : std::min(least[i], measures[i]);
      wider.most[i] = empty ? measures[i] : std::max(most[i], measures[i]);
      if (!within_tolerance(i, wider.least[i], wider.most[i])) return false;
    }
    wider.empty = false;
    *this = wider;
    return true;
  }

 private:
  static bool within_tolerance(std::size_t measure, std::uint64_t least, std::uint64_t most) {
    const std::uint64_t apart = most - least;
    if (measure == kTime) return apart <= most * kTimeToleranceThousandths / 1000;
    return apart <= std::max(kCountFloor, most * kCountToleranceThousandths / 1000);
  }
};

// Returns the first of the last iterations that all agree at this period.
std::size_t first_agreeing(const std::vector<Measures>& measures, std::size_t period) {
  std::vector<Range> places(period);
  std::size_t first = measures.size();
  while (first > 0 && places[(first - 1) % period].take(measures[first - 1])) --first;
  return first;
}

}  // namespace

std::optional<Settled> find_settled(std::span<const IterationResult> iterations,
                                    const std::optional<RecurringIterations>& recurring) {
  std::vector<Measures> measures;
  for (const IterationResult& iteration : iterations) measures.push_back(measures_of(iteration));
  std::optional<Settled> found;
  for (std::size_t period = 1; period <= kLongestSettledPeriod; ++period) {
    const std::size_t first = first_agreeing(measures, period);
    const std::size_t agreeing = measures.size() - first;
    const bool exact = recurring && recurring->period % period == 0 && first <= recurring->first &&
                       recurring->first + recurring->period <= measures.size();
    if (!exact && agreeing < std::max(kFewestAgreeing, kFewestPeriods * period)) continue;
    if (!found || first < found->first) found = Settled{first, period, exact};
  }
  return found;
}

std::optional<Settled> find_settled(const RunResult& result) {
  const bool passes = result.repeated > 1;
  const std::size_t begin = passes ? std::min(result.first_repeated, result.iterations.size()) : 0;
  std::span<const IterationResult> judged = std::span(result.iterations).subspan(begin);
  if (passes) judged = judged.first(std::min(judged.size(), result.repeated));
  std::optional<RecurringIterations> recurring;
  if (result.recurring && result.recurring->first >= begin) {
    recurring = {result.recurring->first - begin, result.recurring->period};
  }
  auto settled = find_settled(judged, recurring);
  if (settled) settled->first += begin;
  return settled;
}

}  // namespace uvmsim::engine
