// SPDX-License-Identifier: Apache-2.0
// The CUDA driver opens the library named by CUDA_INJECTION64_PATH inside cuInit and calls this function.
#include "tracer/access/session.h"
#include "tracer/log/event_log.h"

// Always returns 1: a program that cannot be recorded runs as if nothing had been injected.
extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  try {
    uvmtrace::access::Session::start();
  } catch (...) {
    uvmtrace::EventLog::complain("cannot start; the program runs on unrecorded");
  }
  return 1;
}
