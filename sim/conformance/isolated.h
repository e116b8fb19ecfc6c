// Runs code that may crash or never return in a process of its own.
#pragma once

#include <functional>
#include <string>

namespace uvmsim::conformance {

struct Outcome {
  bool passed = false;
  std::string text;
};

// `work` in a child process with a limit of processor time. What it returns comes back; an exception it throws, a
// signal that ends it and the limit become a text that says so.
Outcome run_isolated(const std::function<std::string()>& work, unsigned cpu_seconds);

}  // namespace uvmsim::conformance
