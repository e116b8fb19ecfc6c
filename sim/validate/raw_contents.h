// SPDX-License-Identifier: Apache-2.0
// What fault batches held, raw fault by raw fault: medians over the batches of one run. Measured by `uvmtrace faults`.
#pragma once

#include <cstdint>

namespace uvmsim::validate {

struct RawContents {
  std::uint64_t raw_faults = 0;  // of all batches
  std::uint64_t raw_faults_per_batch = 0, pages_per_batch = 0, sms_per_batch = 0;
};

}  // namespace uvmsim::validate
