// SPDX-License-Identifier: Apache-2.0
// Who computes a point at the moment: several `sweep run` may share a folder, also over a network.
//
// A lock of one byte of DIR/points/.lock, at an offset made from the point's id. The system frees it when its process
// ends, however that happens. Where files cannot be locked, every process simply computes for itself.
//
// One byte more is for the plan: all that run it or collect its results share it, who replaces it has it alone.
#pragma once

#include <cstdint>
#include <string>

namespace uvmsim::sweep {

// The open file. Throws InputError where DIR/points is a link.
class LockFile {
 public:
  explicit LockFile(const std::string& folder);
  ~LockFile();
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;

  // `type` as fcntl() has it. False when another process has the byte and `wait` is false; true where files cannot be
  // locked.
  bool lock(std::int64_t byte, short type, bool wait) const;

 private:
  int descriptor_;
};

class PointLocks {
 public:
  // Each process needs its own object.
  explicit PointLocks(const std::string& folder) : file_(folder) {}

  // False when another process has it and `wait` is false.
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
