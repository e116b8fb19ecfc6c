// SPDX-License-Identifier: Apache-2.0
// Threads, registers and shared memory of generated kernels: they decide how many blocks an SM holds, and so which
// pages are touched at once.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/llm/model.h"
#include "sim/trace/record.h"

namespace uvmsim::llm {

struct LaunchShape {
  trace::Dim3 block;
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes_per_block = 0;
};

// Returns the shape of a kernel of the generator by the begin of its name. Throws std::logic_error for a name that is
// not in the table.
LaunchShape launch_shape(std::string_view kernel, Number number);

// Returns the number of blocks for an amount: at least 1, and at most what a grid can have.
std::uint32_t blocks_for(std::uint64_t amount, std::uint64_t per_block);

}  // namespace uvmsim::llm
