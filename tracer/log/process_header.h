// SPDX-License-Identifier: Apache-2.0
// The `header` line of a log: what is known about the process and its GPU.
#pragma once

#include <string>
#include <string_view>

#include "tracer/log/json_line.h"

namespace uvmtrace {

// The CUDA driver's description of the GPU; 0 and "" are left out of the header.
struct GpuDescription {
  std::string name;
  int sm_count = 0;
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  int cuda_version = 0;  // as cuDriverGetVersion gives it: 13000 is 13.0
};

// A pass may add its own fields before it writes the line.
JsonLine header_line(std::string_view pass, const GpuDescription& gpu);

}  // namespace uvmtrace
