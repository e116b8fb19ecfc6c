// SPDX-License-Identifier: Apache-2.0
// Reads PyTorch's text of an operator's schema, such as "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar
// alpha=1) -> Tensor(a!)".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// Returns how each argument is accessed: kWrite for an output that is an argument, kReadWrite for other arguments that
// the schema marks as written, kRead for all others. Empty for a text that is not a schema.
std::vector<AccessMode> argument_modes(std::string_view schema);

// Returns whether an operator only creates tensors or changes their metadata, and launches nothing: aten::empty, set_.
bool moves_no_data(std::string_view operator_name);
// Returns whether an operator replaces the content of its first argument without reading it: aten::copy_, fill_.
bool overwrites_its_first(std::string_view operator_name);

}  // namespace uvmsim::trace
