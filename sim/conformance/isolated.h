// SPDX-License-Identifier: Apache-2.0
// Runs code that may crash or never return in a process of its own.
#pragma once

#include <functional>
#include <string>

namespace uvmsim::conformance {

struct Outcome {
  bool passed = false;
  std::string text;
  bool endless = false;  // a limit stopped it
};

// Limits after which a child process counts as endless: CPU time, and wall-clock time (for one that sleeps).
struct TimeLimits {
  unsigned cpu_seconds = 60;
  unsigned wall_seconds = 600;
};

// Runs `work` in a child process with these limits and returns its result. An exception, a fatal signal or an exceeded
// limit becomes a text that names it, with the function of a plug-in that was running. A signal from another process is
// not taken for a limit.
Outcome run_isolated(const std::function<std::string()>& work, TimeLimits limits);

}  // namespace uvmsim::conformance
