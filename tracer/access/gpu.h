// SPDX-License-Identifier: Apache-2.0
// The description of the GPU in the header of the log.
#pragma once

#include <cstdint>

#include "tracer/log/process_header.h"

namespace uvmtrace::access {

// Asks the driver that the program has loaded; empty fields when it does not answer.
GpuDescription describe_gpu(int device);

// All of its memory; 0 when the driver does not answer.
std::uint64_t device_memory_bytes(int device);

}  // namespace uvmtrace::access
