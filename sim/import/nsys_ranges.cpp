// SPDX-License-Identifier: Apache-2.0
#include "sim/import/nsys_ranges.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/common/error.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/printable.h"

namespace uvmsim::trace {

namespace {

using Ranges = std::vector<NsysReport::Range>;

// Returns "step #" for "step 12": ranges that differ by numbers are of one kind.
std::string kind_of(const std::string& name) {
  std::string kind;
  for (const char letter : name) {
    const bool digit = letter >= '0' && letter <= '9';
    if (!digit) kind += letter;
    if (digit && (kind.empty() || kind.back() != '#')) kind += '#';
  }
  return kind;
}

std::uint64_t launches_in(const NsysReport::Range& range, const std::vector<std::int64_t>& launches) {
  const auto first = std::ranges::lower_bound(launches, range.start);
  return static_cast<std::uint64_t>(std::lower_bound(first, launches.end(), range.end) - first);
}

// Sorts ranges by start, the outer of two first.
void order(Ranges& ranges) {
  std::ranges::stable_sort(ranges, {},
                           [](const NsysReport::Range& range) { return std::tuple(range.start, -range.end); });
}

bool disjoint(const Ranges& ordered) {
  return std::ranges::adjacent_find(ordered, [](const auto& a, const auto& b) { return b.start < a.end; }) ==
         ordered.end();
}

struct Candidate {
  Ranges ranges;
  std::uint64_t launches = 0;
};

std::string choose(const std::map<std::string, Candidate>& kinds, std::uint64_t launches, const std::string& wanted) {
  if (!wanted.empty()) {
    const auto found = kinds.find(kind_of(wanted));
    if (found == kinds.end() || !disjoint(found->second.ranges)) {
      std::vector<std::string> names;
      for (const auto& [kind, candidate] : kinds) {
        if (disjoint(candidate.ranges)) names.push_back(kind);
      }
      throw_input_error("no NVTX ranges '{}' that follow one another{}", printable(wanted),
                        names.empty() ? std::string("; there are none at all") : allowed_hint(kind_of(wanted), names));
    }
    return found->first;
  }
  const Candidate* best = nullptr;
  std::string name;
  for (const auto& [kind, candidate] : kinds) {
    if (candidate.ranges.size() < 2 || 2 * candidate.launches < launches || candidate.launches == 0) continue;
    if (!disjoint(candidate.ranges)) continue;
    const auto rank = [](const Candidate& one) { return std::tuple(one.launches, -one.ranges.front().start); };
    if (best != nullptr && rank(candidate) <= rank(*best)) continue;
    best = &candidate;
    name = kind;
  }
  return name;
}

// Turns nested ranges into pushes and pops; a range that outlives the one around it is cut off at its end.
class Nesting {
 public:
  Nesting(std::vector<TimedRange>& out, std::string iteration) : out_(out), iteration_(std::move(iteration)) {}

  void add(const NsysReport::Range& range) {
    end_until(range.start);
    Open open{range.end, !iteration_.empty() && kind_of(range.name) == iteration_, index_};
    if (!open_.empty()) open.end = std::min(open.end, open_.back().end);
    if (open.iteration) {
      out_.push_back({range.start, {RangeKind::kIterationBegin, "", index_++}});
    } else {
      out_.push_back({range.start, {RangeKind::kPush, range.name, 0}});
    }
    open_.push_back(open);
  }
  void end_until(std::int64_t time) {
    for (; !open_.empty() && open_.back().end <= time; open_.pop_back()) {
      const Open& open = open_.back();
      const RangeKind kind = open.iteration ? RangeKind::kIterationEnd : RangeKind::kPop;
      out_.push_back({open.end, {kind, "", open.iteration ? open.index : 0}});
    }
  }
  std::uint64_t iterations() const { return index_; }

 private:
  struct Open {
    std::int64_t end;
    bool iteration;
    std::uint64_t index;
  };
  std::vector<TimedRange>& out_;
  std::string iteration_;
  std::vector<Open> open_;
  std::uint64_t index_ = 0;
};

}  // namespace

RangesOfReport ranges_of_report(const Ranges& ranges, const std::vector<std::int64_t>& launches,
                                const std::string& wanted) {
  // Finds the thread whose outermost ranges hold the most launches.
  std::map<std::int64_t, std::uint64_t> by_thread;
  for (const NsysReport::Range& range : ranges) {
    if (range.nested) by_thread[range.thread] += launches_in(range, launches);
  }
  const auto most = std::ranges::max_element(by_thread, {}, [](const auto& entry) { return entry.second; });

  std::map<std::string, Candidate> kinds;
  Ranges nested;
  for (const NsysReport::Range& range : ranges) {
    const bool of_thread = range.nested && range.thread == most->first;
    if (of_thread) nested.push_back(range);
    if (of_thread || !range.nested) kinds[kind_of(range.name)].ranges.push_back(range);
  }
  for (auto& [kind, candidate] : kinds) {
    order(candidate.ranges);
    for (const NsysReport::Range& range : candidate.ranges) candidate.launches += launches_in(range, launches);
  }
  RangesOfReport out;
  out.iteration = choose(kinds, launches.size(), wanted);
  // Ranges with separate start and end events may overlap those of a thread; then only the iterations are written.
  if (!out.iteration.empty()) {
    const Ranges& chosen = kinds.at(out.iteration).ranges;
    if (std::ranges::any_of(chosen, [](const auto& range) { return !range.nested; })) nested = chosen;
  }
  order(nested);
  Nesting nesting(out.records, out.iteration);
  for (const NsysReport::Range& range : nested) nesting.add(range);
  nesting.end_until(INT64_MAX);
  out.iterations = nesting.iterations();
  return out;
}

}  // namespace uvmsim::trace
