// SPDX-License-Identifier: Apache-2.0
// Makes one run beyond memory on the GPU, only for --oversubscribe (oversubscription.h has the conditions).
#pragma once

#include "tracer/ground_truth/oversubscription.h"

namespace uvmtrace::ground_truth {

// Throws Refusal before anything is allocated if the host has too little memory, DeviceError if a CUDA call fails.
BeyondMeasurement run_beyond(const BeyondRun& run);

}  // namespace uvmtrace::ground_truth
