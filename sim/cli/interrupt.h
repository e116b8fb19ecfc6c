// SPDX-License-Identifier: Apache-2.0
// The signals that end a program, for all of its commands.
//
// SIGINT, SIGTERM and SIGHUP are noted, so that long work stops at its next safe point. Where none comes within a
// second (in a policy that never returns, in a write to a pipe without a reader), and at a second signal, the process
// ends at once. Temporary files are removed in each case. What was to be ignored (nohup) stays ignored.
//
// SIGXFSZ ends nothing: the write that would have made a file too large fails. SIGPIPE ends the process as usual, but
// not without removing temporary files.
#pragma once

#include <stdexcept>
#include <string_view>

namespace uvmsim::cli {

// Thrown by throw_if_interrupted; the command ends with exit code 130.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// Signals are handled as above while it lives. One at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(std::string_view program);  // for the last words
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// For the safe points of long work.
void throw_if_interrupted();

}  // namespace uvmsim::cli
