// SPDX-License-Identifier: Apache-2.0
// Progress of long work on standard error: a bar on a terminal; elsewhere a plain line every ten seconds, so that a log
// says that it goes on and short work says nothing.
//
// Display only: nothing of it reaches a result.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace uvmsim::cli {

class Progress {
 public:
  // `verbose`: a line when a step begins and ends, wherever standard error goes.
  explicit Progress(bool verbose);
  // Removes the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins a step of `total` units; 0 = unknown.
  void begin(std::string step, std::uint64_t total);
  void update(std::uint64_t done);
  void end();

 private:
  void draw(std::uint64_t done);
  std::string done_text(std::uint64_t done) const;
  void erase();

  bool verbose_;
  bool terminal_;
  bool drawn_ = false;
  std::string step_;
  std::uint64_t total_ = 0;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace uvmsim::cli
