// What every reader owes: bytes that it does not take it refuses with InputError, in one line.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/common/error.h"

namespace uvmsim::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

// Calls f, which may throw InputError and nothing else. Whether it returned.
template <class F>
bool taken(F&& f) {
  try {
    f();
    return true;
  } catch (const InputError& error) {
    const std::string_view line = error.what();
    require(!line.empty() && line.find('\n') == std::string_view::npos);
    return false;
  }
}

// A folder of this process, removed at its end, for readers that want a path.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("uvmsim_fuzz_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_.string(); }
  // Writes the file and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace uvmsim::fuzz
