// Ctrl-C during long work: stop at the next safe point, so that temporary files are removed.
#pragma once

#include <stdexcept>

namespace uvmsim::cli {

// Thrown by throw_if_interrupted; the command ends with exit code 130.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// While it lives, the first SIGINT or SIGTERM is noted; a second one ends the process as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

void throw_if_interrupted();

}  // namespace uvmsim::cli
