// SPDX-License-Identifier: Apache-2.0
// Where trace bytes come from: a file, standard input, or memory, with a look ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::trace {

class Input {
 public:
  // Opens a file ("-" = standard input). Throws InputError naming it and the system's reason.
  static Input from_file(const std::string& path);
  // Reads from memory that the caller keeps alive.
  static Input from_memory(std::string_view bytes);

  // The bytes not yet consumed that are at hand: at least `bytes` (up to 64 KB), unless the input ends before. Throws
  // InputError on a read error.
  std::string_view peek(std::size_t bytes = 1);
  void consume(std::size_t bytes);

  std::uint64_t position() const { return position_; }  // bytes consumed

 private:
  struct FileCloser {
    void operator()(std::FILE* file) const;
  };

  std::unique_ptr<std::FILE, FileCloser> file_;  // null: memory, or all is read
  std::string path_;
  std::vector<char> buffer_;
  std::string_view rest_;
  std::uint64_t position_ = 0;
};

}  // namespace uvmsim::trace
