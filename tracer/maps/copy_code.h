// SPDX-License-Identifier: Apache-2.0
// Which of its parameters a kernel uses as tensor maps, and how: read from its machine code.
//
// The instructions of tensor copies take the map's address from a pair of uniform registers. Where that may come from
// is followed back to the kernel's parameters, which lie in constant memory, along every way through the code that
// leads there. A choice between two maps gives both. What else the address may be stays open: a map in device memory,
// or the rest in a register that is only written where a predicate holds. Only for Hopper's code (compute capability
// 9.0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracer/maps/cubin.h"

namespace uvmtrace {

inline constexpr int kCopyCodeArchitecture = 90;
// Where a kernel's parameters begin in constant memory.
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
