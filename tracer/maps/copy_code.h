// SPDX-License-Identifier: Apache-2.0
// Determines from a kernel's machine code which of its parameters it uses as tensor maps, and how.
//
// The instructions of tensor copies take the map's address from a pair of uniform registers. The possible sources of
// this address are traced back to the kernel's parameters, which are in constant memory, along every path through the
// code that leads there. A choice between two maps gives both. Other sources of the address remain unknown: a map in
// device memory, or the other values of a register that is only written if a predicate holds. Only Hopper's code
// (compute capability 9.0) is supported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracer/maps/cubin.h"

namespace uvmtrace {

inline constexpr int kCopyCodeArchitecture = 90;
// The begin of a kernel's parameters in constant memory.
inline constexpr std::uint32_t kParametersInConstantMemory = 0x210;

struct TensorCopy {
  enum class Kind : std::uint8_t { kLoad = 1, kStore = 2, kReduce = 3 };  // prefetches are loads
  Kind kind = Kind::kLoad;
  std::vector<std::uint32_t> offsets;  // possible offsets of the map among the kernel's parameters, ascending
  bool sure = false;                   // the map is at one of these offsets
  bool repeated = true;                // in a loop: a thread may execute it more than once
  bool operator==(const TensorCopy&) const = default;
};

// Returns quickly whether the code has any tensor copies.
bool has_tensor_copies(Code code);

// Returns all tensor copies of the code, in its order.
std::vector<TensorCopy> tensor_copies(Code code);

}  // namespace uvmtrace
