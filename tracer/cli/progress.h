// SPDX-License-Identifier: Apache-2.0
// The progress of the access pass, by the launches in its logs, and its remaining time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace uvmtrace {

// The expected size of the access pass, from the timing pass.
struct Expected {
  std::uint64_t launches = 0;
  double gpu_seconds = 0;   // of all kernels
  double wall_seconds = 0;  // of the whole pass
  // The factor by which instrumentation slows the program and its kernels (tracer/access/README.md has the
  // measurements).
  static constexpr double kSlowdown = 22;
  double seconds() const { return wall_seconds + gpu_seconds * (kSlowdown - 1); }
};

// Adds the launches and the times of kernels of a timing log; incomplete lines do not count.
void add_log(const std::string& path, Expected& out);

class Progress {
 public:
  using Say = std::function<void(const std::string&)>;

  // `folder`: where the access pass writes its logs. `say` is called with a line after `first`, then whenever the run's
  // time has doubled, but at intervals of at least 2 minutes.
  Progress(std::string folder, const Expected& expected, Say say,
           std::chrono::seconds first = std::chrono::seconds(10));

  // Call it often; it usually does nothing.
  void tick();

 private:
  using Clock = std::chrono::steady_clock;
  void read_more();

  std::string folder_;
  Expected expected_;
  Say say_;
  Clock::time_point start_, next_;
  Clock::time_point first_launch_;
  std::uint64_t launches_ = 0;
  std::map<std::string, std::uint64_t> read_;  // by log: bytes read, up to the end of a line
};

// Formats "35 s", "4 min", "3 h".
std::string duration_text(double seconds);

}  // namespace uvmtrace
