// SPDX-License-Identifier: Apache-2.0
// What the kernels and copies of a trace will use on the GPU, read ahead for policies of class D4.
#pragma once

#include <cstdint>

#include "sim/engine/simulation.h"
#include "sim/policy/future.h"
#include "sim/policy/kernel_future.h"

namespace uvmsim::engine {

// Operations have the numbers of their records in the program that runs, from 1; contents are pieces of
// `content_bytes`, a power of two up to 2 MB. Within an operation the operands advance together, each as fast as it is
// long, phase by phase; recorded touches come in their order. `capacity_bytes` decides how some kernels are played
// (kernel_work.h). Throws InputError for traces that cannot be, naming the record.
policy::Future read_future(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                           std::uint64_t capacity_bytes, std::uint64_t content_bytes);

// The kernels likewise, for planners.
policy::KernelFuture read_kernel_future(const trace::Header& header, const RecordSource& source,
                                        const RunOptions& options, std::uint64_t capacity_bytes);

}  // namespace uvmsim::engine
