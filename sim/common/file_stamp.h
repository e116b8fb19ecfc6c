// SPDX-License-Identifier: Apache-2.0
// Whether a file is still the one that it was: what the system says of it without reading it.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace uvmsim {

// Of what the name leads to; all 0 where there is nothing. Writing to a file and replacing it change the stamp, and so
// do a few harmless things.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0, modified_ns = 0, changed_ns = 0;

  bool operator==(const FileStamp&) const = default;

  static FileStamp of(const std::string& path) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) return {};
    const auto ns = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
    return {file.st_dev, file.st_ino, file.st_size, ns(file.st_mtim), ns(file.st_ctim)};
  }

  // As `of`, once the file is older than a tick of the file system's clock (at most 10 ms): two changes within one
  // would look like one.
  static FileStamp settled(const std::string& path) {
    using std::chrono::system_clock;
    constexpr std::chrono::nanoseconds kTick = std::chrono::milliseconds(20);
    const FileStamp stamp = of(path);
    const auto age = system_clock::now().time_since_epoch() - std::chrono::nanoseconds(stamp.changed_ns);
    if (age >= kTick) return stamp;
    std::this_thread::sleep_for(kTick);
    return of(path);
  }
};

}  // namespace uvmsim
