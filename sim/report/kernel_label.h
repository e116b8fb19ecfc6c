// SPDX-License-Identifier: Apache-2.0
// Short names of kernels for pictures.
#pragma once

#include <string>
#include <string_view>

namespace uvmsim::report {

// Demangles a C++ name. Names that are not mangled stay as they are, and so do names that repeat their own parts too
// often, because a few hundred bytes may stand for gigabytes.
std::string demangled_name(std::string_view name);

// Demangles the name and removes result type, template arguments and parameters:
// "at::native::vectorized_elementwise_kernel".
std::string kernel_label(std::string_view name);

}  // namespace uvmsim::report
