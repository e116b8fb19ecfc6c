// SPDX-License-Identifier: Apache-2.0
// GPU memory that a program holds in addition to managed memory: cudaMalloc, code of kernels, libraries' handles and
// workspaces.
//
// The resource manager takes it from the same root chunks of 2 MB (NVIDIA UVM 580, uvm_pmm_gpu.c, the callbacks for
// eviction by the PMA), and managed memory that is in the way is evicted as for a fault. It stays allocated until it is
// freed.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/driver/chunk_supply.h"

namespace uvmsim::driver {

class DeviceMemory {
 public:
  // With `beside`, the GPU's capacity holds managed memory only, and device memory is merely counted.
  DeviceMemory(DriverContext& context, ChunkSupply& chunks, bool beside);

  // Takes memory; returns the time when it is available. Throws InputError if no chunk would be left for managed
  // memory.
  Nanoseconds take(unsigned gpu, std::uint64_t bytes, Nanoseconds start);
  void give_back(unsigned gpu, std::uint64_t bytes);

  // Returns the most that one GPU held, in whole chunks.
  std::uint64_t most_bytes() const { return most_chunks_ * kBlockBytes; }

 private:
  struct Held {
    std::uint64_t bytes = 0;
    std::vector<ChunkId> chunks = {};
  };
  static std::uint64_t chunks_of(const Held& held) { return (held.bytes + kBlockBytes - 1) / kBlockBytes; }

  DriverContext& context_;
  ChunkSupply& chunks_;
  const bool beside_;
  std::vector<Held> held_;  // by GPU
  std::uint64_t most_chunks_ = 0;
};

}  // namespace uvmsim::driver
