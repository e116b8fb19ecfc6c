// SPDX-License-Identifier: Apache-2.0
// The folder that the passes write their logs to, and the selection of the program's logs in it.
#pragma once

#include <string>
#include <vector>

namespace uvmtrace {

class LogFolder {
 public:
  // `keep` names a folder to create and keep, which must be empty if it exists. If `keep` is empty, a hidden folder
  // beside `output` is used and removed at the end. Throws uvmsim::InputError if the folder cannot be created.
  LogFolder(const std::string& keep, const std::string& output);
  ~LogFolder();
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  const std::string& path() const { return path_; }
  void keep() { keep_ = true; }

  struct Choice {
    std::string log;                  // the log with the most launches; empty if there is none
    std::vector<std::string> others;  // other logs with launches
  };
  // `pass` is "timing", "access" or "memory".
  Choice choose(const std::string& pass) const;
  // Returns the logs of all processes that used CUDA.
  std::vector<std::string> all(const std::string& pass) const;
  // Returns the logs of all processes with launches.
  std::vector<std::string> processes(const std::string& pass) const;

 private:
  std::string path_;
  bool keep_;
};

}  // namespace uvmtrace
