// SPDX-License-Identifier: Apache-2.0
// One direction of one link: the copy engine that moves runs of pages, in order.
//
// A push is a submission of the driver: runs of contiguous bytes. The time of a push on a free link is (times in ns):
//      first run: latency + bytes / bandwidth; every later run: run_ns + bytes / bandwidth, from the end of the run
//      before
// Pushes queue first in, first out. If engines share bandwidth (both directions of a link, the GPUs behind a switch,
// all links of the host's memory), earlier submissions keep their promises and a later one gets the rest, or waits
// while nothing is left. Only moving bytes use bandwidth; latency and run_ns do not.
#pragma once

#include <array>
#include <cstdint>

#include "sim/common/units.h"
#include "sim/link/bandwidth_profile.h"

namespace uvmsim::link {

struct RunTimes {
  Nanoseconds start{}, end{};
};

struct EngineRates {
  Nanoseconds latency{};
  Nanoseconds run{};
  std::uint64_t bytes_per_us = 0;  // > 0
};

class CopyEngine {
 public:
  // Bandwidths that it shares with other engines, in any order; null ones are ignored. They must outlive the engine.
  using Shared = std::array<BandwidthProfile*, 3>;
  explicit CopyEngine(const EngineRates& rates, const Shared& shared = {});

  // Opens a push that may start at `earliest`: its first run starts then, or when the engine is free. A later push
  // starts after this one even if its `earliest` is before.
  void begin_push(Nanoseconds earliest);
  // Adds a run to the open push; bytes > 0. The end of the last run completes the push. `more` is time in addition to
  // the run's fixed part and its bytes.
  RunTimes run(std::uint64_t bytes, Nanoseconds more = {});

  // Submits a push of one run.
  RunTimes submit(Nanoseconds earliest, std::uint64_t bytes) {
    begin_push(earliest);
    return run(bytes);
  }

  void add_state(StateDigest& digest) const { digest.add_future(busy_until_); }  // no push is open

  // Returns the end of everything submitted so far.
  Nanoseconds busy_until() const { return busy_until_; }
  // Returns the time since construction in which the engine was busy.
  Nanoseconds busy_time() const { return busy_time_; }  // sum over runs of end - start
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t runs() const { return runs_; }
  std::uint64_t pushes() const { return pushes_; }

  // Returns the completion of one run of a fresh push on an idle machine, for estimates.
  Nanoseconds unloaded_time(std::uint64_t bytes) const;

 private:
  Nanoseconds move(Nanoseconds from, std::uint64_t bytes);

  EngineRates rates_;
  Shared shared_;  // null ones last
  Nanoseconds busy_until_{};
  Nanoseconds next_start_{};  // of the open push's next run
  bool first_ = true;         // the open push has no run yet
  Nanoseconds busy_time_{};
  std::uint64_t bytes_ = 0, runs_ = 0, pushes_ = 0;
};

}  // namespace uvmsim::link
