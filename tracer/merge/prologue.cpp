// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/prologue.h"

#include <algorithm>
#include <array>
#include <map>

#include "sim/common/random.h"

namespace uvmtrace {

namespace {

// Returns cuts at the begins of iterations that both logs mark.
std::vector<Cut> iteration_cuts(const PassLog& timing, const PassLog& access) {
  const auto begins = [](const PassLog& log, auto&& take) {
    for (std::size_t i = 0; i < log.events.size(); ++i) {
      const auto* range = std::get_if<RangeEvent>(&log.events[i].what);
      if (range != nullptr && range->kind == trace::RangeKind::kIterationBegin) take(range->index, i);
    }
  };
  std::map<std::uint64_t, std::size_t> access_begin;
  begins(access, [&](std::uint64_t index, std::size_t event) { access_begin.emplace(index, event); });
  std::vector<Cut> out;
  begins(timing, [&](std::uint64_t index, std::size_t event) {
    const auto found = access_begin.find(index);
    if (found != access_begin.end() && (out.empty() || found->second > out.back().access)) {
      out.push_back({event, found->second, index});
    }
  });
  return out;
}

// Returns a cut before every pair, placed so that no later pair is lost.
std::vector<Cut> pair_cuts(const std::vector<StreamPair>& streams, const std::vector<std::size_t>& timing_event,
                           const std::vector<std::size_t>& access_event) {
  std::vector<Cut> out;
  for (const StreamPair& stream : streams) {
    for (const auto& [i, j] : stream.pairs) {
      out.push_back({timing_event[stream.timing[i]], access_event[stream.access[j]], {}});
    }
  }
  std::sort(out.begin(), out.end(), [](const Cut& a, const Cut& b) { return a.timing < b.timing; });
  for (std::size_t i = out.size(); i-- > 1;) out[i - 1].access = std::min(out[i - 1].access, out[i].access);
  return out;
}

// Counts launches and pairs after each of the cuts, which ascend in both logs.
class Behind {
 public:
  explicit Behind(const std::vector<Cut>& cuts) : cuts_(cuts) {}

  void add(std::uint32_t stream, std::optional<std::size_t> timing_event, std::optional<std::size_t> access_event) {
    std::size_t behind = cuts_.size();  // number of cuts before the launch
    if (timing_event) behind = std::min(behind, upper_bound(*timing_event, &Cut::timing));
    if (access_event) behind = std::min(behind, upper_bound(*access_event, &Cut::access));
    if (behind != 0) {
      items_.push_back({behind - 1, stream, timing_event && access_event ? kPair : timing_event ? kTiming : kAccess});
    }
  }

  // Returns the first cut after which enough launches are pairs.
  std::optional<std::size_t> first_alike(std::size_t streams, std::uint32_t thousandths) {
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.last_cut > b.last_cut; });
    struct Rest {
      std::uint64_t timing = 0, access = 0;
      std::uint64_t compared() const { return std::max(timing, access); }
    };
    std::vector<Rest> rest(streams);
    uvmsim::WideUnsigned pairs = 0, compared = 0;
    std::optional<std::size_t> first;
    std::size_t next = 0;
    for (std::size_t cut = cuts_.size(); cut-- > 0;) {
      for (; next < items_.size() && items_[next].last_cut == cut; ++next) {
        if (items_[next].what == kPair) {
          ++pairs;
          continue;
        }
        Rest& of_stream = rest[items_[next].stream];
        compared -= of_stream.compared();
        ++(items_[next].what == kTiming ? of_stream.timing : of_stream.access);
        compared += of_stream.compared();
      }
      if (pairs != 0 && pairs * 1000 >= compared * thousandths) first = cut;
    }
    return first;
  }

 private:
  enum What : std::uint8_t { kTiming, kAccess, kPair };
  struct Item {
    std::size_t last_cut;
    std::uint32_t stream;
    What what;
  };
  std::size_t upper_bound(std::size_t event, std::size_t Cut::*place) const {
    const auto found =
        std::partition_point(cuts_.begin(), cuts_.end(), [&](const Cut& c) { return c.*place <= event; });
    return static_cast<std::size_t>(found - cuts_.begin());
  }

  const std::vector<Cut>& cuts_;
  std::vector<Item> items_;
};

// Returns whether at least half of the sequence belongs to runs of four that occur more than once in it.
bool repeats(const std::vector<std::uint64_t>& sequence) {
  constexpr std::size_t kRun = 4;
  if (sequence.size() < 2 * kRun) return false;
  using Run = std::pair<std::array<std::uint64_t, kRun>, std::size_t>;
  std::vector<Run> runs(sequence.size() - kRun + 1);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::copy_n(sequence.begin() + static_cast<std::ptrdiff_t>(i), kRun, runs[i].first.begin());
    runs[i].second = i;
  }
  std::sort(runs.begin(), runs.end());
  std::vector<bool> seen_again(sequence.size(), false);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool again =
        (i != 0 && runs[i - 1].first == runs[i].first) || (i + 1 != runs.size() && runs[i + 1].first == runs[i].first);
    for (std::size_t k = 0; again && k < kRun; ++k) seen_again[runs[i].second + k] = true;
  }
  return static_cast<std::size_t>(std::count(seen_again.begin(), seen_again.end(), true)) * 2 >= sequence.size();
}

// Returns the position directly after the last launch before the event, so that calls which prepare the next launch
// stay with it.
std::size_t behind_the_launch_before(const PassLog& log, std::size_t event) {
  while (event > 0 && !std::holds_alternative<LaunchEvent>(log.events[event - 1].what)) --event;
  return event;
}

}  // namespace

std::vector<std::size_t> event_of_launch(const PassLog& log) {
  std::vector<std::size_t> out(log.launches.size(), 0);
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    if (const auto* at = std::get_if<LaunchEvent>(&log.events[i].what)) out[at->launch] = i;
  }
  return out;
}

std::optional<Cut> find_cut(const PassLog& timing, const PassLog& access, const std::vector<StreamPair>& streams,
                            const std::vector<std::uint64_t>& keys, std::uint32_t thousandths) {
  const std::vector<std::size_t> timing_event = event_of_launch(timing), access_event = event_of_launch(access);
  const std::vector<Cut> iterations = iteration_cuts(timing, access);
  const std::vector<Cut> cuts = iterations.empty() ? pair_cuts(streams, timing_event, access_event) : iterations;
  Behind behind(cuts);
  for (std::uint32_t s = 0; s < streams.size(); ++s) {
    const StreamPair& stream = streams[s];
    for (std::size_t i = 0; i < stream.timing_end; ++i) behind.add(s, timing_event[stream.timing[i]], {});
    for (std::size_t j = 0; j < stream.access_end; ++j) behind.add(s, {}, access_event[stream.access[j]]);
    for (const auto& [i, j] : stream.pairs) {
      behind.add(s, timing_event[stream.timing[i]], access_event[stream.access[j]]);
    }
  }
  const std::optional<std::size_t> first = behind.first_alike(streams.size(), thousandths);
  if (!first) return {};
  Cut cut = cuts[*first];
  if (cut.iteration) return cut;
  std::vector<std::uint64_t> rest;
  for (std::size_t i = cut.timing; i < timing.events.size(); ++i) {
    if (const auto* at = std::get_if<LaunchEvent>(&timing.events[i].what)) rest.push_back(keys[at->launch]);
  }
  if (!repeats(rest)) return {};
  cut.timing = behind_the_launch_before(timing, cut.timing);
  cut.access = behind_the_launch_before(access, cut.access);
  return cut;
}

}  // namespace uvmtrace
