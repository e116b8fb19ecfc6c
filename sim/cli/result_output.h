// SPDX-License-Identifier: Apache-2.0
// Files for results that a command writes at its end. They are opened before the work starts.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"

namespace uvmsim::cli {

// A file, or standard output for "-", or nothing.
class ResultOutput {
 public:
  // Throws InputError if the file cannot be written.
  explicit ResultOutput(const std::optional<std::string>& path) : to_stdout_(path == "-") {
    if (path && !to_stdout_) file_.emplace(*path);
  }
  bool wanted() const { return file_ || to_stdout_; }
  // Appends text; standard output shows it at once.
  void add(const std::string& content) {
    if (to_stdout_) fmt::print("{}", content);
    if (file_) file_->write(content);
  }
  // Puts the file in place. No text may follow.
  void finish() {
    if (file_) file_->commit();
  }
  // Writes the whole content.
  void write(const std::string& content) {
    add(content);
    finish();
  }

 private:
  std::optional<AtomicFile> file_;
  bool to_stdout_;
};

using NamedOutputs = std::vector<std::pair<const char*, std::optional<std::string>>>;

// Throws InputError if two options name the same file or both standard output.
inline void check_outputs(const NamedOutputs& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = i + 1; j < outputs.size(); ++j) {
      const auto& [first, path] = outputs[i];
      const auto& [second, other] = outputs[j];
      if (!path || path != other) continue;
      if (*path == "-") {
        throw_input_error("{} and {} cannot both go to standard output; give one of them a file", first, second);
      }
      throw_input_error("{} and {} both name {}; give two files", first, second, *path);
    }
  }
}

}  // namespace uvmsim::cli
