// SPDX-License-Identifier: Apache-2.0
// What PyTorch's text of an operator's schema says about its arguments, as
// "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// Returns how each argument is accessed: kRead where the schema does not say that it is written, kWrite for an output
// that is an argument, else kReadWrite. Empty for a text that is no schema.
std::vector<AccessMode> argument_modes(std::string_view schema);

// Whether an operator only makes tensors or changes what is known of them, and launches nothing: aten::empty, set_.
bool moves_no_data(std::string_view operator_name);
// Whether it replaces what its first argument held without reading it: aten::copy_, fill_.
bool overwrites_its_first(std::string_view operator_name);

}  // namespace uvmsim::trace
