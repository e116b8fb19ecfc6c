// SPDX-License-Identifier: Apache-2.0
// A workload so small that every placement runs in a moment.
#pragma once

#include "sim/config/load_system.h"
#include "sim/recommend/batch_stream.h"
#include "sim/recommend/workload.h"

namespace uvmsim::recommend {

inline Workload small_workload() {
  Workload workload;
  workload.name = "small";
  workload.rows = {200000, 3, 60000, 1500};
  workload.lookups = {4, 1, 2, 1};
  workload.dimension = 128;
  workload.batch = 256;
  workload.training_zipf_thousandths = 1150;
  workload.inference_zipf_thousandths = 1090;
  workload.dense.bottom_mlp = {13, 64, 128};
  workload.dense.top_mlp = {64, 1};
  return workload;
}

// Returns a system with an SSD as in the G10 artifact.
inline config::SystemConfig system_with_ssd() {
  config::SystemConfig system = config::load_system("h200-sxm-pcie5");
  system.ssd.memory_bytes = std::uint64_t{8} << 40;
  system.ssd.read_bytes_per_us = 3200;
  system.ssd.write_bytes_per_us = 3000;
  system.ssd.read_latency_ns = system.ssd.write_latency_ns = 12000;
  return system;
}

// Fills a batch: its lookups, its rows and their counts.
inline void fill(const BatchStream& stream, std::uint64_t number, Batch& batch) {
  stream.draw(number, batch.lookups);
  group_rows(batch);
}

}  // namespace uvmsim::recommend
