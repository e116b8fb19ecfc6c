// The same program with everything resident and managed memory for free: host and streams only. It runs beside the real
// replay on the same records and gives RunResult::ideal, the time that slowdowns are measured against, and the same of
// each iteration. Waits of a stream for an event of another one are left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"

namespace uvmsim::engine {

class IdealClock {
 public:
  void host(std::int64_t ns) { host_ += Nanoseconds(ns); }
  void enqueue(std::uint32_t stream, std::int64_t duration_ns) {
    if (stream >= streams_.size()) streams_.resize(stream + 1);
    streams_[stream] = arrival(stream) + Nanoseconds(duration_ns);
  }
  void wait_all() {
    for (const Nanoseconds end : streams_) host_ = std::max(host_, end);
  }
  void wait(std::uint32_t stream) {
    if (stream < streams_.size()) host_ = std::max(host_, streams_[stream]);
  }
  // When the stream gets to what the host enqueues now.
  Nanoseconds arrival(std::uint32_t stream) const {
    return stream < streams_.size() ? std::max(streams_[stream], host_) : host_;
  }
  Nanoseconds end() const {
    Nanoseconds last = host_;
    for (const Nanoseconds end : streams_) last = std::max(last, end);
    return last;
  }

  // `digest` has another present than this clock; only differences count.
  void add_state(StateDigest& digest) const {
    for (const Nanoseconds end : streams_)
      digest.add(static_cast<std::uint64_t>(std::max(end - host_, Nanoseconds{}).value));
  }

 private:
  Nanoseconds host_{};
  std::vector<Nanoseconds> streams_;
};

}  // namespace uvmsim::engine
