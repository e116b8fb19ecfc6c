// SPDX-License-Identifier: Apache-2.0
// A random program: the logs of its two passes, and the trace that they must merge into, written down separately.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/trace/record.h"

namespace uvmtrace {

struct RandomProgram {
  std::string timing, access;                // logs
  std::vector<uvmsim::trace::Record> trace;  // the expected result of the merge

  // If `phases` is set, launches have random phases, which `trace` leaves out.
  RandomProgram(std::uint64_t seed, std::uint32_t steps, bool phases);
};

}  // namespace uvmtrace
