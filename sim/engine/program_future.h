// SPDX-License-Identifier: Apache-2.0
// The future uses of GPU memory by the kernels and copies of a trace, read ahead for policies of class D4.
#pragma once

#include <cstdint>

#include "sim/engine/simulation.h"
#include "sim/policy/future.h"
#include "sim/policy/kernel_future.h"

namespace uvmsim::engine {

// Reads all uses of a trace. Operations have the numbers of their records in the program that runs, from 1; contents
// are pieces of `content_bytes`, a power of two up to 2 MB. Within a phase all operands advance together, each in
// proportion to its length; recorded touches come in their order. The pattern of some kernels depends on
// `capacity_bytes` (kernel_work.h). Throws InputError for invalid traces, naming the record.
policy::Future read_future(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                           std::uint64_t capacity_bytes, std::uint64_t content_bytes);

// Reads the kernels in the same way, for planners.
policy::KernelFuture read_kernel_future(const trace::Header& header, const RecordSource& source,
                                        const RunOptions& options, std::uint64_t capacity_bytes);

}  // namespace uvmsim::engine
