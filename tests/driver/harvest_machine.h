// SPDX-License-Identifier: Apache-2.0
// The driver's machine with NVLink between all GPUs, and the parts of HUVM.
#pragma once

#include <algorithm>
#include <optional>

#include "sim/driver/chunk_prefetch.h"
#include "sim/driver/harvest.h"
#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {

inline config::SystemConfig nvlink(unsigned gpus = 2) {
  config::SystemConfig system = tiny_system(gpus);
  for (std::uint32_t a = 0; a < gpus; ++a) {
    for (std::uint32_t b = a + 1; b < gpus; ++b) {
      config::PeerLinkConfig link;
      link.kind = "nvlink";
      link.first_gpu = a;
      link.second_gpu = b;
      link.each_way = {.latency_ns = 2000, .run_ns = 1000, .bytes_per_us = 100000, .remote_read_bytes_per_us = 90000};
      system.peer_links.push_back(link);
    }
  }
  return system;
}

// Limits host memory, with an SSD below it.
inline void limit_host(config::SystemConfig& system, std::uint64_t bytes) {
  system.host.memory_bytes = bytes;
  system.host.reclaim_bytes = kBlockBytes;
  system.host.watermark_scale_factor = 0;
  system.ssd = {std::uint64_t{1} << 30, 3200, 3200, 12000, 16000, 32};
}

// GPUs of `chunks` chunks, of which all but the reserve can be lent. Routes are those of HUVM's released driver.
struct Harvesting : Machine {
  explicit Harvesting(std::uint32_t chunks, HarvestChoice choice = {.victims = true, .reserve_chunks = 0},
                      const config::SystemConfig& config = nvlink(), const std::string& route = "min_pending",
                      const policy::GivenParameters& route_parameters = {})
      : Machine(chunks, config), harvest(choice, topology, gpus), moves(harvest, context, residency) {
    use_router(route, route_parameters);
    if (choice.prefetch) ahead.emplace(context, residency, thrashing, moves);
    for (unsigned gpu = 0; gpu < gpus.size(); ++gpu) harvest.connect(gpu, moves);
  }
  void check() {
    engine::audit_memory(space, gpus, context.host_resident_pages);
    engine::audit_host(space, host, system.ssd.memory_bytes);
  }
  unsigned on(BlockIndex block, ProcessorId processor) const { return space.pages(block, processor).resident.count(); }
  // Waits long enough for the writer to finish.
  void wait() {
    advance_to(now + Nanoseconds(100000000));
    harvest.advance(now);
  }
  // Steps the prefetches up to a time, as the engine would.
  void prefetch_until(Nanoseconds until) {
    if (!ahead) return;
    for (unsigned gpu = 0; gpu < gpus.size(); ++gpu) {
      for (Nanoseconds next; (next = ahead->next_step(gpu)) <= until && next.value != INT64_MAX;) {
        ahead->step(gpu, next);
        advance_to(next);
      }
    }
  }
  Harvest harvest;
  HarvestMoves moves;
  std::optional<ChunkPrefetch> ahead;
};

inline BlockIndex block_of(BlockIndex first, unsigned i) { return BlockIndex(first.value + i); }

}  // namespace uvmsim::driver
