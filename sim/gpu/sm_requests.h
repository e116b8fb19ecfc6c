// SPDX-License-Identifier: Apache-2.0
// The outstanding requests of one SM: their limits, the SM's stop, and the effect of a replay.
//
// The caller offers the SM's accesses that miss, one after the other. The SM sends their requests until it knows of its
// first miss; then it stops until the next replay. A replay completes the requests whose pages are mapped by then and
// sends the others again. An SM that sends any again has missed again: it stays stopped until the replay after that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/gpu/fault_unit.h"

namespace uvmsim::gpu {

// Requests of one kind to one page.
struct Miss {
  PageIndex page{};
  std::uint32_t owner = 0;  // for the caller's use
  std::uint16_t requests = 1;
  std::uint16_t per_instruction = 1;  // requests of one instruction
  bool apart = false;                 // contiguous: one instruction follows another instruction_ns later
  RequestKind kind = RequestKind::kLoad;
};

class SmRequests {
 public:
  // Restores the state at the start of a kernel.
  void reset() {
    outstanding_.clear();
    loads_ = stores_ = regions_ = 0;
    stop_ = kNever;
  }

  // Returns the time from which no access passes until the next replay; kNever if the SM has not missed.
  Nanoseconds stop() const { return stop_; }
  bool stopped(Nanoseconds now) const { return now >= stop_; }
  bool idle() const { return outstanding_.empty(); }
  std::uint32_t requests() const { return loads_ + stores_; }

  // Sends the requests of an access that misses at `now`, as many as the SM may, and returns their number; `now`
  // becomes the time of its next request. If not all are sent, the SM waits for the next replay. known_after() returns
  // the time from `now` until the SM knows of its first missing request.
  template <class Known>
  std::uint32_t raise(const FaultPath& path, FaultUnit& unit, std::uint32_t sm, Nanoseconds& now, const Miss& miss,
                      Known&& known_after);

  // Applies a replay that reaches the SM at `now`. mapped(miss) returns whether the page is mapped for that kind of
  // access; passed(miss) is called for completed requests. Returns the time after the last repeated request, `now` if
  // there is none.
  template <class Mapped, class Passed>
  Nanoseconds replay(const FaultPath& path, FaultUnit& unit, std::uint32_t sm, Nanoseconds now, Mapped&& mapped,
                     Passed&& passed);

 private:
  static constexpr bool is_load(RequestKind kind) {
    return kind == RequestKind::kLoad || kind == RequestKind::kLoadLane;
  }
  static constexpr std::uint64_t kPagesPerRegion = 8;  // 32 KB
  // Returns whether the page lies in another region than the first `count` misses.
  bool new_region(PageIndex page, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (outstanding_[i].page.value / kPagesPerRegion == page.value / kPagesPerRegion) return false;
    }
    return true;
  }
  // Returns how many more requests of the kind the SM may send.
  std::uint32_t room(const FaultPath& path, RequestKind kind) const {
    const std::uint32_t most = is_load(kind)                     ? path.load_requests
                               : kind == RequestKind::kStoreLane ? path.store_lanes
                                                                 : path.store_packets;
    const std::uint32_t out = is_load(kind) ? loads_ : stores_;
    return most > out ? most - out : 0;
  }
  void count(const Miss& miss, std::uint32_t requests) { (is_load(miss.kind) ? loads_ : stores_) += requests; }

  std::vector<Miss> outstanding_;  // in order of sending
  std::uint32_t loads_ = 0, stores_ = 0;
  std::uint32_t regions_ = 0;
  Nanoseconds stop_ = kNever;
};

template <class Known>
[[gnu::always_inline]] inline std::uint32_t SmRequests::raise(const FaultPath& path, FaultUnit& unit, std::uint32_t sm,
                                                              Nanoseconds& now, const Miss& miss, Known&& known_after) {
  std::uint32_t allowed = stopped(now) ? 0 : std::min<std::uint32_t>(miss.requests, room(path, miss.kind));
  const bool region = allowed != 0 && new_region(miss.page, outstanding_.size());
  if (allowed == 0 || (region && regions_ >= path.regions)) {
    stop_ = std::min(stop_, now);
    return 0;
  }
  if (stop_ == kNever) stop_ = now + known_after();
  const std::uint32_t within = miss.kind == RequestKind::kStore       ? path.request_ns
                               : miss.kind == RequestKind::kStoreLane ? path.store_lane_ns
                                                                      : path.load_ns;
  const bool lanes = miss.kind == RequestKind::kLoadLane || miss.kind == RequestKind::kStoreLane;
  // A run holds the requests of one instruction, or all of the access if they are evenly spaced.
  const std::uint32_t after = lanes ? within : miss.apart ? path.instruction_ns : path.request_ns;
  const std::uint32_t per_run = after == within ? allowed : miss.per_instruction;
  std::uint32_t sent = 0;
  while (sent < allowed && now < stop_) {
    const std::int64_t left_ns = (stop_ - now).value;
    std::uint32_t run = std::min(per_run, allowed - sent);
    if (std::int64_t{within} * (run - 1) >= left_ns) {
      run = (static_cast<std::uint32_t>(left_ns) + within - 1) / within;  // of 32 bits: divides much faster
    }
    unit.send(sm, {now, miss.page, static_cast<std::uint16_t>(run), static_cast<std::uint16_t>(within), miss.kind});
    sent += run;
    now += Nanoseconds(std::int64_t{within} * (run - 1) + after);
  }
  if (sent != 0) {
    count(miss, sent);
    regions_ += region ? 1 : 0;
    outstanding_.push_back(miss);
    outstanding_.back().requests = static_cast<std::uint16_t>(sent);
  }
  if (sent < miss.requests) stop_ = std::min(stop_, now);
  return sent;
}

template <class Mapped, class Passed>
Nanoseconds SmRequests::replay(const FaultPath& path, FaultUnit& unit, std::uint32_t sm, Nanoseconds now,
                               Mapped&& mapped, Passed&& passed) {
  stop_ = kNever;
  if (outstanding_.empty()) return now;
  const Nanoseconds reached = now;
  loads_ = stores_ = regions_ = 0;
  std::size_t kept = 0;
  for (const Miss& miss : outstanding_) {
    if (mapped(miss)) {
      passed(miss);
      continue;
    }
    unit.send(sm, {now, miss.page, miss.requests, static_cast<std::uint16_t>(path.request_ns), miss.kind});
    now += Nanoseconds(std::int64_t{path.request_ns} * miss.requests);
    count(miss, miss.requests);
    regions_ += new_region(miss.page, kept) ? 1 : 0;
    outstanding_[kept++] = miss;
  }
  outstanding_.resize(kept);
  if (!outstanding_.empty()) stop_ = reached;
  return now;
}

}  // namespace uvmsim::gpu
