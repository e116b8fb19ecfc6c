// SPDX-License-Identifier: Apache-2.0
// The time of the program with everything resident and managed memory for free: only host and streams take time. The
// clock runs beside the replay, on the same records. It gives RunResult::ideal, the base of slowdowns, and the ideal
// time of each iteration.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/common/time_limit.h"
#include "sim/common/units.h"

namespace uvmsim::engine {

class IdealClock {
 public:
  void host(std::int64_t ns) { host_ = before_end_of_time(host_ + Nanoseconds(ns)); }
  // The host, or the stream's next work, starts at `time` at the earliest.
  void delay_host(Nanoseconds time) { host_ = std::max(host_, time); }
  void delay(std::uint32_t stream, Nanoseconds time) {
    make(stream);
    streams_[stream] = std::max(streams_[stream], time);
  }
  void enqueue(std::uint32_t stream, std::int64_t duration_ns) {
    make(stream);
    streams_[stream] = before_end_of_time(arrival(stream) + Nanoseconds(duration_ns));
  }
  void wait_all() {
    for (const Nanoseconds end : streams_) host_ = std::max(host_, end);
  }
  void wait(std::uint32_t stream) {
    if (stream < streams_.size()) host_ = std::max(host_, streams_[stream]);
  }
  // Returns when the stream reaches work that the host enqueues now.
  Nanoseconds arrival(std::uint32_t stream) const {
    return stream < streams_.size() ? std::max(streams_[stream], host_) : host_;
  }
  // cudaEventRecord, cudaStreamWaitEvent and cudaEventSynchronize: a wait is for the recording issued last, and does
  // not block before there is one.
  void record(std::uint64_t event, std::uint32_t stream) { recorded_[event] = arrival(stream); }
  void wait_event(std::uint32_t stream, std::uint64_t event) {
    if (const auto at = recorded_.find(event); at != recorded_.end()) delay(stream, at->second);
  }
  void host_waits_event(std::uint64_t event) {
    if (const auto at = recorded_.find(event); at != recorded_.end()) delay_host(at->second);
  }
  Nanoseconds host_time() const { return host_; }
  // Returns the end of the stream's work; something must have been enqueued there.
  Nanoseconds end_of(std::uint32_t stream) const { return streams_[stream]; }
  Nanoseconds end() const {
    Nanoseconds last = host_;
    for (const Nanoseconds end : streams_) last = std::max(last, end);
    return last;
  }

  // `digest` has another present than this clock; only differences count.
  void add_state(StateDigest& digest) const {
    for (const Nanoseconds end : streams_) {
      digest.add(static_cast<std::uint64_t>(std::max(end - host_, Nanoseconds{}).value));
    }
    for (const auto& [event, time] : recorded_) {
      if (time <= host_) continue;  // a wait for it does not block
      StateDigest part = digest.part();
      part.add(event);
      part.add(static_cast<std::uint64_t>((time - host_).value));
      digest.add_unordered(part);
    }
  }

 private:
  // Streams are few (trace::kMaxStream).
  void make(std::uint32_t stream) {
    if (stream >= streams_.size()) streams_.resize(std::size_t{stream} + 1);
  }

  Nanoseconds host_{};
  std::vector<Nanoseconds> streams_;
  std::unordered_map<std::uint64_t, Nanoseconds> recorded_;  // by event
};

}  // namespace uvmsim::engine
