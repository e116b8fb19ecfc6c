// SPDX-License-Identifier: Apache-2.0
// Who computes a point at the moment: several `sweep run` may share a folder, also over a network.
//
// A lock of one byte of DIR/points/.lock, at an offset made from the point's id. The system frees it when its process
// ends, however that happens. Where files cannot be locked, every process simply computes for itself.
//
// One byte more is for the plan: all that run it or collect its results share it, who replaces it has it alone.
#pragma once

#include <string>

namespace uvmsim::sweep {

class PointLocks {
 public:
  // Opens the file; each process needs its own object. Throws InputError where DIR/points is a link.
  explicit PointLocks(const std::string& folder);
  ~PointLocks();
  PointLocks(const PointLocks&) = delete;
  PointLocks& operator=(const PointLocks&) = delete;

  // False when another process has it and `wait` is false.
  bool lock(const std::string& id, bool wait);
  void unlock(const std::string& id);

 private:
  int descriptor_;
};

class PlanLock {
 public:
  // Shares the plan of `folder`. Throws InputError while a process replaces it, and where its points are a link.
  explicit PlanLock(const std::string& folder);
  ~PlanLock();
  PlanLock(PlanLock&& other) noexcept;
  PlanLock& operator=(PlanLock&&) = delete;

  // Throws InputError when others share the plan.
  void have_alone();
  void share();

 private:
  bool lock(short type) const;

  std::string folder_;
  int descriptor_;
};

}  // namespace uvmsim::sweep
