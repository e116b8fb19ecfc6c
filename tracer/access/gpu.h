// SPDX-License-Identifier: Apache-2.0
// The description of the GPU in the header of the log.
#pragma once

#include <cstdint>

#include "tracer/log/process_header.h"

namespace uvmtrace::access {

// Asks the driver that the program has loaded. Fields are empty if the driver does not answer.
GpuDescription describe_gpu(int device);

// Returns the size of the device's memory; 0 if the driver does not answer.
std::uint64_t device_memory_bytes(int device);

}  // namespace uvmtrace::access
