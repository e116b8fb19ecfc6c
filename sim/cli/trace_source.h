// A trace that can be read several times: a file, or standard input kept in memory.
#pragma once

#include <string>

#include "sim/report/run_record.h"
#include "sim/trace/reader.h"

namespace uvmsim::cli {

class TraceSource {
 public:
  // "-" reads standard input whole. Throws InputError when the file cannot be read.
  TraceSource(const std::string& path, bool partial);

  // From the first record. Throws InputError when it is no trace.
  trace::TraceReader open() const;
  const report::InputFile& description() const { return description_; }
  // As it stands in messages.
  const std::string& name() const { return name_; }

 private:
  std::string path_;
  std::string name_;
  std::string content_;  // of standard input
  bool in_memory_;
  trace::ReaderOptions options_;
  report::InputFile description_;
};

}  // namespace uvmsim::cli
