// SPDX-License-Identifier: Apache-2.0
// Progress of a sweep on standard error: a bar with the time left on a terminal, a line now and then elsewhere.
//
// Display only: nothing of it reaches a result.
#pragma once

#include <chrono>
#include <string>

#include "sim/sweep/run_sweep.h"

namespace uvmsim::cli {

class SweepDisplay {
 public:
  SweepDisplay();
  // Removes the bar.
  ~SweepDisplay();
  SweepDisplay(const SweepDisplay&) = delete;
  SweepDisplay& operator=(const SweepDisplay&) = delete;

  void update(const sweep::SweepProgress& progress);
  void failed(const std::string& label, const std::string& error);

 private:
  using Clock = std::chrono::steady_clock;

  static std::string longest(const sweep::SweepProgress& progress);
  static std::string time_left(const sweep::SweepProgress& progress);
  void erase();

  bool terminal_;
  bool drawn_ = false;
  Clock::time_point last_;
};

}  // namespace uvmsim::cli
