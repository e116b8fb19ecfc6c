// SPDX-License-Identifier: Apache-2.0
// The part of a GPU that turns requests that missed into raw faults, one after the other, for all SMs.
//
// Requests wait in a queue per GPC, in order of sending. The unit takes one request per `fault_ps`, from the GPCs in
// turn. A replay discards the waiting requests; the SMs send them again.
//
// An SM submits requests ahead of their time, as runs: `count` requests to one page at equal distances. SMs therefore
// need no common clock. The unit orders their runs only up to the time that a caller asks for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "sim/common/check.h"
#include "sim/common/units.h"
#include "sim/gpu/fault_path.h"

namespace uvmsim::gpu {

// A time after all others.
inline constexpr Nanoseconds kNever{std::numeric_limits<std::int64_t>::max()};

enum class RequestKind : std::uint8_t { kLoad, kStore, kLoadLane, kStoreLane };

// `count` requests of an SM to one page, `spacing_ns` apart from `first` on.
struct RequestRun {
  Nanoseconds first{};
  PageIndex page{};
  std::uint16_t count = 1;
  std::uint16_t spacing_ns = 0;
  RequestKind kind = RequestKind::kLoad;
};

class FaultUnit {
 public:
  // gpc_of_sm[i]: the GPC of SM i, below path.gpcs.
  FaultUnit(const FaultPath& path, std::span<const std::uint8_t> gpc_of_sm);

  // Queues a run of requests. The runs of an SM must come in order of time; they may lie in the future.
  void send(std::uint32_t sm, const RequestRun& run);

  // Takes the requests that the unit handles up to and including `until`, in order. Calls f(arrival, sm, run) for each;
  // each is one raw fault. Stops early if f returns false.
  template <class F>
  void take(Nanoseconds until, F&& f);
  // Takes the same requests without a call for each. Returns their number.
  std::uint64_t skip(Nanoseconds until);
  // Returns when the unit takes the next request; kNever if none waits.
  Nanoseconds next_arrival();
  bool empty() const { return waiting_ == 0; }
  std::uint64_t waiting() const { return waiting_; }

  // Discards all waiting requests, as a replay does.
  void forget();
  // Restores the state at the start of a kernel.
  void reset();

 private:
  __extension__ using Key = __int128;  // a time of 64 bits above a place
  static constexpr unsigned kPlaceBits = 12;
  static constexpr Key key(Nanoseconds time, std::size_t place) {
    return Key{time.value} << kPlaceBits | static_cast<Key>(place);
  }
  static constexpr Key kNoKey = Key{kNever.value} << kPlaceBits;
  // A time in whole nanoseconds and the picoseconds beyond, less than 1000: any time of a run fits.
  struct Instant {
    Nanoseconds ns{};
    std::int64_t ps = 0;
    Instant after(std::int64_t more_ps) const {
      return {ns + Nanoseconds((ps + more_ps) / 1000), (ps + more_ps) % 1000};
    }
  };
  struct Queue {  // of one SM
    std::vector<RequestRun> runs;
    std::uint32_t head = 0;
    std::uint16_t taken = 0;  // requests of the run at the head
    std::uint16_t gpc = 0;
    std::uint16_t place = 0;  // index in its GPC's `sms`
  };
  struct Gpc {
    // A tree of minima. The leaves say of each SM when its next request was sent, and in the low bits its place; so the
    // root is the earliest request, of equal ones that of the SM that comes first. Node i is above 2 * i and 2 * i + 1.
    std::vector<Key> least;
    std::size_t leaves = 0;  // a power of two
    std::vector<std::uint32_t> sms;
    Key first = kNoKey;  // the root
    Nanoseconds time() const { return Nanoseconds(static_cast<std::int64_t>(first >> kPlaceBits)); }
    std::size_t place() const { return static_cast<std::size_t>(first & ((1 << kPlaceBits) - 1)); }
    void set(std::size_t place, Key key) {
      std::size_t node = leaves + place;
      least[node] = key;
      for (; node != 1; node /= 2) {
        key = std::min(key, least[node ^ 1]);
        least[node / 2] = key;
      }
      first = key;
    }
    void clear() {
      std::fill(least.begin(), least.end(), kNoKey);
      first = kNoKey;
    }
  };

