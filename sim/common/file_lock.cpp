// SPDX-License-Identifier: Apache-2.0
#include "sim/common/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace uvmsim {

FileLock::FileLock(const std::string& path) {
  // Locks the folder of the resolved file, because a symbolic link is only another name of it.
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::weakly_canonical(path, ignored);
  const std::filesystem::path folder = ignored || !file.has_parent_path() ? "." : file.parent_path();
  descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace uvmsim
