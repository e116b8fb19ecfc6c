// Whether a file is still the one that it was: what the system says of it without reading it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace uvmsim {

// Of what the name leads to; all 0 where there is nothing. Writing to a file and replacing it change the stamp, and so
// do a few harmless things.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0, modified_s = 0, modified_ns = 0, changed_s = 0, changed_ns = 0;

  bool operator==(const FileStamp&) const = default;

  static FileStamp of(const std::string& path) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) return {};
    return {file.st_dev,          file.st_ino,         file.st_size,        file.st_mtim.tv_sec,
            file.st_mtim.tv_nsec, file.st_ctim.tv_sec, file.st_ctim.tv_nsec};
  }
};

}  // namespace uvmsim
