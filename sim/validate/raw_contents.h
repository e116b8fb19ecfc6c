// SPDX-License-Identifier: Apache-2.0
// What fault batches held, raw fault by raw fault: medians over the batches of one run. Measured by `uvmtrace faults`.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/validate/page_order.h"

namespace uvmsim::validate {

struct RawContents {
  std::uint64_t raw_faults = 0;  // of all batches
  std::uint64_t raw_faults_per_batch = 0, pages_per_batch = 0, sms_per_batch = 0;
  // From the first raw fault of a batch to its last; none: not recorded. In a batch that begins empty they are as far
  // apart as the reading of PUT allows.
  std::optional<std::uint64_t> raising_ns_per_batch = {};
  PagesByBatch page_order = {};  // of the first allocation, in pages from its start; empty: not recorded
};

}  // namespace uvmsim::validate
