// SPDX-License-Identifier: Apache-2.0
// Iterations that recur: a repetition that begins as an earlier one did runs as the ones since then, so it need not be
// replayed to know what it counts and how long it takes. Nor need those behind it, the last one included: the program
// goes on as if they had run.
//
// Only passes of a repeated iteration recur. Two that were recorded one after the other do not, though they launch the
// same kernels: the random numbers of a kernel follow from its place in the recording (streams.cpp), so that its SMs
// try again in another order, and counts and times differ a little.
//
// Under one set of policies the state of the model at the begin of an iteration mostly recurs after a few iterations,
// every one to three of them. What is left out is exact: results are those of a full replay, to the last bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/engine/audit.h"
#include "sim/events/counters.h"

namespace uvmsim::engine {

// The begin of a repetition, and what was counted until then.
struct Moment {
  StateDigest::Value state;
  Nanoseconds host_time{}, ideal_time{};
  std::uint64_t records = 0;
  std::size_t iterations = 0;  // that are over
  std::uint64_t released_pages = 0;
  Counters counters;
  // The first end of an iteration that came later: how much, and what was counted meanwhile.
  struct End {
    Nanoseconds after{};
    Counters counted;
  };
  std::optional<End> end;
};

class Recurrence {
 public:
  struct Earlier {
    const Moment* moment = nullptr;  // null: there is none
    std::uint64_t repetitions = 0;   // since then
  };
  // The latest moment that was like this one. Periods of up to 8 repetitions are found.
  Earlier find(const StateDigest::Value& state) const {
    for (std::size_t i = moments_.size(); i-- > 0;) {
      if (moments_[i].state == state) return {&moments_[i], moments_.size() - i};
    }
    return {};
  }
  void remember(Moment moment) {
    if (moments_.size() == kLongestPeriod) moments_.pop_front();
    moments_.push_back(std::move(moment));
  }
  // An iteration ends.
  void note_end(Nanoseconds now, const Counters& counters) {
    if (moments_.empty() || moments_.back().end) return;
    Moment& last = moments_.back();
    last.end = {now - last.host_time, difference(counters, last.counters)};
  }
  // Moments after this one do not follow those before it.
  void forget() { moments_.clear(); }

 private:
  static constexpr std::size_t kLongestPeriod = 8;
  std::deque<Moment> moments_;  // of repetitions in a row
};

// Counters of iterations that are counted, not replayed, do not wrap: throws InputError where sum + times * part is
// more than a column of a database holds.
inline void check_counts(const Counters& sum, const Counters& part, std::uint64_t times) {
  std::vector<std::uint64_t> parts;
  for_each_counter(part, [&](const char*, const std::uint64_t& value) { parts.push_back(value); });
  std::size_t number = 0;
  for_each_counter(sum, [&](const char* name, const std::uint64_t& value) {
    const std::uint64_t each = parts[number++];
    if (each == 0 || times <= (INT64_MAX - std::min<std::uint64_t>(value, INT64_MAX)) / each) return;
    throw_input_error("the counter {} goes beyond 2^63 in {} more repetitions of {} each; allowed: fewer iterations",
                      name, times, each);
  });
}

}  // namespace uvmsim::engine
