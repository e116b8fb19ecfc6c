// SPDX-License-Identifier: Apache-2.0
// Reads a trace record by record, with at most one frame of it in memory.
//
// The content determines the form, not the name: `.uvmt`, JSON lines, or JSON lines inside zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

struct ReaderOptions {
  // Yields the records before the damage of a truncated or damaged file instead of refusing it.
  bool partial = false;
};

// The place of a record in its file.
struct Position {
  std::uint64_t record = 0;  // from 1; the header is not counted; 0 = none yet
  std::uint64_t frame = 0;   // in `.uvmt`, from 1; 0 for JSON lines
  std::uint64_t line = 0;    // in JSON lines, from 1; 0 for `.uvmt`

  std::string text() const;  // "record 12 (frame 1)", "record 12 (line 13)" or "record 12"
};

class TraceReader {
 public:
  // Opens the file ("-" = standard input) and reads its header. Throws InputError naming file and cause for a file that
  // cannot be read or is not a trace of this major version; with `partial` too, since nothing of it is complete.
  explicit TraceReader(const std::string& path, const ReaderOptions& options = {});
  // Reads from memory that the caller keeps alive; messages use `name`.
  TraceReader(std::string_view bytes, std::string name, const ReaderOptions& options = {});
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;

  const Header& header() const;

  // Reads the next record, in program order; returns false after the last one. `record` is overwritten and its storage
  // reused: passing the same one again is fastest. Every record satisfies shape.h. Throws InputError naming file,
  // record and frame or line for damage (unless partial), an unknown record type, an unknown key, or an impossible
  // value.
  bool next(Record& record);

  Position position() const;  // of the record last returned

  // Valid after next() returned false: whether the file was damaged and the records after position() are missing.
  bool truncated() const;
  const std::string& truncation() const;  // one line that says where and how; empty when not truncated

  const std::string& name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace uvmsim::trace
