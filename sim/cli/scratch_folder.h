// SPDX-License-Identifier: Apache-2.0
// A temporary folder, removed at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "sim/common/error.h"

namespace uvmsim::cli {

class ScratchFolder {
 public:
  // `purpose` becomes a part of its name: "why".
  explicit ScratchFolder(const std::string& purpose) {
    std::string pattern = (std::filesystem::temp_directory_path() / ("uvmsim-" + purpose + "-XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) throw_input_error("cannot make a folder {}", pattern);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace uvmsim::cli
