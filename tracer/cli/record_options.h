// The command line of `uvmtrace record`, checked.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracer/cli/find_parts.h"
#include "tracer/merge/merge.h"

namespace uvmtrace {

struct RecordOptions {
  bool help = false;  // was printed
  std::string output;
  std::vector<std::string> program;
  bool torch = false, torch_operators = false;
  bool timing_only = false;
  bool both_outputs = false;
  std::string keep_logs;  // folder
  // For the access pass, as ../log/README.md has them.
  std::vector<std::pair<std::string, std::string>> environment;
  MergeOptions merge;
  int compression_level = 9;

  // Throws uvmsim::InputError.
  static RecordOptions parse(const std::vector<std::string>& arguments);
};

}  // namespace uvmtrace
