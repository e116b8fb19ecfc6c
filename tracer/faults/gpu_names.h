// SPDX-License-Identifier: Apache-2.0
// Reads the names of the machine's GPUs from files of the kernel's driver, for a library that does not call CUDA.
#pragma once

#include <string>

namespace uvmtrace::faults {

// Returns the models, each once, joined by ", "; empty if there are none.
std::string gpu_names();

}  // namespace uvmtrace::faults
