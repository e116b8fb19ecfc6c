// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/capacity.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/memory/chunk_id.h"

namespace uvmsim::engine {

namespace {

std::uint64_t in_chunks(std::uint64_t capacity) {
  const std::uint64_t chunks = capacity / kBlockBytes;
  if (chunks == 0) {
    throw_input_error("GPU memory for managed data is {} bytes; allowed: at least one chunk of {} bytes", capacity,
                      kBlockBytes);
  }
  return std::min<std::uint64_t>(chunks, ChunkId::kNone - 1) * kBlockBytes;
}

}  // namespace

std::uint64_t own_capacity_bytes(const config::SystemConfig& system, unsigned gpu, std::uint32_t neighbours) {
  const config::GpuConfig& config = system.gpus[gpu];
  const std::uint64_t taken = config.reserved_bytes + neighbours * system.runtime.context_bytes;
  return in_chunks(config.memory_bytes - std::min(config.memory_bytes, taken));
}

// A footprint given by the user need not be whole blocks; part of a block takes a chunk too.
std::uint64_t factor_capacity_bytes(std::uint64_t footprint_bytes, std::uint64_t osf_thousandths) {
  const std::uint64_t footprint = (footprint_bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  return footprint / osf_thousandths * 1000 + footprint % osf_thousandths * 1000 / osf_thousandths;
}

std::uint64_t capacity_bytes(const RunOptions& options, unsigned gpu) {
  const std::uint64_t own = own_capacity_bytes(options.system, gpu, options.neighbours);
  if (!options.limited) {
    const bool needs_more = options.hypothetical_capacity && options.footprint_bytes > own;
    return needs_more ? in_chunks(options.footprint_bytes + kBlockBytes - 1) : own;
  }
  std::uint64_t capacity = options.capacity_bytes;
  if (capacity == 0) {
    if (options.osf_thousandths == 0) throw_input_error("the oversubscription factor is 0; allowed: more than 0");
    if (options.footprint_bytes == 0) {
      throw_input_error("an oversubscription factor needs a footprint, and the trace has no managed memory");
    }
    capacity = factor_capacity_bytes(options.footprint_bytes, options.osf_thousandths);
  }
  if (in_chunks(capacity) > own && !options.hypothetical_capacity) {
    throw_input_error(
        "GPU memory for managed data is {} bytes, and the GPU of {} has {} for it; allowed: at most that, or "
        "--hypothetical-capacity (hypothetical_capacity in a sweep)",
        capacity, options.system.name, own);
  }
  return in_chunks(capacity);
}

}  // namespace uvmsim::engine
