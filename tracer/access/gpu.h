// SPDX-License-Identifier: Apache-2.0
// What the header of the log says of the GPU.
#pragma once

#include "tracer/log/process_header.h"

namespace uvmtrace::access {

// Asks the driver that the program has loaded; empty fields when it does not answer.
GpuDescription describe_gpu(int device);

}  // namespace uvmtrace::access
