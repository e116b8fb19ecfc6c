// SPDX-License-Identifier: Apache-2.0
// A source of trace bytes with look-ahead: a file, standard input, or memory.
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

  // Returns at least `bytes` (up to 64 KB) of the bytes not yet consumed, or fewer at the end of the input. Throws
  // InputError on a read error.
  std::string_view peek(std::size_t bytes = 1);
  void consume(std::size_t bytes);

  std::uint64_t position() const { return position_; }  // bytes consumed

 private:
  struct FileCloser {
    void operator()(std::FILE* file) const;
  };

  std::unique_ptr<std::FILE, FileCloser> file_;  // null: memory, or everything is read
  std::string path_;
  std::vector<char> buffer_;
  std::string_view rest_;
  std::uint64_t position_ = 0;
};

}  // namespace uvmsim::trace
