// SPDX-License-Identifier: Apache-2.0
#include "sim/advise/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/report/numbers.h"

namespace uvmsim::advise {
namespace {

constexpr std::size_t kMostSteps = 4;
constexpr std::size_t kKeptForLater = 8;  // number of changes that are tried again on top of others
constexpr std::size_t kPaired = 4;        // number of changes that are tried in pairs if none helps by itself
// The smallest saving for which a change is recommended, in thousandths of the time.
constexpr std::int64_t kWorthThousandths = 10;

std::int64_t saved_thousandths(std::uint64_t before_ns, std::uint64_t after_ns) {
  if (before_ns == 0) return 0;
  const auto before = static_cast<std::int64_t>(before_ns), after = static_cast<std::int64_t>(after_ns);
  return 1000 - after * 1000 / before;
}

using Changes = std::vector<const Change*>;

Changes joined(Changes first, const Changes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

bool all_go_together(const Changes& chosen, const Change& change) {
  return std::ranges::all_of(chosen, [&](const Change* one) { return one != &change && go_together(*one, change); });
}

class Search {
 public:
  Search(Answer& answer, const Measure& measure)
      : answer_(answer), measure_(measure), now_ns_(report::quoted_ns(answer.run.result)) {}

  void run() {
    try_alone();
    while (answer_.steps.size() < kMostSteps) {
      std::vector<Changes> ways = singles();
      if (choose("one more change", ways)) continue;
      if (!choose("pairs of changes", pairs())) break;
    }
    judge();
  }

 private:
  std::vector<Measured> measure(const std::string& step, const std::vector<Trial>& trials) {
    answer_.runs += trials.size();
    return trials.empty() ? std::vector<Measured>{} : measure_(step, trials);
  }

  void try_alone() {
    std::vector<Trial> trials;
    for (const Change& change : *answer_.changes) trials.push_back({{&change}});
    const std::vector<Measured> measured = measure("changes, one by one", trials);
    for (std::size_t i = 0; i < measured.size(); ++i) answer_.tried.push_back({&(*answer_.changes)[i], measured[i]});
    std::ranges::stable_sort(answer_.tried, {}, [](const Tried& one) { return one.alone.time_ns; });
  }

  // Returns the best changes that can be combined with the chosen ones.
  Changes rest(std::size_t most) const {
    Changes out;
    for (const Tried& one : answer_.tried) {
      if (out.size() < most && all_go_together(chosen_, *one.change)) out.push_back(one.change);
    }
    return out;
  }
  std::vector<Changes> singles() const {
    std::vector<Changes> ways;
    for (const Change* change : rest(kKeptForLater)) ways.push_back({change});
    return ways;
  }
  std::vector<Changes> pairs() const {
    const Changes left = rest(kPaired);
    std::vector<Changes> ways;
    for (std::size_t i = 0; i < left.size(); ++i) {
      for (std::size_t j = i + 1; j < left.size(); ++j) {
        if (go_together(*left[i], *left[j])) ways.push_back({left[i], left[j]});
      }
    }
    return ways;
  }

  static std::size_t rules_of(const Changes& way) {
    std::size_t rules = 0;
    for (const Change* change : way) rules += std::max<std::size_t>(1, change->rules.size());
    return rules;
  }

  // Of the ways that save enough and take at most 1 % longer than the fastest returns the place of the one with the
  // fewest rules, which is the least to write; if none saves enough, the number of ways.
  std::size_t simplest(const std::vector<Changes>& ways, const std::vector<Measured>& measured) const {
    const auto saves_enough = [&](const Measured& one) {
      return saved_thousandths(now_ns_, one.time_ns) >= kWorthThousandths;
    };
    const auto fastest = std::ranges::min_element(measured, {}, &Measured::time_ns);
    std::size_t best = ways.size();
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (!saves_enough(measured[i]) || saved_thousandths(measured[i].time_ns, fastest->time_ns) >= kWorthThousandths) {
        continue;
      }
      const auto cost = [&](std::size_t at) { return std::pair(rules_of(ways[at]), measured[at].time_ns); };
      if (best == ways.size() || cost(i) < cost(best)) best = i;
    }
    return best;
  }

  // Chooses the simplest of the fastest ways. Returns whether one saves enough.
  bool choose(const std::string& what, const std::vector<Changes>& ways) {
    std::vector<Measured> measured;
    if (chosen_.empty() && !ways.empty() && ways.front().size() == 1) {
      for (const Changes& way : ways) measured.push_back(alone(*way.front()));
    } else {
      std::vector<Trial> trials;
      for (const Changes& way : ways) trials.push_back({joined(chosen_, way)});
      measured = measure(fmt::format("step {}, {}", answer_.steps.size() + 1, what), trials);
    }
    const std::size_t best = simplest(ways, measured);
    if (best == ways.size()) return false;
    Step step;
    step.changes = ways[best];
    step.with = measured[best];
    step.saves_thousandths = saved_thousandths(now_ns_, step.with.time_ns);
    if (step.changes.size() == 1) step.alone_ns = alone(*step.changes.front()).time_ns;
    chosen_ = joined(chosen_, step.changes);
    now_ns_ = step.with.time_ns;
    answer_.steps.push_back(std::move(step));
    return true;
  }

  Measured alone(const Change& change) const {
    return std::ranges::find(answer_.tried, &change, &Tried::change)->alone;
  }

  // Runs the steps on the fastest and the slowest machine within the system's uncertainty.
  void judge() {
    if (answer_.steps.empty()) return;
    std::vector<Trial> trials;
    for (const Machine machine : {Machine::kFastest, Machine::kSlowest}) {
      Changes changes;
      trials.push_back({changes, machine});
      for (const Step& step : answer_.steps) {
        changes = joined(changes, step.changes);
        trials.push_back({changes, machine});
      }
    }
    const std::vector<Measured> measured = measure("the fastest and the slowest machine of the kind", trials);
    const std::size_t half = measured.size() / 2;
    for (std::size_t i = 0; i < answer_.steps.size(); ++i) {
      Step& step = answer_.steps[i];
      step.fastest_thousandths = saved_thousandths(measured[i].time_ns, measured[i + 1].time_ns);
      step.slowest_thousandths = saved_thousandths(measured[half + i].time_ns, measured[half + i + 1].time_ns);
      const std::int64_t least = std::min(step.fastest_thousandths, step.slowest_thousandths);
      step.confidence = 2 * least >= step.saves_thousandths ? Confidence::kHigh
                        : least > 0                         ? Confidence::kMedium
                                                            : Confidence::kLow;
    }
  }

  Answer& answer_;
  const Measure& measure_;
  Changes chosen_;
  std::uint64_t now_ns_;
};

}  // namespace

const char* confidence_text(Confidence confidence) {
  switch (confidence) {
    case Confidence::kHigh:
      return "high";
    case Confidence::kMedium:
      return "medium";
    case Confidence::kLow:
      break;
  }
  return "low";
}

bool Answer::waits_for_nothing() const {
  return report::slowdown_ideal_thousandths(run) <= 1000 + static_cast<std::uint64_t>(kWorthThousandths);
}

std::uint64_t Answer::best_ns() const {
  return steps.empty() ? report::quoted_ns(run.result) : steps.back().with.time_ns;
}

std::vector<trace::HintRule> Answer::rules() const {
  std::vector<trace::HintRule> all;
  for (const Step& step : steps) {
    for (const Change* change : step.changes) all.insert(all.end(), change->rules.begin(), change->rules.end());
  }
  return all;
}

std::string Answer::layout() const {
  for (const Step& step : steps) {
    for (const Change* change : step.changes) {
      if (!change->layout.empty()) return change->layout;
    }
  }
  return "";
}

Answer advise(report::RunRecord run, const Memory& memory, const std::string& layout, const Measure& measure) {
  Answer answer;
  answer.run = std::move(run);
  if (answer.waits_for_nothing()) return answer;
  answer.changes = std::make_shared<const std::vector<Change>>(
      changes_for(memory, answer.run.result.footprint_bytes, answer.run.result.capacity_bytes, layout));
  Search(answer, measure).run();
  return answer;
}

}  // namespace uvmsim::advise
