// SPDX-License-Identifier: Apache-2.0
// The signals that end a program, for all of its commands.
//
// SIGINT, SIGTERM and SIGHUP are noted, so that long work stops at its next safe point. If none comes within a second
// (in a policy that never returns, in a write to a pipe without a reader), or at a second signal, the process ends at
// once. Temporary files are removed in each case. Signals that were ignored before (nohup) stay ignored.
//
// SIGXFSZ ends nothing: the write that would make a file too large fails. SIGPIPE ends the process as usual, after
// temporary files are removed.
#pragma once

#include <stdexcept>
#include <string_view>

namespace uvmsim::cli {

// Thrown by throw_if_interrupted; the command ends with exit code 130.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// Handles signals as above while it lives; only one may exist at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(std::string_view program);  // its name, for messages
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// Throws Interrupted if a signal came; long work calls it at its safe points.
void throw_if_interrupted();

}  // namespace uvmsim::cli
