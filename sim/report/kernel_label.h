// The name of a kernel as a picture has room for it.
#pragma once

#include <string>
#include <string_view>

namespace uvmsim::report {

// Demangled, without result type, template arguments and parameters: "at::native::vectorized_elementwise_kernel".
std::string kernel_label(std::string_view name);

}  // namespace uvmsim::report
