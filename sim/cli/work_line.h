// SPDX-License-Identifier: Apache-2.0
// A thread that prints a line on standard error when a command has been silent for two seconds. It covers all commands:
// their own progress lines (progress.h) come between records or points, and one of these may take long.
//
// The line ends with a newline on terminals too, and the intervals grow. No result depends on this display.
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

  // Restarts the silent interval: another line was shown.
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
