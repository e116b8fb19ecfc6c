// SPDX-License-Identifier: Apache-2.0
// One direction of an SSD: requests overlap, up to a queue depth.
//
// A request takes a place in the queue, waits for the device, and then its bytes pass, in order of submission:
//      start = the requested time, or when the request `depth` before this one is done
//      end   = max(start + latency, end of the request before) + bytes / bandwidth
// One request therefore takes latency + bytes / bandwidth, and many concurrent ones reach the bandwidth, or depth
// requests per latency if they are small. Reads and writes have separate queues and do not slow each other.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/link/copy_engine.h"

namespace uvmsim::link {

class StorageQueue {
 public:
  // `host`, the bandwidth of the host's memory that all links share, may be null; it must outlive the queue.
  StorageQueue(Nanoseconds latency, std::uint64_t bytes_per_us, std::uint32_t depth, BandwidthProfile* host)
      : latency_(latency), pipe_({Nanoseconds(0), Nanoseconds(0), bytes_per_us}, {host}), done_(depth) {}

  // Submits a request of contiguous bytes > 0. `start` is later than `earliest` if the queue was full.
  RunTimes submit(Nanoseconds earliest, std::uint64_t bytes) {
    Nanoseconds& place = done_[next_];
    next_ = next_ + 1 == done_.size() ? 0 : next_ + 1;
    const Nanoseconds start = earliest > place ? earliest : place;
    place = pipe_.submit(start + latency_, bytes).end;
    return {start, place};
  }

  // The time that bytes were moving, summed over requests.
  Nanoseconds busy_time() const { return pipe_.busy_time(); }

  void add_state(StateDigest& digest) const {
    pipe_.add_state(digest);
    for (std::size_t i = 0; i < done_.size(); ++i) digest.add_future(done_[(next_ + i) % done_.size()]);
  }

 private:
  Nanoseconds latency_;
  CopyEngine pipe_;
  std::vector<Nanoseconds> done_;  // ends of the last requests, a ring buffer
  std::size_t next_ = 0;           // index of the oldest one
};

}  // namespace uvmsim::link
