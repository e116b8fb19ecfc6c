// SPDX-License-Identifier: Apache-2.0
// The memory to which a launch's parameters point: tensor maps, and every aligned 8-byte word of every parameter that
// is an address in a live allocation. Frameworks pass pointers inside structs by value, so whole parameters are
// scanned, not only those of 8 bytes.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/timing/tensor_maps.h"

namespace uvmtrace {

struct LaunchParameters {
  std::vector<std::uint64_t> pointers;  // in order of appearance, each address once
  std::vector<MapParameter> maps;
};

// `function` may be a CUkernel cast to CUfunction. Queries the driver for the layout of the function's parameters the
// first time, which requires a loaded function: call it after the launch.
LaunchParameters read_parameters(std::string_view kernel, CUfunction function, void** parameters, void** extra);

// Call when function handles may be reused from now on.
void forget_parameter_layouts();

// Returns the kernel's mangled name from the driver, or "" if there is none.
std::string kernel_name(CUfunction function, CUkernel kernel);

}  // namespace uvmtrace
