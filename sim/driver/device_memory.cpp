// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/device_memory.h"

#include <algorithm>

#include "sim/common/error.h"

namespace uvmsim::driver {

DeviceMemory::DeviceMemory(DriverContext& context, ChunkSupply& chunks, bool beside)
    : context_(context), chunks_(chunks), beside_(beside), held_(context.gpus.size()) {}

Nanoseconds DeviceMemory::take(unsigned gpu, std::uint64_t bytes, Nanoseconds start) {
  Held& held = held_[gpu];
  held.bytes += bytes;
  most_chunks_ = std::max(most_chunks_, chunks_of(held));
  if (beside_) return start;
  const std::uint64_t all = context_.gpus[gpu].memory.chunk_count();
  const auto fail = [&] {
    throw_input_error(
        "GPU {}: the program takes {} bytes of device memory, it holds {} then, and managed memory needs at least one "
        "chunk of 2 MiB of the {} bytes of both; allowed: less, a larger capacity, or runtime.device_memory_beside",
        gpu, bytes, held.bytes, all * kBlockBytes);
  };
  if (chunks_of(held) >= all) fail();
  Work work(start);
  bool pages_left = false;
  while (held.chunks.size() < chunks_of(held)) {
    held.chunks.push_back(chunks_.take_unmanaged(work, gpu, pages_left));
    if (!held.chunks.back().valid()) fail();
  }
  // No pages arrive in place of the evicted ones, so no other event reports the new residency.
  if (pages_left) emit_residency(context_, gpu, work.done());
  return work.done();
}

void DeviceMemory::give_back(unsigned gpu, std::uint64_t bytes) {
  Held& held = held_[gpu];
  held.bytes -= bytes;
  for (; held.chunks.size() > chunks_of(held); held.chunks.pop_back()) {
    chunks_.return_unmanaged(gpu, held.chunks.back());
  }
}

}  // namespace uvmsim::driver
