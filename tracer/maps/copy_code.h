// SPDX-License-Identifier: Apache-2.0
// Determines from a kernel's machine code which of its parameters it uses as tensor maps, and how.
//
// The instructions of tensor copies take the map's address from a pair of uniform registers. The possible sources of
// this address are traced back to the kernel's parameters, which are in constant memory, along every path through the
// code that leads there. A choice between two maps gives both. Other sources of the address stay open: a map in device
// memory, or the rest in a register that is only written if a predicate holds. Only for Hopper's code (compute
// capability 9.0).
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
  std::vector<std::uint32_t> offsets;  // among the kernel's parameters: where the map may stand, ascending
  bool sure = false;                   // it is at one of these
  bool repeated = true;                // in a loop: a thread may come here more than once
  bool operator==(const TensorCopy&) const = default;
};

// A quick look: whether the code has any.
bool has_tensor_copies(Code code);

// Every tensor copy of the code, in its order.
std::vector<TensorCopy> tensor_copies(Code code);

}  // namespace uvmtrace
