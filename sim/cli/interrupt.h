// Ctrl-C during long work: stop at the next safe point, so that temporary files are removed.
#pragma once

#include <stdexcept>

namespace uvmsim::cli {

// Thrown by throw_if_interrupted; the command ends with exit code 130.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// While it lives, the first SIGINT or SIGTERM is noted. A second one, or a second without a safe point (in a policy
// that never returns), ends the process: temporary files are removed, the exit code is 130.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

void throw_if_interrupted();

}  // namespace uvmsim::cli
