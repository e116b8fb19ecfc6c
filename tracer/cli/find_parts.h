// SPDX-License-Identifier: Apache-2.0
// Finds the injection libraries and the PyTorch helper: in $UVMTRACE_LIBRARY_DIR, or around the command itself, in a
// build tree or installed.
#pragma once

#include <string>
#include <vector>

namespace uvmtrace {

struct Parts {
  std::string timing;      // libuvmtrace_timing.so; absolute; empty if it was not found
  std::string faults;      // libuvmtrace_faults.so, as above
  std::string memory;      // libuvmtrace_memory.so, as above
  std::string access;      // libuvmtrace_access.so, as above (it is only built if the headers of the API are installed)
  std::string torch_site;  // the folder for PYTHONPATH, as above
  std::vector<std::string> searched;
  std::string searched_text() const;  // joined by ", "
};

Parts find_parts();

}  // namespace uvmtrace
