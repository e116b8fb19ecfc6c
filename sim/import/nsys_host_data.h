// SPDX-License-Identifier: Apache-2.0
// Which memory the host must have had, though the report has no write to it: what comes to the GPU first of all.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/import/nsys_report.h"

namespace uvmsim::trace {

// The host had these bytes from `time` on: when their allocation was made; 0 where the report does not say.
struct HostData {
  std::int64_t time = 0;
  std::uint64_t address = 0, bytes = 0;
};

// Pages whose first event in the life of their allocation is a migration from the host to a GPU. Ascending by time and
// address. Copies, faults and memory events of the report are sorted by time.
std::vector<HostData> implied_host_data(const NsysReport& report);

}  // namespace uvmsim::trace
