// SPDX-License-Identifier: Apache-2.0
// Finds the logs of two passes that belong to the same process of the program.
#pragma once

#include <string>
#include <vector>

namespace uvmtrace {

struct ProcessLogs {
  std::string timing, partner;  // paths; `partner` empty when the other pass has no such process
  std::string rank;             // as set by torchrun, MPI or Slurm; empty when not set
};

// Processes are paired by rank and command line, those that are alike in these by their order of beginning; so they are
// ordered, too. Throws uvmsim::InputError for a log without a header.
std::vector<ProcessLogs> pair_processes(const std::vector<std::string>& timing, const std::vector<std::string>& other);

}  // namespace uvmtrace
