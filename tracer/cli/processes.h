// SPDX-License-Identifier: Apache-2.0
// Which logs of the two passes belong to the same process of the program.
#pragma once

#include <string>
#include <vector>

namespace uvmtrace {

struct ProcessLogs {
  std::string timing, access;  // paths; `access` empty when the access pass has no such process
  std::string rank;            // as torchrun, MPI and Slurm say it; empty when nobody did
};

// Processes are paired by rank and command line, those that are alike in these by their order of beginning; so they are
// ordered, too. Throws uvmsim::InputError for a log without a header.
std::vector<ProcessLogs> pair_processes(const std::vector<std::string>& timing, const std::vector<std::string>& access);

}  // namespace uvmtrace
