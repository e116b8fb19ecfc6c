// SPDX-License-Identifier: Apache-2.0
// Progress of long work on standard error: a bar on a terminal, elsewhere a plain line every ten seconds, so that a log
// shows that the work goes on. Short work prints nothing. No result depends on this display.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace uvmsim::cli {

// A line of text that changes in place on a terminal.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine() { erase(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Returns whether the line should be shown again, by the time since it was last due.
  bool is_due();
  void show(const std::string& on_terminal, const std::string& elsewhere);
  void erase();
  // Returns a bar such as "[######------------------------]".
  static std::string bar(std::uint64_t done, std::uint64_t total);

 private:
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

class Progress {
 public:
  // `verbose`: also prints a line when a step begins and ends, on a terminal or elsewhere.
  explicit Progress(bool verbose) : verbose_(verbose) {}

  // Begins a step of `total` units; 0: unknown. `at_most`: the step may end before all units are done.
  void begin(std::string step, std::uint64_t total, bool at_most = false);
  void update(std::uint64_t done);
  // Returns a function that updates the progress and is a safe point for Ctrl-C (interrupt.h). This must outlive it.
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
