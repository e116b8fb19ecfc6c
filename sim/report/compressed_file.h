// SPDX-License-Identifier: Apache-2.0
// An AtomicFile that is compressed if its name ends in ".gz", as viewers of timelines accept it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/common/atomic_file.h"

namespace uvmsim::report {

class CompressedFile {
 public:
  // Throws as AtomicFile.
  explicit CompressedFile(const std::string& path);
  ~CompressedFile();

  void write(std::string_view bytes);
  // Completes the file; must be the last call.
  void commit();

 private:
  class Gzip;

  AtomicFile file_;
  std::unique_ptr<Gzip> gzip_;
};

}  // namespace uvmsim::report
