// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/point_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "sim/common/error.h"

namespace uvmsim::sweep {
namespace {

constexpr std::int64_t kPlanByte = std::int64_t{1} << 60;  // behind those of the points

// Links in a folder that comes from somebody else lead nowhere. Below 0 where there is no such folder.
int open_lock_file(const std::string& folder) {
  const std::filesystem::path points = std::filesystem::path(folder) / "points", file = points / ".lock";
  std::error_code ignored;
  if (std::filesystem::is_symlink(points, ignored)) {
    throw_input_error("{}: is a symbolic link; results go to no other folder", points.string());
  }
  return ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
}

// False when another process has it; true where files cannot be locked.
bool set_lock(int descriptor, struct flock range, bool wait) {
  int status = -1;
  do {
    status = ::fcntl(descriptor, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range);
  } while (status != 0 && errno == EINTR);
  return status == 0 || (errno != EAGAIN && errno != EACCES);
}

struct flock byte_of(const std::string& id, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(std::stoll(id.substr(0, 15), nullptr, 16));  // 60 bits
  lock.l_len = 1;
  return lock;
}

}  // namespace

PointLocks::PointLocks(const std::string& folder) : descriptor_(open_lock_file(folder)) {}

PointLocks::~PointLocks() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool PointLocks::lock(const std::string& id, bool wait) { return set_lock(descriptor_, byte_of(id, F_WRLCK), wait); }

void PointLocks::unlock(const std::string& id) {
  struct flock range = byte_of(id, F_UNLCK);
  static_cast<void>(::fcntl(descriptor_, F_OFD_SETLK, &range));
}

PlanLock::PlanLock(const std::string& folder) : folder_(folder), descriptor_(open_lock_file(folder)) { share(); }

PlanLock::PlanLock(PlanLock&& other) noexcept
    : folder_(std::move(other.folder_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

PlanLock::~PlanLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void PlanLock::have_alone() {
  if (lock(F_WRLCK)) return;
  throw_input_error("{}: another sweep is being run or collected there; wait for it, or choose another folder",
                    folder_);
}

void PlanLock::share() {
  if (!lock(F_RDLCK)) throw_input_error("{}: somebody is planning another sweep there at the moment", folder_);
}

bool PlanLock::lock(short type) const {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(kPlanByte);
  range.l_len = 1;
  return set_lock(descriptor_, range, false);
}

}  // namespace uvmsim::sweep
