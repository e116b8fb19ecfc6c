// SPDX-License-Identifier: Apache-2.0
// A command that has been silent for two seconds says that it goes on, whatever it is doing: its own progress lines
// (progress.h) come between records or points, and one of these may take long.
//
// On a terminal as elsewhere it is a line, at growing distances. Display only: nothing of it reaches a result.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace uvmsim::cli {

class WorkLine {
 public:
  // `command`: as people typed it, such as "uvmsim run".
  explicit WorkLine(std::string command);
  ~WorkLine();
  WorkLine(const WorkLine&) = delete;
  WorkLine& operator=(const WorkLine&) = delete;

  // Something else was shown.
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
