// SPDX-License-Identifier: Apache-2.0
// The folder that the passes write their logs to, and which of the logs in it are the program's.
#pragma once

#include <string>
#include <vector>

namespace uvmtrace {

class LogFolder {
 public:
  // `keep` names a folder to make and keep, which must hold nothing yet; when empty, a hidden one
  // beside `output` that is removed in the end. Throws uvmsim::InputError when it cannot be made.
  LogFolder(const std::string& keep, const std::string& output);
  ~LogFolder();
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  const std::string& path() const { return path_; }
  void keep() { keep_ = true; }

  struct Choice {
    std::string log;                  // with the most launches; empty when there is none
    std::vector<std::string> others;  // that have launches too
  };
  // `pass` is "timing", "access" or "memory".
  Choice choose(const std::string& pass) const;
  // Those of all processes that used CUDA.
  std::vector<std::string> all(const std::string& pass) const;
  // All that have launches.
  std::vector<std::string> processes(const std::string& pass) const;

 private:
  std::string path_;
  bool keep_;
};

}  // namespace uvmtrace
