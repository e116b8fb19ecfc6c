// SPDX-License-Identifier: Apache-2.0
// A workload under a placement as records that the engine replays: an ordinary trace, generated while it is read.
//
// The set-up allocates tables and caches; managed tables are on the host. Then follow, batch by batch, the kernels of
// each GPU's tables (gpu_tables.h), the dense layers, and between several GPUs the messages of TorchRec: pooled rows,
// their gradients, the dense gradients.
#pragma once

#include "sim/recommend/exchange.h"
#include "sim/recommend/gpu_tables.h"

namespace uvmsim::recommend {

// Bytes that all GPUs together sent to each other in the counted steps.
struct SentBytes {
  std::uint64_t pooled_rows = 0, row_gradients = 0, dense_gradients = 0;
};

class Program {
 public:
  // Throws InputError when the system cannot have the placement: no SSD, no room for a cache, GPUs without links.
  Program(const Workload& workload, const Placement& placement, const ProgramOptions& options,
          const config::SystemConfig& system);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const trace::Header& header() const { return header_; }
  bool next(trace::Record& record);  // returns false at the end

  // Statistics of the records given so far, over all GPUs.
  RowStatistics statistics() const;
  const SentBytes& sent() const { return sent_; }
  std::int64_t dense_ns() const;  // of one step
  const std::vector<GpuTables>& gpus() const { return gpus_; }

 private:
  void check_room(const config::SystemConfig& system) const;
  void set_up();
  void draw(std::uint64_t number, std::uint64_t step);
  void begin_together();
  void emit_step(std::uint64_t step);
  void emit_forward(std::uint64_t step);
  void emit_backward(std::uint64_t step);
  void reduce_dense_gradients();
  void add_sum(unsigned gpu, Stream stream, std::uint64_t bytes);
  std::uint64_t tables_of(unsigned gpu) const { return shards_.shares()[gpu].tables; }
  std::uint64_t pooled_bytes(std::uint64_t tables) const;  // of one GPU's samples
  std::uint64_t dense_part(unsigned gpu) const;            // bytes of the dense gradients that a GPU sums

  const Workload& workload_;
  const Placement& placement_;
  const ProgramOptions options_;
  const StepCosts costs_;
  const BatchStream batches_;
  const ShardMap shards_;
  const std::uint64_t dense_bytes_;
  trace::Header header_;
  std::deque<trace::Record> pending_;
  std::vector<GpuQueue> queues_;
  std::vector<GpuTables> gpus_;
  Exchange exchange_;
  std::vector<std::uint64_t> lookups_;             // of the current batch
  std::vector<std::vector<std::uint64_t>> parts_;  // by GPU
  std::uint64_t step_ = 0;
  enum class Stage : std::uint8_t { kSetUp, kSteps, kDone } stage_ = Stage::kSetUp;
  SentBytes sent_;
};

}  // namespace uvmsim::recommend
