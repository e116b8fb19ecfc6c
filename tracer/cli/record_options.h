// SPDX-License-Identifier: Apache-2.0
// The command line of `uvmtrace record`, checked.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/options.h"
#include "tracer/cli/find_parts.h"
#include "tracer/merge/merge.h"

namespace uvmtrace {

struct RecordOptions {
  std::string output;
  std::vector<std::string> program;
  bool torch = false, torch_operators = false;
  bool timing_only = false;
  bool memory_pass = true;
  bool both_outputs = false;
  enum class WarmUp : std::uint8_t { kAuto, kYes, kNo } warm_up = WarmUp::kAuto;
  bool own_settings = false;   // the program's environment stays as it is
  bool all_processes = false;  // writes a trace for each process instead of one for the process with most launches
  std::string keep_logs;       // folder
  // For the access pass; ../log/README.md lists the variables.
  std::vector<std::pair<std::string, std::string>> environment;
  MergeOptions merge;
  int compression_level = 9;

  // Throws uvmsim::InputError.
  static RecordOptions read(const uvmsim::cli::Values& values);
};

std::vector<uvmsim::cli::Option> record_options();

}  // namespace uvmtrace