  // The GPC whose request the unit takes next, and when; false: nothing waits.
  bool choose(std::size_t& chosen, Instant& time) const;
  void pop(Gpc& gpc);
  void put_in_turn();

  std::int64_t fault_ps_;
  Nanoseconds report_;
  std::vector<Queue> queues_;  // by SM
  // SMs whose first request that waits is not known to their GPC yet. It need not be if requests are only counted.
  std::vector<std::uint32_t> unordered_;
  std::vector<Gpc> gpcs_;
  std::size_t last_gpc_ = 0;
  Instant free_;               // when the unit is free
  std::uint64_t waiting_ = 0;  // requests
  Nanoseconds last_sent_{};    // upper bound for the waiting requests
};

[[gnu::always_inline]] inline void FaultUnit::send(std::uint32_t sm, const RequestRun& run) {
  UVMSIM_CHECK(run.count != 0, "SM {}: a run of no requests", sm);
  Queue& queue = queues_[sm];
  if (queue.head == queue.runs.size()) {
    queue.runs.clear();
    queue.head = 0;
    queue.taken = 0;
    unordered_.push_back(sm);
  }
  UVMSIM_CHECK(queue.runs.empty() || queue.runs.back().first <= run.first, "SM {}: runs out of order", sm);
  queue.runs.push_back(run);
  waiting_ += run.count;
  last_sent_ = std::max(last_sent_, run.first + Nanoseconds(std::int64_t{run.spacing_ns} * (run.count - 1)));
}

// Removes the GPC's first request.
inline void FaultUnit::pop(Gpc& gpc) {
  Queue& queue = queues_[gpc.sms[gpc.place()]];
  const RequestRun& run = queue.runs[queue.head];
  Key next = kNoKey;
  if (++queue.taken < run.count) {
    next = key(run.first + Nanoseconds(std::int64_t{run.spacing_ns} * queue.taken), queue.place);
  } else {
    queue.taken = 0;
    if (++queue.head != queue.runs.size()) next = key(queue.runs[queue.head].first, queue.place);
  }
  gpc.set(queue.place, next);
  --waiting_;
}

inline bool FaultUnit::choose(std::size_t& chosen, Instant& time) const {
  if (waiting_ == 0) return false;
  const std::size_t count = gpcs_.size();
  Nanoseconds best = kNever;
  for (std::size_t turn = 1, gpc = last_gpc_ + 1; turn <= count; ++turn, ++gpc) {
    if (gpc >= count) gpc -= count;
    if (gpcs_[gpc].first == kNoKey) continue;
    const Nanoseconds at = gpcs_[gpc].time() + report_;
    if (at >= best) continue;
    best = at;
    chosen = gpc;
    if (at <= free_.ns) break;  // it waits already, so that the turn decides
  }
  time = best > free_.ns ? Instant{best, 0} : free_;
  return true;
}

template <class F>
void FaultUnit::take(Nanoseconds until, F&& f) {
  put_in_turn();
  std::size_t chosen = 0;
  Instant time;
  while (choose(chosen, time)) {
    const Nanoseconds arrival = time.ns;
    if (arrival > until) return;
    Gpc& gpc = gpcs_[chosen];
    const std::uint32_t sm = gpc.sms[gpc.place()];
    const Queue& queue = queues_[sm];
    const RequestRun& run = queue.runs[queue.head];
    bool more = true;
    if constexpr (std::is_void_v<decltype(f(arrival, sm, run))>) {
      f(arrival, sm, run);
    } else {
      more = f(arrival, sm, run);
    }
    free_ = time.after(fault_ps_);
    last_gpc_ = chosen;
    pop(gpc);
    if (!more) return;
  }
}

}  // namespace uvmsim::gpu
