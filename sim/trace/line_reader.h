// SPDX-License-Identifier: Apache-2.0
// The lines of a text, plain or zstd-compressed, for the JSON-lines reader and the importers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/input.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

class LineReader {
 public:
  // Detects compression from the first bytes. The input must outlive the reader.
  explicit LineReader(Input& input);

  // Reads the next line without its end ("\n" or "\r\n"); returns false at the end of the text. The view is valid until
  // the next call. Throws DamageError when compressed data are damaged, InputError for a line longer than
  // kMaxLineBytes.
  bool next(std::string_view& line);

  // Returns read(); an InputError that it throws gets `file` and the line in front.
  template <class Read>
  auto with_place(std::string_view file, const Read& read) const {
    try {
      return read();
    } catch (const InputError& error) {
      throw_input_error("{}: line {}: {}", file, line_number_, error.what());
    }
  }

  std::uint64_t line_number() const { return line_number_; }   // of the line last returned, from 1
  bool ended_by_newline() const { return ended_by_newline_; }  // false: the text stops within that line

 private:
  bool fill();  // Reads more text; returns false when there is none.

  PlainBytes text_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // text not yet returned, in buffer_
  std::uint64_t line_number_ = 0;
  bool ended_by_newline_ = true;
};

}  // namespace uvmsim::trace
