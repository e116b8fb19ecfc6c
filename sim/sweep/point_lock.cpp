#include "sim/sweep/point_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace uvmsim::sweep {
namespace {

struct flock byte_of(const std::string& id, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(std::stoll(id.substr(0, 15), nullptr, 16));  // 60 bits
  lock.l_len = 1;
  return lock;
}

}  // namespace

PointLocks::PointLocks(const std::string& folder)
    : descriptor_(
          ::open((std::filesystem::path(folder) / "points" / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {}

PointLocks::~PointLocks() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool PointLocks::lock(const std::string& id, bool wait) {
  struct flock range = byte_of(id, F_WRLCK);
  int status = -1;
  do {
    status = ::fcntl(descriptor_, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range);
  } while (status != 0 && errno == EINTR);
  return status == 0 || (errno != EAGAIN && errno != EACCES);
}

void PointLocks::unlock(const std::string& id) {
  struct flock range = byte_of(id, F_UNLCK);
  static_cast<void>(::fcntl(descriptor_, F_OFD_SETLK, &range));
}

}  // namespace uvmsim::sweep
