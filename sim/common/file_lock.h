// SPDX-License-Identifier: Apache-2.0
// A lock that is held while a user's file is read, changed and written, so that no other command's changes are lost.
#pragma once

#include <string>

namespace uvmsim {

class FileLock {
 public:
  // Waits until no other process holds a file of the same folder; the file may be missing. Nothing is written. If
  // folders cannot be locked, the constructor does not wait.
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace uvmsim
