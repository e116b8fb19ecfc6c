// SPDX-License-Identifier: Apache-2.0
// Iterations that recur. A repetition that begins in the state of an earlier one runs as the repetitions since then, so
// that its counts and its time are known without a replay. The same holds for all repetitions behind it, the last one
// included: the program goes on as if they had run.
//
// Only passes of a repeated iteration recur. Two iterations of the recording do not, even if they launch the same
// kernels: the random numbers of a kernel depend on its place in the recording (streams.cpp), so that its SMs retry in
// another order, and counts and times differ a little.
//
// Under one set of policies the state at the begin of an iteration mostly recurs after a few iterations, with a period
// of one to three. Results are those of a full replay, to the last bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/engine/audit.h"
#include "sim/events/counters.h"

namespace uvmsim::engine {

// The begin of a repetition, with all counts up to it.
struct Moment {
  StateDigest::Value state;
  Nanoseconds host_time{}, ideal_time{};
  std::uint64_t records = 0;
  std::size_t iterations = 0;  // iterations that are over
  std::uint64_t released_pages = 0;
  Counters counters;
  std::map<std::string, std::uint64_t> misfits;  // RunResult::misfits
  // The first end of an iteration after this moment: the time from the moment to it, and the counts in between.
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
    std::uint64_t repetitions = 0;   // repetitions since then
  };
  // Returns the latest moment with this state. Finds periods of up to 8 repetitions.
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
  // Call when an iteration ends.
  void note_end(Nanoseconds now, const Counters& counters) {
    if (moments_.empty() || moments_.back().end) return;
    Moment& last = moments_.back();
    last.end = {now - last.host_time, difference(counters, last.counters)};
  }
  // Removes all moments, as later ones do not continue them.
  void forget() { moments_.clear(); }

 private:
  static constexpr std::size_t kLongestPeriod = 8;
  std::deque<Moment> moments_;  // of consecutive repetitions
};

// Throws InputError if sum + times * part of a counter exceeds what a column of a database holds: counters of
// iterations that are not replayed must not wrap.
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
