// SPDX-License-Identifier: Apache-2.0
// The range of a metric over the seeds of one program. Differences within the range are random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "sim/common/random.h"
#include "sim/compare/run_view.h"
#include "sim/compare/tolerance.h"

namespace uvmsim::compare {

class SeedRange {
 public:
  void add(std::uint64_t value) {
    ++seeds_;
    sum_ += value;
    smallest_ = std::min(smallest_, value);
    largest_ = std::max(largest_, value);
  }

  // A single seed does not show randomness.
  bool has_several_seeds() const { return seeds_ > 1; }
  // These require at least one value; the mean is rounded half up.
  std::uint64_t smallest() const { return smallest_; }
  std::uint64_t largest() const { return largest_; }
  std::uint64_t mean() const { return static_cast<std::uint64_t>((sum_ + seeds_ / 2) / seeds_); }

  bool overlaps(const SeedRange& other) const { return smallest_ <= other.largest_ && other.smallest_ <= largest_; }
  // Returns whether the value is in the range, or beyond it by no more than the tolerance.
  bool allows(std::uint64_t value, const Tolerance& tolerance) const {
    return tolerance.allows(std::clamp(value, smallest_, largest_), value);
  }

 private:
  std::uint64_t seeds_ = 0;
  WideUnsigned sum_ = 0;
  std::uint64_t smallest_ = std::numeric_limits<std::uint64_t>::max(), largest_ = 0;
};

// The ranges of many runs, by group (everything but the seed) and metric.
class SeedRanges {
 public:
  void add(const std::string& group, const Metrics& metrics) {
    for (const auto& [name, value] : metrics) groups_[group][name].add(value);
  }
  // Returns nullptr for a group without the metric or with a single seed.
  const SeedRange* of(const std::string& group, const std::string& metric) const {
    const auto& ranges = groups_.at(group);
    const auto found = ranges.find(metric);
    return found == ranges.end() || !found->second.has_several_seeds() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::map<std::string, SeedRange>> groups_;
};

}  // namespace uvmsim::compare
