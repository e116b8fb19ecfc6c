// SPDX-License-Identifier: Apache-2.0
// Checks whether the model of PyTorch's caching allocator (sim/layout) puts the recorded tensors where they were.
#pragma once

#include <cstdint>
#include <string>

#include "sim/trace/reader.h"

namespace uvmtrace {

struct LayoutCheck {
  std::uint64_t tensors = 0;  // tensors with a recorded placement
  std::uint64_t equal = 0;  // tensors in the same segment (by order of allocation, of the same size) at the same offset
  std::uint64_t unplaced = 0;  // tensors without a recorded placement
  std::uint64_t segments = 0, model_segments = 0;
  std::uint64_t segments_freed = 0;  // segments freed while recording; the model empties its cache then
  std::string first_difference;      // one line; empty if there is no difference

  bool at_least(std::uint32_t thousandths) const;
};

// Feeds only the allocations and frees of all tensors, in order, to the model. A difference is not corrected, so it may
// cause others. Reads the rest of the trace; throws uvmsim::InputError as the reader does, and for a tensor that is
// allocated twice or freed without being allocated.
LayoutCheck check_layout(uvmsim::trace::TraceReader& reader);

}  // namespace uvmtrace
