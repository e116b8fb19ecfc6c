// SPDX-License-Identifier: Apache-2.0
// The cost of a GPU's accesses to remote-mapped host memory: loads and stores of its SMs over the link.
//
// Measured on an H200 (configs/measurements/row_gather_h200.txt, remote_stream_h200.txt): the GPU's L2 cache keeps none
// of these data, so every access is charged. A scattered access, however short, takes at least its turn at the rate of
// runs. Long accesses take the time of their bytes. Requests for less than a line, in order, take at least their turn
// at the rate of requests (the link allows a fixed number of outstanding ones). Stores of less than a sector and
// atomics have a rate of their own, and both directions together have a limit of their own. One GPU's traffic is served
// in the order of its requests.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/common/random.h"
#include "sim/common/state_digest.h"
#include "sim/config/system.h"

namespace uvmsim::link {

// The smallest piece of memory that the GPU requests from the host.
inline constexpr std::uint64_t kSectorBytes = 32;
// The largest piece of memory that one request brings.
inline constexpr std::uint64_t kLineBytes = 128;

struct RemoteTraffic {
  static constexpr std::uint64_t kWordBytes = 4;

  std::uint64_t runs = 0;  // contiguous pieces, in one direction each
  std::uint64_t read_bytes = 0, write_bytes = 0;
  // Part of read_bytes: requests for less than a line, by sectors: 1, 2, 3.
  std::array<std::uint64_t, kLineBytes / kSectorBytes - 1> short_requests{};
  // Part of write_bytes: words that are stored one by one, and words that atomics change.
  std::uint64_t stored_words = 0, atomics = 0;

  std::uint64_t bytes() const { return read_bytes + write_bytes; }
  void add(std::uint64_t bytes, bool reads, bool writes) {
    runs += static_cast<std::uint64_t>(reads) + static_cast<std::uint64_t>(writes);
    if (reads) read_bytes += bytes;
    if (writes) write_bytes += bytes;
  }
  // Adds reads in requests of `request_bytes`, a multiple of a sector, at most a line.
  void add_reads(std::uint64_t bytes, std::uint64_t request_bytes) {
    ++runs;
    read_bytes += bytes;
    if (request_bytes < kLineBytes) short_requests[request_bytes / kSectorBytes - 1] += bytes / request_bytes;
  }
  void add_words(std::uint64_t words, bool atomically) {
    ++runs;
    write_bytes += words * kWordBytes;
    (atomically ? atomics : stored_words) += words;
  }
  // Returns the fraction `part` / `of` of this traffic, which must be reads and writes of whole lines only.
  RemoteTraffic part(std::uint64_t part, std::uint64_t of) const {
    const auto scaled = [&](std::uint64_t amount) {
      return static_cast<std::uint64_t>(WideUnsigned{amount} * part / of);
    };
    return {scaled(runs), scaled(read_bytes), scaled(write_bytes)};
  }
  RemoteTraffic reads() const { return {runs, read_bytes, 0, short_requests}; }
  RemoteTraffic writes() const { return {runs, 0, write_bytes, {}, stored_words, atomics}; }
};

class RemoteLane {
 public:
  RemoteLane(const config::LinkConfig& link, const config::RuntimeCosts& costs)
      : reads_(link.zero_copy_read_bytes_per_us),
        writes_(link.zero_copy_write_bytes_per_us),
        both_(costs.remote_both_ways_bytes_per_us),
        runs_(costs.remote_runs_per_us),
        requests_(costs.remote_requests_per_us),
        words_(costs.remote_words_per_us) {}

  // Returns the time on a free lane.
  Nanoseconds time(const RemoteTraffic& traffic) const {
    const std::uint64_t reads = reading(traffic), writes = writing(traffic);
    std::uint64_t ns = std::max({reads, writes, of(traffic.bytes(), both_), of(traffic.runs, runs_)});
    if (words_ != 0) {
      // Single stores share the link with reads, as the bytes of both directions do: together they reach 68 GB/s, each
      // direction alone 51 and 52 GB/s. Atomics wait for their answers, as reads do. Fitted to launches of cuDNN's
      // engines (sim/engine/remote_use.h).
      if (traffic.stored_words != 0) ns = std::max(ns, (reads + writes) * 3 / 4);
      if (traffic.atomics != 0) ns = std::max(ns, reads + writes + std::min(reads, writes) / 3);
    }
    return Nanoseconds(static_cast<std::int64_t>(ns));
  }
  // Serves traffic that may start at `earliest`; returns when it has passed.
  Nanoseconds carry(Nanoseconds earliest, const RemoteTraffic& traffic) {
    if (traffic.bytes() == 0) return earliest;
    busy_until_ = std::max(earliest, busy_until_) + time(traffic);
    return busy_until_;
  }
  void add_state(StateDigest& digest) const { digest.add_future(busy_until_); }

 private:
  // A short request takes its turn at the rate of requests if that is longer than the time of its bytes.
  std::uint64_t reading(const RemoteTraffic& traffic) const {
    std::uint64_t ns = of(traffic.read_bytes, reads_);
    for (std::size_t i = 0; i < traffic.short_requests.size(); ++i) {
      const std::uint64_t count = traffic.short_requests[i];
      ns += longer(count, requests_, count * (i + 1) * kSectorBytes, reads_);
    }
    return ns;
  }
  std::uint64_t writing(const RemoteTraffic& traffic) const {
    const std::uint64_t words = traffic.stored_words + traffic.atomics;
    return of(traffic.write_bytes, writes_) + longer(words, words_, words * RemoteTraffic::kWordBytes, writes_);
  }
  // Returns by how much `count` turns exceed the time of their bytes.
  static std::uint64_t longer(std::uint64_t count, std::uint64_t count_per_us, std::uint64_t bytes,
                              std::uint64_t bytes_per_us) {
    const std::uint64_t turns = of(count, count_per_us), passing = of(bytes, bytes_per_us);
    return turns > passing ? turns - passing : 0;
  }
  // A rate of 0 is no limit.
  static std::uint64_t of(std::uint64_t amount, std::uint64_t per_us) {
    return per_us == 0 ? 0 : static_cast<std::uint64_t>(WideUnsigned{amount} * 1000 / per_us);
  }

  std::uint64_t reads_, writes_, both_, runs_, requests_, words_;
  Nanoseconds busy_until_{};
};

}  // namespace uvmsim::link
