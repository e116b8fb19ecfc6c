// SPDX-License-Identifier: Apache-2.0
// Finds the injection libraries and the PyTorch helper: in $UVMTRACE_LIBRARY_DIR, or around the command itself, in a
// build tree or installed.
#pragma once

#include <string>
#include <vector>

namespace uvmtrace {

struct Parts {
  std::string timing;      // libuvmtrace_timing.so; absolute, empty when it is nowhere
  std::string faults;      // libuvmtrace_faults.so; likewise
  std::string memory;      // libuvmtrace_memory.so; likewise
  std::string access;      // libuvmtrace_access.so; likewise (it is only built where its headers are)
  std::string torch_site;  // the folder for PYTHONPATH; likewise
  std::vector<std::string> searched;
  std::string searched_text() const;  // joined by ", "
};

Parts find_parts();

}  // namespace uvmtrace
