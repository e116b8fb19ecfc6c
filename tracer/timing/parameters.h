// SPDX-License-Identifier: Apache-2.0
// The memory that a launch's parameters point to: tensor maps, and every aligned 8-byte word of every parameter that is
// an address in a live allocation. Frameworks pass pointers inside structs by value, so whole parameters are scanned,
// not only those of 8 bytes.
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

// `function` may be a CUkernel in disguise. Asks the driver for the layout of the function's parameters the first time,
// so that the function must be loaded: call it after the launch.
LaunchParameters read_parameters(std::string_view kernel, CUfunction function, void** parameters, void** extra);

// Function handles may be reused from now on.
void forget_parameter_layouts();

// The kernel's mangled name as the driver gives it, "" when it does not.
std::string kernel_name(CUfunction function, CUkernel kernel);

}  // namespace uvmtrace
