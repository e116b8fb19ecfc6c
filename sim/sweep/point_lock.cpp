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

constexpr std::int64_t kPlanByte = std::int64_t{1} << 60;  // after the bytes of the points

// Opens the lock file without following links, as the folder may come from another user. Returns a negative number
// where there is no such folder.
int open_lock_file(const std::string& folder) {
  const std::filesystem::path points = std::filesystem::path(folder) / "points", file = points / ".lock";
  std::error_code ignored;
  if (std::filesystem::is_symlink(points, ignored)) {
    throw_input_error("{}: is a symbolic link; results go to no other folder", points.string());
  }
  return ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
}

std::int64_t byte_of(const std::string& id) { return std::stoll(id.substr(0, 15), nullptr, 16); }  // 60 bits

}  // namespace

LockFile::LockFile(const std::string& folder) : descriptor_(open_lock_file(folder)) {}

LockFile::~LockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

LockFile::LockFile(LockFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

bool LockFile::lock(std::int64_t byte, short type, bool wait) const {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(byte);
  range.l_len = 1;
  int status = -1;
  do {
    status = ::fcntl(descriptor_, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range);
  } while (status != 0 && errno == EINTR);
  return status == 0 || (errno != EAGAIN && errno != EACCES);
}

bool PointLocks::lock(const std::string& id, bool wait) { return file_.lock(byte_of(id), F_WRLCK, wait); }

void PointLocks::unlock(const std::string& id) { file_.lock(byte_of(id), F_UNLCK, false); }

PlanLock::PlanLock(const std::string& folder) : folder_(folder), file_(folder) { share(); }

void PlanLock::have_alone() {
  if (file_.lock(kPlanByte, F_WRLCK, false)) return;
  throw_input_error("{}: another sweep is being run or collected there; wait for it, or choose another folder",
                    folder_);
}

void PlanLock::share() {
  if (file_.lock(kPlanByte, F_RDLCK, false)) return;
  throw_input_error("{}: somebody is planning another sweep there at the moment", folder_);
}

}  // namespace uvmsim::sweep
