// SPDX-License-Identifier: Apache-2.0
// A line on standard error that says that a command goes on when it has been silent for two seconds, whatever it does:
// its own progress lines (progress.h) come between records or points, and one of these may take long.
//
// It is a whole line on terminals too, at growing distances. No result depends on this display.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace uvmsim::cli {

class WorkLine {
 public:
  // `command`: as the user typed it, such as "uvmsim run".
  explicit WorkLine(std::string command);
  ~WorkLine();
  WorkLine(const WorkLine&) = delete;
  WorkLine& operator=(const WorkLine&) = delete;

  // Restarts the silence: another line was shown.
  static void note_shown();

 private:
  void watch();

  std::string command_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread watcher_;
};

}  // namespace uvmsim::cli
