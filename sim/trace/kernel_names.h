// What a kernel's name says about how it spreads its accesses, for recordings without phases.
#pragma once

#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// kTiled for the matrix products and convolutions of cuBLAS, cuDNN and CUTLASS, else kBlockLinear.
Distribution distribution_by_name(std::string_view kernel_name);

}  // namespace uvmsim::trace
