// SPDX-License-Identifier: Apache-2.0
// What the seeds of one program make of a metric: what lies within is chance, not change.
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

  // One seed alone shows no chance.
  bool has_several_seeds() const { return seeds_ > 1; }
  // All of at least one value; the mean rounded half up.
  std::uint64_t smallest() const { return smallest_; }
  std::uint64_t largest() const { return largest_; }
  std::uint64_t mean() const { return static_cast<std::uint64_t>((sum_ + seeds_ / 2) / seeds_); }

  bool overlaps(const SeedRange& other) const { return smallest_ <= other.largest_ && other.smallest_ <= largest_; }
  // Between the smallest and the largest, or beyond them by no more than the tolerance.
  bool allows(std::uint64_t value, const Tolerance& tolerance) const {
    return tolerance.allows(std::clamp(value, smallest_, largest_), value);
  }

 private:
  std::uint64_t seeds_ = 0;
  WideUnsigned sum_ = 0;
  std::uint64_t smallest_ = std::numeric_limits<std::uint64_t>::max(), largest_ = 0;
};

// The ranges of many runs: by what they have in common but for their seed, and by metric.
class SeedRanges {
 public:
  void add(const std::string& group, const Metrics& metrics) {
    for (const auto& [name, value] : metrics) groups_[group][name].add(value);
  }
  // Nullptr for a group without the metric or of a single seed.
  const SeedRange* of(const std::string& group, const std::string& metric) const {
    const auto& ranges = groups_.at(group);
    const auto found = ranges.find(metric);
    return found == ranges.end() || !found->second.has_several_seeds() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::map<std::string, SeedRange>> groups_;
};

}  // namespace uvmsim::compare
