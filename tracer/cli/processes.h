// SPDX-License-Identifier: Apache-2.0
// Finds the logs of two passes that belong to the same process of the program.
#pragma once

#include <string>
#include <vector>

namespace uvmtrace {

struct ProcessLogs {
  std::string timing, partner;  // paths; `partner` is empty if the other pass has no such process
  std::string rank;             // as set by torchrun, MPI or Slurm; empty when not set
};

// Pairs processes by rank and command line, and those that are equal in both by their start times; the result has the
// same order. Throws uvmsim::InputError for a log without a header.
std::vector<ProcessLogs> pair_processes(const std::vector<std::string>& timing, const std::vector<std::string>& other);

}  // namespace uvmtrace
