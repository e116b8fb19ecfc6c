// SPDX-License-Identifier: Apache-2.0
// The embedding tables of one GPU under a placement: all tables of a model, or the GPU's share of them. It computes
// what the row cache does for each batch, and emits the kernels of FBGEMM's table-batched embeddings with the rows that
// each touches.
//
// A row is a quantum of the trace. Row caches are simulated here, as the kernels of the real program implement them;
// the engine determines the cost of reaching rows on the host, or of migrating their pages.
#pragma once

#include <optional>

#include "sim/config/system.h"
#include "sim/link/remote_lane.h"
#include "sim/recommend/batch_stream.h"
#include "sim/recommend/choices.h"
#include "sim/recommend/gpu_queue.h"
#include "sim/recommend/host_cache.h"
#include "sim/recommend/row_cache.h"
#include "sim/recommend/sharding.h"
#include "sim/recommend/step_costs.h"

namespace uvmsim::recommend {

struct ProgramOptions {
  bool training = true;                         // otherwise inference: no row changes
  std::uint64_t steps = 10;                     // counted steps; one step precedes them, so that all streams are busy
  std::uint64_t warm_up = 100;                  // batches that only warm the caches
  std::uint64_t gpu_bytes = 0;                  // memory of each GPU for tables or their cache
  std::uint32_t load_factor_thousandths = 200;  // rows of the cache / rows of the tables, up to gpu_bytes
  std::uint64_t host_cache_bytes = 0;           // SSD: the DRAM cache
  std::uint64_t seed = 1;
  unsigned gpus = 1;  // the first GPUs of the system; each has the workload's samples of a step
  const Sharding* sharding = &shardings().front();
  const Optimizer* optimizer = &optimizers().front();  // in training
};

// Numbers of rows in the batches of the counted steps, and bytes that move in these steps, counted once in each
// direction.
struct RowStatistics {
  std::uint64_t steps = 0;
  std::uint64_t lookups = 0;
  std::uint64_t unique = 0;                 // distinct rows, summed over batches
  std::uint64_t hits = 0;                   // distinct rows found in GPU memory
  std::uint64_t lookup_hits = 0;            // lookups of rows that were there, or were fetched ahead
  std::uint64_t inserted = 0, evicted = 0;  // rows
  std::uint64_t conflicts = 0;              // distinct rows that missed and for which the cache had no way
  std::uint64_t conflict_lookups = 0;       // lookups of those rows
  std::uint64_t device_bytes = 0;           // rows, and their optimizer state, in GPU memory
  std::uint64_t host_read_bytes = 0;        // by the GPU, remote-mapped
  std::uint64_t host_written_bytes = 0;
  std::uint64_t host_cache_hits = 0;  // SSD: rows found in DRAM
  std::uint64_t ssd_read_rows = 0, ssd_written_rows = 0;
  std::uint64_t ssd_read_bytes = 0, ssd_written_bytes = 0;

  // Adds another GPU's statistics of the same steps.
  void add(const RowStatistics& other);
};

class GpuTables {
 public:
  // The arguments passed by reference must outlive the object. Throws InputError where there is no room for a cache or
  // for optimizer state.
  GpuTables(const Workload& workload, const ShardMap::Share& share, const Placement& placement,
            const ProgramOptions& options, const config::SystemConfig& system, const StepCosts& costs, GpuQueue queue);

  std::uint64_t table_bytes() const { return share_.rows * row_bytes_; }
  std::uint64_t state_bytes() const { return share_.rows * state_row_bytes_; }
  // Bytes of the tables or the state that are on the host before the first step.
  std::uint64_t host_bytes() const;
  // Bytes of the state in GPU memory, which tables or their cache cannot use.
  std::uint64_t device_state_bytes() const;
  const RowStatistics& statistics() const { return statistics_; }
  std::uint64_t cache_rows() const;       // capacity
  std::uint64_t cache_rows_used() const;  // rows in it now

  // The buffer for a step's lookups, to be filled before any other call for this step. Two steps are kept.
  std::vector<std::uint64_t>& lookups(std::uint64_t step) { return fetched_[step % 2].batch.lookups; }

  void warm_up(std::uint64_t step);  // lets the caches see its lookups
  void set_up();
  // Fetches the rows that a step needs into the cache.
  void fetch(std::uint64_t step, Stream stream);
  void begin_step(std::uint64_t step);
  void emit_forward(std::uint64_t step);
  void emit_backward(std::uint64_t step);
  void end_step(std::uint64_t step, bool counts);
  // The dense layers' time with a concurrent fetch.
  std::int64_t disturbed_ns(std::int64_t dense_ns) const;

 private:
  // A batch and the result of the cache for it.
  struct Fetched {
    Batch batch;
    RowCache::Outcome outcome;
  };

  // GPU memory for tables, or their cache, without the state.
  std::uint64_t table_room() const { return options_.gpu_bytes - device_state_bytes(); }
  void fill_memory();
  std::uint64_t exchange_with_ssd(const RowCache::Outcome& outcome, bool count);
  std::int64_t locations_ns(std::uint64_t lookups) const;
  void add_touches(trace::Kernel& kernel, const std::vector<std::uint64_t>& rows, Object object) const;
  void update_state(trace::Kernel& kernel, const std::vector<std::uint64_t>& rows);
  void count(const Fetched& fetched);

  const ShardMap::Share share_;
  const Placement& placement_;
  const ProgramOptions& options_;
  const config::SsdConfig ssd_;
  const StepCosts& costs_;
  const link::RemoteLane lane_;  // for estimates
  const std::uint64_t row_bytes_, state_row_bytes_, state_touched_bytes_;
  const std::uint64_t bags_, most_lookups_;  // per step
  GpuQueue queue_;
  std::optional<RowCache> cache_;
  std::optional<HostCache> host_cache_;
  Fetched fetched_[2];         // by the parity of the step
  std::int64_t fetch_ns_ = 0;  // of the last fetch, on a free link
  RowStatistics statistics_;
};

}  // namespace uvmsim::recommend
