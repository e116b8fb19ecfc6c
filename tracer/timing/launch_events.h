// SPDX-License-Identifier: Apache-2.0
// The `launch` line, for calls and for the kernel nodes of a graph.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tracer/timing/calls.h"
#include "tracer/timing/parameters.h"

namespace uvmtrace {

struct LaunchShape {
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::uint32_t shared_bytes = 0;  // dynamic
};

// `node` 0 means not from a graph; `first` as in call_event().
void write_launch(const Call& call, std::string_view name, const LaunchShape& shape, CUstream stream,
                  const LaunchParameters& parameters, bool first, std::uint64_t node = 0);

}  // namespace uvmtrace
