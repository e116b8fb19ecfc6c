// SPDX-License-Identifier: Apache-2.0
// Code that the verbs of `uvmsim trace` share, and the verbs with files of their own.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "sim/cli/options.h"
#include "sim/cli/reading_progress.h"
#include "sim/cli/say.h"
#include "sim/trace/reader.h"
#include "sim/trace/validate.h"
#include "sim/trace/writer.h"

namespace uvmsim::cli {

inline constexpr Option kPartial{"partial", "", "of a file that is cut off or damaged, take what is whole"};
inline constexpr Option kLevel{"level", "N", "zstd compression level of .uvmt, 1 to 19, default 3"};

inline std::string given_trace(const Values& values, const char* verb) {
  return values.first(fmt::format("no trace given; `uvmsim trace {} --help` shows examples", verb));
}

inline std::string given_output(const Values& values, const char* verb) {
  return values.required("output",
                         fmt::format("no output given: add -o FILE; `uvmsim trace {} --help` shows examples", verb));
}

inline trace::WriterOptions writer_options(const Values& values) {
  trace::WriterOptions options;
  const auto otherwise = static_cast<std::uint64_t>(options.compression_level);
  options.compression_level = static_cast<int>(values.number("level", otherwise, {1, 19, " is no level"}));
  return options;
}

inline void warn_truncated(const trace::TraceReader& reader) {
  if (reader.truncated()) warn("{}; the rest is missing", reader.truncation());
}

// Copies all records of a program that reads from `reader`; checks them if there is a validator.
template <class Program>
void copy_records(Program& program, const trace::TraceReader& reader, trace::TraceWriter& writer,
                  trace::Validator* validator) {
  const ReadingProgress progress(reader);
  trace::Record record;
  while (program.next(record)) {
    if (validator != nullptr) validator->check(record, reader.position());
    writer.write(record);
  }
  if (validator != nullptr) validator->finish(reader.truncated());
  warn_truncated(reader);
}

CommandLine trace_import();
CommandLine trace_export();
CommandLine trace_hint();
CommandLine trace_fields();

}  // namespace uvmsim::cli
