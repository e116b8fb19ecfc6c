// SPDX-License-Identifier: Apache-2.0
// What one SM has outstanding: its limits, its stop, and what a replay does to it.
//
// Whoever drives it offers the SM's accesses one after the other, those that find their page mapped left out. The SM
// sends requests until it knows of its first missing one; then it stops until the next replay. A replay completes what
// is mapped by then and sends the rest again; an SM that has such a rest sends nothing new until the replay after.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/gpu/fault_unit.h"

namespace uvmsim::gpu {

// Requests to one page, all of one kind, of which none was sent yet.
struct Miss {
  PageIndex page{};
  std::uint32_t owner = 0;  // for whoever drives the SM
  std::uint16_t requests = 1;
  std::uint16_t per_instruction = 1;  // of these, one instruction makes so many
  RequestKind kind = RequestKind::kLoad;
};

class SmRequests {
 public:
  // As at the start of a kernel.
  void reset() {
    outstanding_.clear();
    loads_ = stores_ = regions_ = 0;
    stop_ = kNever;
    repeats_ = false;
  }

  // Nothing passes any more from then on, until the next replay; kNever: it has not missed.
  Nanoseconds stop() const { return stop_; }
  bool stopped(Nanoseconds now) const { return now >= stop_; }
  // What it has out.
  bool idle() const { return outstanding_.empty(); }
  std::uint32_t requests() const { return loads_ + stores_; }

  // At `now` the SM's next access misses. Sends as many of its requests as it may and returns how many these are; `now`
  // becomes the time of the next request. Fewer than all: the SM waits for the next replay. known_after(): how long
  // after `now` it knows of its first missing request.
  template <class Known>
  std::uint32_t raise(const FaultPath& path, FaultUnit& unit, std::uint32_t sm, Nanoseconds& now, const Miss& miss,
                      Known&& known_after);

  // A replay reaches the SM at `now`. mapped(miss): its page is, for what it wants; passed(miss): that is complete.
  // Returns when the last of what it sends again is out, `now` if nothing is.
  template <class Mapped, class Passed>
  Nanoseconds replay(const FaultPath& path, FaultUnit& unit, std::uint32_t sm, Nanoseconds now, Mapped&& mapped,
                     Passed&& passed);

 private:
  static constexpr bool is_load(RequestKind kind) {
    return kind == RequestKind::kLoad || kind == RequestKind::kLoadLane;
  }
  static constexpr std::uint64_t kPagesPerRegion = 8;  // 32 KB
  bool new_region(PageIndex page) const {
    return std::none_of(outstanding_.begin(), outstanding_.end(), [&](const Miss& miss) {
      return miss.page.value / kPagesPerRegion == page.value / kPagesPerRegion;
    });
  }
  // How many requests of that kind it may send more.
  std::uint32_t room(const FaultPath& path, RequestKind kind) const {
    const std::uint32_t most = is_load(kind)                     ? path.load_requests
                               : kind == RequestKind::kStoreLane ? path.store_lanes
                                                                 : path.store_packets;
    const std::uint32_t out = is_load(kind) ? loads_ : stores_;
    return most > out ? most - out : 0;
  }
  void count(const Miss& miss, std::uint32_t requests) { (is_load(miss.kind) ? loads_ : stores_) += requests; }
  void keep(const Miss& miss) {
    regions_ += new_region(miss.page) ? 1 : 0;
    outstanding_.push_back(miss);
  }

  std::vector<Miss> outstanding_;  // in order; `requests` of each are out
  std::vector<Miss> before_;       // of replay()
  std::uint32_t loads_ = 0, stores_ = 0;
  std::uint32_t regions_ = 0;
  Nanoseconds stop_ = kNever;
  bool repeats_ = false;  // it sent requests again at the last replay
};

template <class Known>
std::uint32_t SmRequests::raise(const FaultPath& path, FaultUnit& unit, std::uint32_t sm, Nanoseconds& now,
                                const Miss& miss, Known&& known_after) {
  std::uint32_t allowed = repeats_ || stopped(now) ? 0 : std::min<std::uint32_t>(miss.requests, room(path, miss.kind));
  if (allowed != 0 && regions_ >= path.regions && new_region(miss.page)) allowed = 0;
  if (allowed != 0 && stop_ == kNever) stop_ = now + known_after();
  const std::uint32_t within = miss.kind == RequestKind::kStore       ? path.request_ns
                               : miss.kind == RequestKind::kStoreLane ? path.store_lane_ns
                                                                      : path.load_ns;
  const bool lanes = miss.kind == RequestKind::kLoadLane || miss.kind == RequestKind::kStoreLane;
  // Run by run: an instruction of loads, all packets of stores.
  const std::uint32_t per_run = within == path.request_ns || lanes ? allowed : miss.per_instruction;
  std::uint32_t sent = 0;
  while (sent < allowed && now < stop_) {
    const std::int64_t left_ns = (stop_ - now).value;
    const std::uint32_t fit = within == 0 ? allowed : static_cast<std::uint32_t>((left_ns + within - 1) / within);
    const std::uint32_t run = std::min({per_run, allowed - sent, fit});
    unit.send(sm, {now, miss.page, static_cast<std::uint16_t>(run), static_cast<std::uint16_t>(within), miss.kind});
    sent += run;
    const std::uint32_t after = lanes ? within : is_load(miss.kind) ? path.load_instruction_ns : path.request_ns;
    now += Nanoseconds(std::int64_t{within} * (run - 1) + after);
  }
  if (sent != 0) {
    Miss out = miss;
    out.requests = static_cast<std::uint16_t>(sent);
    count(out, sent);
    keep(out);
  }
  if (sent < miss.requests) stop_ = std::min(stop_, now);
  return sent;
}

template <class Mapped, class Passed>
Nanoseconds SmRequests::replay(const FaultPath& path, FaultUnit& unit, std::uint32_t sm, Nanoseconds now,
                               Mapped&& mapped, Passed&& passed) {
  stop_ = kNever;
  repeats_ = false;
  if (outstanding_.empty()) return now;
  before_.swap(outstanding_);
  outstanding_.clear();
  loads_ = stores_ = regions_ = 0;
  for (const Miss& miss : before_) {
    if (mapped(miss)) {
      passed(miss);
      continue;
    }
    unit.send(sm, {now, miss.page, miss.requests, static_cast<std::uint16_t>(path.request_ns), miss.kind});
    now += Nanoseconds(std::int64_t{path.request_ns} * miss.requests);
    count(miss, miss.requests);
    keep(miss);
  }
  before_.clear();
  repeats_ = !outstanding_.empty();
  return now;
}

}  // namespace uvmsim::gpu
