// SPDX-License-Identifier: Apache-2.0
#include "sim/link/copy_engine.h"

#include <algorithm>

#include "sim/common/check.h"

namespace uvmsim::link {
namespace {

// Work is counted in bytes/us times ns: 1000 units are a byte. Parts of a run are summed in this unit, so that only its
// end is rounded (up to a whole nanosecond).
constexpr std::uint64_t kWorkPerByte = 1000;

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace

CopyEngine::CopyEngine(const EngineRates& rates, const Shared& shared) : rates_(rates), shared_(shared) {
  std::fill(std::remove(shared_.begin(), shared_.end(), nullptr), shared_.end(), nullptr);
  UVMSIM_CHECK(rates.bytes_per_us > 0, "a copy engine needs a bandwidth");
}

void CopyEngine::begin_push(Nanoseconds earliest) {
  next_start_ = std::max(earliest, busy_until_);
  first_ = true;
}

RunTimes CopyEngine::run(std::uint64_t bytes, Nanoseconds more) {
  UVMSIM_CHECK(bytes > 0 && bytes < (std::uint64_t{1} << 50), "a run of {} bytes", bytes);
  const Nanoseconds start = next_start_;
  const Nanoseconds end = move(start + (first_ ? rates_.latency : rates_.run) + more, bytes);
  pushes_ += first_ ? 1 : 0;
  first_ = false;
  next_start_ = busy_until_ = end;
  busy_time_ += end - start;
  bytes_ += bytes;
  ++runs_;
  return {start, end};
}

// Returns when `bytes` that start at `from` have arrived.
Nanoseconds CopyEngine::move(Nanoseconds from, std::uint64_t bytes) {
  std::uint64_t work = bytes * kWorkPerByte;
  if (shared_.front() == nullptr) {
    return from + Nanoseconds(static_cast<std::int64_t>(divide_up(work, rates_.bytes_per_us)));
  }
  for (Nanoseconds now = from;;) {
    std::uint64_t rate = rates_.bytes_per_us;
    Nanoseconds until = BandwidthProfile::kForever;
    for (const BandwidthProfile* shared : shared_) {
      if (shared == nullptr) break;
      const BandwidthProfile::Share share = shared->free_at(now);
      rate = std::min(rate, share.bytes_per_us);
      until = std::min(until, share.until);
    }
    Nanoseconds end = until;
    if (rate > 0) {
      const auto needed = Nanoseconds(static_cast<std::int64_t>(divide_up(work, rate)));
      const bool last = needed <= until - now;
      if (last) end = now + needed;
      for (BandwidthProfile* shared : shared_) {
        if (shared == nullptr) break;
        shared->take(now, end, rate);
      }
      if (last) return end;
      work -= rate * static_cast<std::uint64_t>((end - now).value);
    }
    now = end;
  }
}

Nanoseconds CopyEngine::unloaded_time(std::uint64_t bytes) const {
  return rates_.latency + Nanoseconds(static_cast<std::int64_t>(divide_up(bytes * kWorkPerByte, rates_.bytes_per_us)));
}

}  // namespace uvmsim::link
