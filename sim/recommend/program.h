// A workload under a placement as records that the engine replays: an ordinary trace, made as it is read.
//
// Set-up: tables and caches are allocated, tables that are managed lie on the host. Then, batch by batch, the kernels
// of FBGEMM's table-batched embeddings, with the rows that each touches, and the dense layers. A row is a quantum of
// the trace. What row caches do is worked out here, as the kernels of the real program do; what it costs to reach rows
// on the host, or pages that have to come from there, is the engine's.
#pragma once

#include <deque>
#include <optional>

#include "sim/config/system.h"
#include "sim/link/remote_lane.h"
#include "sim/recommend/batch_stream.h"
#include "sim/recommend/host_cache.h"
#include "sim/recommend/placement.h"
#include "sim/recommend/row_cache.h"
#include "sim/recommend/step_costs.h"
#include "sim/trace/record.h"

namespace uvmsim::recommend {

struct ProgramOptions {
  bool training = true;                         // else inference: no row changes
  std::uint64_t steps = 10;                     // that count; one comes before them, so that all streams are busy
  std::uint64_t warm_up = 100;                  // batches that only the caches see
  std::uint64_t gpu_bytes = 0;                  // GPU memory for tables or their cache
  std::uint32_t load_factor_thousandths = 200;  // rows of the cache / rows of the tables, as far as gpu_bytes allows
  std::uint64_t host_cache_bytes = 0;           // SSD: the DRAM cache
  std::uint64_t seed = 1;
};

// Of the steps that count: rows of their batches; bytes of what runs in them, each way once.
struct RowStatistics {
  std::uint64_t steps = 0;
  std::uint64_t lookups = 0;
  std::uint64_t unique = 0;                 // different rows, summed over batches
  std::uint64_t hits = 0;                   // different rows found in GPU memory
  std::uint64_t lookup_hits = 0;            // lookups of rows that were there, or came there ahead of use
  std::uint64_t inserted = 0, evicted = 0;  // rows
  std::uint64_t conflicts = 0;              // different rows that missed and found no way
  std::uint64_t conflict_lookups = 0;       // lookups of them
  std::uint64_t device_bytes = 0;           // rows read and written in GPU memory
  std::uint64_t host_read_bytes = 0;        // by the GPU, in place
  std::uint64_t host_written_bytes = 0;
  std::uint64_t host_cache_hits = 0;  // SSD: rows found in DRAM
  std::uint64_t ssd_read_rows = 0, ssd_written_rows = 0;
  std::uint64_t ssd_read_bytes = 0, ssd_written_bytes = 0;
};

class Program {
 public:
  // Throws InputError when the placement cannot be on the system: no SSD, no room for a cache.
  Program(const Workload& workload, const Placement& placement, const ProgramOptions& options,
          const config::SystemConfig& system);

  const trace::Header& header() const { return header_; }
  bool next(trace::Record& record);  // false at the end

  // Of the records given so far.
  const RowStatistics& statistics() const { return statistics_; }
  std::int64_t dense_ns() const;          // of one step
  std::uint64_t cache_rows() const;       // that the GPU's cache has room for
  std::uint64_t cache_rows_used() const;  // that are in it now

 private:
  // A batch and what the cache did for it.
  struct Fetched {
    Batch batch;
    RowCache::Outcome outcome;
  };

  void warm_up();
  void set_up();
  void emit_managed(trace::ObjectId id, std::uint64_t bytes, bool hints);
  void emit_step(std::uint64_t step);
  void fetch(std::uint64_t step, std::uint32_t stream);
  std::uint64_t exchange_with_ssd(const RowCache::Outcome& outcome, bool count);
  std::int64_t locations_ns(std::uint64_t lookups) const;
  void emit_forward(const Fetched& fetched);
  void emit_backward(const Fetched& fetched);
  void count(const Fetched& fetched);

  trace::Kernel& emit_kernel(const char* name, std::uint32_t stream, std::int64_t duration_ns);
  void emit_event(trace::SyncKind kind, std::uint32_t stream, std::uint64_t event);
  void add_touches(trace::Kernel& kernel, const std::vector<std::uint64_t>& rows, trace::ObjectId object) const;

  const Workload& workload_;
  const Placement& placement_;
  const ProgramOptions options_;
  const config::SsdConfig ssd_;
  const StepCosts costs_;
  const link::RemoteLane lane_;  // for estimates
  const BatchStream batches_;
  const std::uint64_t row_bytes_;
  std::optional<RowCache> cache_;
  std::optional<HostCache> host_cache_;
  trace::Header header_;
  std::deque<trace::Record> pending_;
  Fetched fetched_[2];  // by the parity of the step
  std::uint64_t step_ = 0;
  std::int64_t fetch_ns_ = 0;  // of the last fetch, on a free link
  enum class Stage : std::uint8_t { kSetUp, kSteps, kDone } stage_ = Stage::kSetUp;
  RowStatistics statistics_;
};

}  // namespace uvmsim::recommend
