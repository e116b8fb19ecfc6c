// SPDX-License-Identifier: Apache-2.0
#include "sim/link/bandwidth_profile.h"

#include <algorithm>

#include "sim/common/check.h"

namespace uvmsim::link {

BandwidthProfile::BandwidthProfile(std::uint64_t bytes_per_us, std::size_t breakpoints)
    : capacity_(bytes_per_us), limit_(std::max<std::size_t>(breakpoints, 16)) {
  points_.reserve(limit_);
}

// Returns the index of the first breakpoint later than `time`. It is mostly a few steps from the last answer, so the
// search widens from there.
std::size_t BandwidthProfile::index_after(Nanoseconds time) const {
  std::size_t low = std::min(last_index_, points_.size());
  std::size_t high = low;
  if (low == points_.size() || points_[low].time > time) {
    for (std::size_t step = 1; low > 0 && points_[low - 1].time > time; step *= 2) {
      high = low - 1;
      low -= std::min(low, step);
    }
  } else {
    high = ++low;
    for (std::size_t step = 1; high < points_.size() && points_[high].time <= time; step *= 2) {
      low = high + 1;
      high = std::min(points_.size(), high + step);
    }
  }
  const auto begin = points_.begin();
  const auto later = std::upper_bound(begin + static_cast<long>(low), begin + static_cast<long>(high), time,
                                      [](Nanoseconds t, const Breakpoint& point) { return t < point.time; });
  last_index_ = static_cast<std::size_t>(later - begin);
  return last_index_;
}

BandwidthProfile::Share BandwidthProfile::free_at(Nanoseconds time) const {
  if (points_.empty() || time >= points_.back().time) return {capacity_, kForever};
  const std::size_t next = index_after(time);
  const std::uint64_t used = next == 0 ? 0 : points_[next - 1].used;
  return {capacity_ - used, points_[next].time};
}

void BandwidthProfile::take(Nanoseconds start, Nanoseconds end, std::uint64_t bytes_per_us) {
  if (start >= end || bytes_per_us == 0) return;
  UVMSIM_CHECK(bytes_per_us <= capacity_, "{} of {} bytes/us promised", bytes_per_us, capacity_);
  // A take adds at most two breakpoints. Dropping a quarter at a time keeps this rare.
  if (points_.size() + 2 > limit_) points_.erase(points_.begin(), points_.begin() + static_cast<long>(limit_ / 4));

  if (points_.empty() || start > points_.back().time) {
    points_.push_back({start, bytes_per_us});
    points_.push_back({end, 0});
  } else if (start == points_.back().time) {
    if (points_.size() > 1 && points_[points_.size() - 2].used == bytes_per_us) {
      points_.back().time = end;  // the promise continues at the same rate
    } else {
      points_.back().used = bytes_per_us;
      points_.push_back({end, 0});
    }
  } else {
    take_in_the_middle(start, end, bytes_per_us);
  }
}

// Makes `time` a breakpoint and returns its index.
std::size_t BandwidthProfile::split(Nanoseconds time) {
  const std::size_t next = index_after(time);
  if (next > 0 && points_[next - 1].time == time) return next - 1;
  const std::uint64_t used = next == 0 ? 0 : points_[next - 1].used;
  points_.insert(points_.begin() + static_cast<long>(next), {time, used});
  return next;
}

void BandwidthProfile::take_in_the_middle(Nanoseconds start, Nanoseconds end, std::uint64_t bytes_per_us) {
  const std::size_t first = split(start);
  const std::size_t last = split(end);
  for (std::size_t i = first; i < last; ++i) {
    points_[i].used += bytes_per_us;
    UVMSIM_CHECK(points_[i].used <= capacity_, "{} of {} bytes/us promised at {} ns", points_[i].used, capacity_,
                 points_[i].time.value);
  }
}

// Adds the promises from now on: the later breakpoints, each with the rate before it.
void BandwidthProfile::add_state(StateDigest& digest) const {
  std::uint64_t used = 0;
  for (const Breakpoint& point : points_) {
    if (digest.ahead(point.time)) {
      digest.add(used);
      digest.add_future(point.time);
    }
    used = point.used;
  }
}

}  // namespace uvmsim::link
