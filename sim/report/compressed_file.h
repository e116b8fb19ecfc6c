// SPDX-License-Identifier: Apache-2.0
// An AtomicFile that is compressed where its name ends in ".gz", as viewers of timelines read it.
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
  // No write() after it.
  void commit();

 private:
  class Gzip;

  AtomicFile file_;
  std::unique_ptr<Gzip> gzip_;
};

}  // namespace uvmsim::report
