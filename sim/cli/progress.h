// SPDX-License-Identifier: Apache-2.0
// Progress of long work on standard error: a bar on a terminal; elsewhere a plain line every ten seconds, so that a log
// says that it goes on and short work says nothing.
//
// Display only: nothing of it reaches a result.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace uvmsim::cli {

// The line that changes in place.
class StatusLine {
 public:
  StatusLine();
  // Removes it.
  ~StatusLine() { erase(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Whether it is time for another one.
  bool is_due();
  void show(const std::string& on_terminal, const std::string& elsewhere);
  void erase();
  // "[######------------------------]"
  static std::string bar(std::uint64_t done, std::uint64_t total);

 private:
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

class Progress {
 public:
  // `verbose`: a line when a step begins and ends, wherever standard error goes.
  explicit Progress(bool verbose) : verbose_(verbose) {}

  // Begins a step of `total` units; 0 = unknown. `at_most`: it may end before.
  void begin(std::string step, std::uint64_t total, bool at_most = false);
  void update(std::uint64_t done);
  // Updates it, a safe point for Ctrl-C (interrupt.h). It must outlive what it returns.
  std::function<void(std::uint64_t done)> reporter();
  void end();

 private:
  bool verbose_;
  StatusLine line_;
  std::string step_;
  std::uint64_t total_ = 0;
  bool at_most_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace uvmsim::cli
