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

// By the name's ending: .uvmt or .jsonl; "-" (standard output) is JSON lines. Throws InputError for any other.
TraceFormat format_of_path(std::string_view path);

struct WriterOptions {
  int compression_level = 3;  // of zstd; 1 to 19
};

class TraceWriter {
 public:
  // Writes to a temporary file beside `path`, or to standard output when path is "-".
  // Throws InputError when the file cannot be made, for a bad header, or for another ending than .uvmt or .jsonl.
  TraceWriter(const std::string& path, const Header& header, const WriterOptions& options = {});
  // Appends to `memory`, which the caller keeps alive until finish().
  TraceWriter(std::string& memory, TraceFormat format, const Header& header, const WriterOptions& options = {});
  // Without finish() nothing of the file remains.
  ~TraceWriter();
  TraceWriter(TraceWriter&&) noexcept;

  // Throws InputError naming the record when it breaks a rule of shape.h or does not fit a file, and when the disk is
  // full. Program order is the caller's business (validate.h checks it).
  void write(const Record& record);

  // Completes the file and gives it its name. Must be the last call.
  void finish();

  std::uint64_t records() const;  // written so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace uvmsim::trace
