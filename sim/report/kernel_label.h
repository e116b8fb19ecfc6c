// SPDX-License-Identifier: Apache-2.0
// The name of a kernel as a picture has room for it.
#pragma once

#include <string>
#include <string_view>

namespace uvmsim::report {

// As a compiler of C++ takes it; names that are no mangled ones as they are, and so are those that repeat their own
// parts too often: a few hundred bytes may stand for gigabytes.
std::string demangled_name(std::string_view name);

// Demangled, without result type, template arguments and parameters: "at::native::vectorized_elementwise_kernel".
std::string kernel_label(std::string_view name);

}  // namespace uvmsim::report
