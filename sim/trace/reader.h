// SPDX-License-Identifier: Apache-2.0
// Reads a trace, record by record, never holding more than one frame of it.
//
// The form is told by the content, never by the name: `.uvmt`, JSON lines, or JSON lines inside zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

struct ReaderOptions {
  // Of a file that is cut off or damaged, yield the records before the damage instead of refusing it.
  bool partial = false;
};

// Where a record stands in its file.
struct Position {
  std::uint64_t record = 0;  // from 1; the header is not counted; 0 = none yet
  std::uint64_t frame = 0;   // of `.uvmt`, from 1; 0 for JSON lines
  std::uint64_t line = 0;    // of JSON lines, from 1; 0 for `.uvmt`

  std::string text() const;  // "record 12 (frame 1)", "record 12 (line 13)" or "record 12"
};

class TraceReader {
 public:
  // Opens the file ("-" = standard input) and reads its header. Throws InputError naming file and cause for a file that
  // cannot be read or is no trace of our major version; with `partial` too, since nothing of it is whole.
  explicit TraceReader(const std::string& path, const ReaderOptions& options = {});
  // The same from memory that the caller keeps alive; `name` stands in messages.
  TraceReader(std::string_view bytes, std::string name, const ReaderOptions& options = {});
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;

  const Header& header() const;

  // The next record, in program order; false after the last one. `record` is overwritten and its storage reused: pass
  // the same one again for speed. Every record satisfies shape.h. Throws InputError naming file, record and frame or
  // line for damage (unless partial), an unknown record type, an unknown key, or a value that cannot be.
  bool next(Record& record);

  Position position() const;  // of the record last returned

  // After next() returned false: the file was damaged and the records after position() are missing.
  bool truncated() const;
  const std::string& truncation() const;  // one line that says where and how; empty when not truncated

  const std::string& name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace uvmsim::trace
