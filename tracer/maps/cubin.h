// SPDX-License-Identifier: Apache-2.0
// The machine code of the kernels in a cubin, an ELF file of one GPU architecture.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace uvmtrace {

using Code = std::span<const unsigned char>;

// Calls take(kernel, code) for every function of the file and returns the architecture (90 for Hopper). Returns 0
// without a call if the bytes are not a cubin. A damaged file gives fewer functions.
int for_each_function(Code cubin, const std::function<void(std::string_view kernel, Code code)>& take);

}  // namespace uvmtrace
