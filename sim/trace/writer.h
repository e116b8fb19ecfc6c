// SPDX-License-Identifier: Apache-2.0
// Writes a trace, record by record, as `.uvmt` or JSON lines.
//
// The same header and records give the same bytes (of `.uvmt`: with the same version of libzstd).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

enum class TraceFormat : std::uint8_t { kUvmt, kJsonLines };

// Determines the format by the name's ending: .uvmt or .jsonl; "-" (standard output) is JSON lines. Throws InputError
// for any other.
TraceFormat format_of_path(std::string_view path);

struct WriterOptions {
  int compression_level = 3;  // of zstd; 1 to 19
};

class TraceWriter {
 public:
  // Writes to a temporary file beside `path`, or to standard output when path is "-". Throws InputError when the file
  // cannot be created, for a bad header, or for another ending than .uvmt or .jsonl.
  TraceWriter(const std::string& path, const Header& header, const WriterOptions& options = {});
  // Appends to `memory`, which the caller keeps alive until finish().
  TraceWriter(std::string& memory, TraceFormat format, const Header& header, const WriterOptions& options = {});
  // Removes the temporary file unless finish() was called.
  ~TraceWriter();
  TraceWriter(TraceWriter&&) noexcept;

  // Throws InputError naming the record when it violates a rule of shape.h or does not fit a file, and when the disk is
  // full. The program order is not checked here (validate.h does).
  void write(const Record& record);

  // Completes the file and renames it. Must be the last call.
  void finish();

  std::uint64_t records() const;  // written so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace uvmsim::trace
