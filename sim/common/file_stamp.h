// SPDX-License-Identifier: Apache-2.0
// Detects without reading it whether a file has changed.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace uvmsim {

// The stamp of the file that the name resolves to; all 0 if there is none. Writing to a file and replacing it change
// the stamp, and so do a few harmless operations.
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

  // Waits until the file is older than a tick of the file system's clock (at most 10 ms), because two changes within a
  // tick would look like one; then as `of`.
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
