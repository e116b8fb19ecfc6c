// SPDX-License-Identifier: Apache-2.0
// What a GPU's accesses to host memory in place cost: loads and stores of its SMs through remote mappings.
//
// Measured on an H200 (configs/measurements/row_gather_h200.txt): nothing of it stays in the GPU's L2 cache, so every
// access pays; a scattered access costs at least its part of the rate of runs, however short; long ones cost their
// bytes; both directions together have their own limit. Traffic of one GPU passes in the order in which it is asked
// for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/common/random.h"
#include "sim/common/state_digest.h"
#include "sim/config/system.h"

namespace uvmsim::link {

// The smallest piece of memory that the GPU asks the host for.
inline constexpr std::uint64_t kSectorBytes = 32;

struct RemoteTraffic {
  std::uint64_t runs = 0;  // contiguous pieces, in one direction each
  std::uint64_t read_bytes = 0, write_bytes = 0;

  std::uint64_t bytes() const { return read_bytes + write_bytes; }
  void add(std::uint64_t bytes, bool reads, bool writes) {
    runs += static_cast<std::uint64_t>(reads) + static_cast<std::uint64_t>(writes);
    if (reads) read_bytes += bytes;
    if (writes) write_bytes += bytes;
  }
};

class RemoteLane {
 public:
  RemoteLane(const config::LinkConfig& link, const config::RuntimeCosts& costs)
      : reads_(link.zero_copy_read_bytes_per_us),
        writes_(link.zero_copy_write_bytes_per_us),
        both_(costs.remote_both_ways_bytes_per_us),
        runs_(costs.remote_runs_per_us) {}

  // On a free lane.
  Nanoseconds time(const RemoteTraffic& traffic) const {
    return Nanoseconds(
        static_cast<std::int64_t>(std::max({of(traffic.read_bytes, reads_), of(traffic.write_bytes, writes_),
                                            of(traffic.bytes(), both_), of(traffic.runs, runs_)})));
  }
  // When traffic that may start at `earliest` has passed.
  Nanoseconds carry(Nanoseconds earliest, const RemoteTraffic& traffic) {
    if (traffic.bytes() == 0) return earliest;
    busy_until_ = std::max(earliest, busy_until_) + time(traffic);
    return busy_until_;
  }
  void add_state(StateDigest& digest) const { digest.add_future(busy_until_); }

 private:
  // 0: no limit.
  static std::uint64_t of(std::uint64_t amount, std::uint64_t per_us) {
    return per_us == 0 ? 0 : static_cast<std::uint64_t>(WideUnsigned{amount} * 1000 / per_us);
  }

  std::uint64_t reads_, writes_, both_, runs_;
  Nanoseconds busy_until_{};
};

}  // namespace uvmsim::link
