// SPDX-License-Identifier: Apache-2.0
// Runs code that may crash or never return in a process of its own.
#pragma once

#include <functional>
#include <string>

namespace uvmsim::conformance {

struct Outcome {
  bool passed = false;
  std::string text;
};

// What a child process may take before it counts as endless: computing, and by the clock (for one that sleeps).
struct TimeLimits {
  unsigned cpu_seconds = 60;
  unsigned wall_seconds = 600;
};

// `work` in a child process with these limits. What it returns comes back; an exception it throws, a signal that ends
// it and the limits become a text that says so. Nobody else's signal is taken for a limit.
Outcome run_isolated(const std::function<std::string()>& work, TimeLimits limits);

}  // namespace uvmsim::conformance
