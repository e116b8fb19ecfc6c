// SPDX-License-Identifier: Apache-2.0
// The start of a recording library, which the driver may ask for more than once.
#pragma once

#include <atomic>
#include <string>

#include "tracer/log/event_log.h"

namespace uvmtrace {

// Calls `start` the first time. It returns an empty string, or an error, which is printed on standard error. Always
// returns 1: no error here may keep the program from using CUDA.
inline int start_once(std::string (*start)()) {
  static std::atomic_flag started = ATOMIC_FLAG_INIT;
  if (started.test_and_set()) return 1;
  std::string problem;
  try {
    problem = start();
    if (problem.empty()) return 1;
  } catch (...) {
    problem = "out of memory";
  }
  EventLog::complain(problem + "; nothing is recorded, the program goes on");
  EventLog::instance().abandon();
  return 1;
}

}  // namespace uvmtrace
