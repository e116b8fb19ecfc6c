// SPDX-License-Identifier: Apache-2.0
// Locks on points that are being computed: several `sweep run` may share a folder, also over a network.
//
// A lock is one byte of DIR/points/.lock, at an offset made from the point's id. The system frees it when its process
// ends, however that happens. On a file system without locks every process computes all points itself.
//
// One more byte locks the plan: processes that run it or collect its results share this lock, and a process that
// replaces the plan holds it exclusively.
#pragma once

#include <cstdint>
#include <string>

namespace uvmsim::sweep {

// The open lock file. Throws InputError where DIR/points is a link.
class LockFile {
 public:
  explicit LockFile(const std::string& folder);
  ~LockFile();
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;

  // `type` is as in fcntl(). Returns false when another process holds the byte and `wait` is false; returns true if
  // files cannot be locked.
  bool lock(std::int64_t byte, short type, bool wait) const;

 private:
  int descriptor_;
};

class PointLocks {
 public:
  // Each process needs its own object.
  explicit PointLocks(const std::string& folder) : file_(folder) {}

  // Returns false when another process holds it and `wait` is false.
  bool lock(const std::string& id, bool wait);
  void unlock(const std::string& id);

 private:
  LockFile file_;
};

class PlanLock {
 public:
  // Shares the plan of `folder`. Throws InputError while a process replaces it.
  explicit PlanLock(const std::string& folder);

  // Throws InputError when others share the plan.
  void have_alone();
  void share();

 private:
  std::string folder_;
  LockFile file_;
};

}  // namespace uvmsim::sweep
