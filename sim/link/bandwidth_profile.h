// SPDX-License-Identifier: Apache-2.0
// The part of a shared bandwidth that is promised at each time, for several copy engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"

namespace uvmsim::link {

// A piecewise constant function of time, in bytes per microsecond. Promises are never withdrawn: a later request gets
// the rest. Memory for it is reserved at construction; when it is used up, the oldest promises are forgotten and count
// as free.
class BandwidthProfile {
 public:
  explicit BandwidthProfile(std::uint64_t bytes_per_us, std::size_t breakpoints = 16384);

  struct Share {
    std::uint64_t bytes_per_us;  // free from the requested time on
    Nanoseconds until;           // exactly up to here; kForever after the last promise
  };
  static constexpr Nanoseconds kForever{INT64_MAX};

  Share free_at(Nanoseconds time) const;
  // Promises `bytes_per_us` over [start, end); it must be free there (UVMSIM_CHECK).
  void take(Nanoseconds start, Nanoseconds end, std::uint64_t bytes_per_us);

  void add_state(StateDigest& digest) const;

  std::uint64_t capacity() const { return capacity_; }
  std::size_t breakpoints() const { return points_.size(); }

 private:
  // `used` holds from `time` to the next breakpoint; at the last breakpoint it is 0.
  struct Breakpoint {
    Nanoseconds time;
    std::uint64_t used;
  };

  std::size_t index_after(Nanoseconds time) const;
  std::size_t split(Nanoseconds time);
  void take_in_the_middle(Nanoseconds start, Nanoseconds end, std::uint64_t bytes_per_us);

  std::uint64_t capacity_;
  std::size_t limit_;
  std::vector<Breakpoint> points_;
  mutable std::size_t last_index_ = 0;  // index_after() begins its next search here
};

}  // namespace uvmsim::link
