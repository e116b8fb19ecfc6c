// SPDX-License-Identifier: Apache-2.0
// The server that programs run on: one clock, the memory and links of all GPUs, a fault thread per GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/system.h"
#include "sim/driver/context.h"
#include "sim/driver/harvest.h"
#include "sim/engine/audit.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/fault_loop.h"
#include "sim/link/remote_lane.h"
#include "sim/link/topology.h"
#include "sim/memory/address_space.h"
#include "sim/memory/host_memory.h"

namespace uvmsim::engine {

struct Machine {
  // Throws InputError as Topology does.
  explicit Machine(const config::SystemConfig& described)
      : system(config::at_host_speed(described)),
        space(static_cast<unsigned>(described.gpus.size()), {.read_mostly = described.driver.replicate}),
        host(described.host.memory_bytes, described.host.reclaim_bytes),
        topology(system) {
    ledger.copies_dropped = described.driver.replicate;
    for (const config::LinkConfig& link : described.host_links) remote_lanes.emplace_back(link, described.runtime);
  }

  const config::SystemConfig system;  // with the driver's costs at the speed of its host
  EventQueue events;
  AddressSpace space;
  HostMemory host;
  link::Topology topology;
  std::vector<link::RemoteLane> remote_lanes;  // by GPU
  std::vector<driver::GpuState> gpus;
  std::vector<std::unique_ptr<FaultLoop>> fault_loops;  // by GPU; null: no program uses it
  std::unique_ptr<driver::Harvest> harvest;             // null: no program harvests
  Ledger ledger;
  GmmuCounters idle_gpus;
  unsigned programs = 0;
  std::vector<std::vector<unsigned>> users;  // programs that use the GPU, by GPU
};

}  // namespace uvmsim::engine
