// SPDX-License-Identifier: Apache-2.0
// One workload under several placements: replays each and reports a step's time, transfers and hits.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/units.h"
#include "sim/config/system.h"
#include "sim/events/counters.h"
#include "sim/recommend/program.h"

namespace uvmsim::recommend {

struct PlacementResult {
  const Placement* placement = nullptr;
  std::string refused;                // the reason why the system cannot have it; empty: it ran
  Nanoseconds step{};                 // mean of the replayed steps
  Nanoseconds dense{};                // the part of kernels other than embeddings
  std::uint64_t cache_rows = 0;       // capacity of the GPU's cache in rows
  std::uint64_t cache_rows_used = 0;  // rows in it at the end: few mean that it is not yet full
  RowStatistics rows;                 // of all GPUs together
  std::vector<RowStatistics> gpus;    // by GPU
  SentBytes sent;
  Counters counters;  // of the replayed steps
  bool training = true;
  std::uint64_t row_bytes = 0;

  Nanoseconds embedding() const { return step > dense ? step - dense : Nanoseconds{}; }
  // Bytes over the link, migrated or remote-mapped.
  std::uint64_t host_to_device_bytes() const;
  std::uint64_t device_to_host_bytes() const;
  std::uint64_t hit_thousandths() const;  // lookups of rows found in GPU memory / lookups
  bool has_cache() const { return placement->cached; }
  // Bytes over the link per byte of the rows that a step reads and, in training, writes.
  std::uint64_t amplification_thousandths() const;
  // The largest number of lookups that a GPU serves / their mean.
  std::uint64_t lookup_imbalance_thousandths() const;
  // Returns the time that TorchRec's planner predicts for the embeddings (torchrec/distributed/planner): the bytes of
  // all lookups, three times in training, at the bandwidth that it assumes for the placement. 0 if it has no such
  // placement, or with several GPUs.
  Nanoseconds planner() const;
  // Every number, for files; names end in their unit.
  std::vector<std::pair<std::string, std::uint64_t>> numbers() const;
};

// A GPU's part of the tables.
struct GpuShare {
  ShardMap::Share share;
  std::uint64_t table_bytes = 0, state_bytes = 0;
  std::uint64_t osf_thousandths = 0;  // both together / its memory for them
};
std::vector<GpuShare> gpu_shares(const Workload& workload, const ProgramOptions& options);
// The largest amount / the mean.
std::uint64_t imbalance_thousandths(const std::vector<std::uint64_t>& amounts);

struct Study {
  Workload workload;
  config::SystemConfig system;
  ProgramOptions options;
  std::vector<PlacementResult> results;
};

// Replays one placement. If the system has no room for it, the result says so.
PlacementResult run_placement(const Workload& workload, const Placement& placement, const ProgramOptions& options,
                              const config::SystemConfig& system);

// Schema "uvmsim.recommend/1"; ends in a newline.
std::string study_json(const Study& study);
std::string study_csv(const Study& study);

}  // namespace uvmsim::recommend
