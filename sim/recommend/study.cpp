// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/study.h"

#include <algorithm>
#include <numeric>

#include "sim/common/error.h"
#include "sim/engine/simulation.h"
#include "sim/report/numbers.h"

namespace uvmsim::recommend {

namespace {

using Memory = Placement::Memory;

// torchrec/distributed/planner/constants.py, in GiB/s: HBM, DDR; rows cached by default.
constexpr std::uint64_t kPlannerHbm = 897, kPlannerDdr = 51, kPlannerCachedPercent = 20;

// Returns MiB/s.
std::uint64_t planner_bandwidth(const Placement& placement) {
  if (placement.memory == Memory::kDevice) return kPlannerHbm * 1024;
  if (placement.memory != Memory::kManaged) return 0;
  if (!placement.cached) return kPlannerDdr * 1024 / 10;
  return (kPlannerCachedPercent * kPlannerHbm + (100 - kPlannerCachedPercent) * kPlannerDdr) * 1024 / 1000;
}

// `device_state_bytes` is that of the GPU with the largest state. A trace has one host thread, which issues the work of
// all GPUs in turn; in reality each GPU's host process would issue its own at the same time.
RunOptions run_options(const Placement& placement, const ProgramOptions& options, const config::SystemConfig& system,
                       std::uint64_t device_state_bytes) {
  RunOptions run;
  run.system = system;
  run.system.runtime.launch_ns /= options.gpus;
  run.capacity_bytes = options.gpu_bytes - std::min(options.gpu_bytes, device_state_bytes);
  run.limited = placement.memory == Memory::kFaulting;  // no other placement migrates managed memory to the GPU
  run.seed = options.seed;
  return run;
}

}  // namespace

std::uint64_t PlacementResult::host_to_device_bytes() const {
  return rows.host_read_bytes + counters.htod_fault_bytes + counters.htod_prefetch_bytes + counters.htod_counter_bytes;
}
std::uint64_t PlacementResult::device_to_host_bytes() const {
  return rows.host_written_bytes + counters.dtoh_evict_bytes + counters.dtoh_fault_bytes + counters.dtoh_prefetch_bytes;
}
std::uint64_t PlacementResult::hit_thousandths() const {
  return report::ratio_thousandths(rows.lookup_hits, rows.lookups);
}
std::uint64_t PlacementResult::amplification_thousandths() const {
  return report::ratio_thousandths(host_to_device_bytes() + device_to_host_bytes(),
                                   rows.unique * row_bytes * (training ? 2 : 1));
}

Nanoseconds PlacementResult::planner() const {
  const std::uint64_t bandwidth = planner_bandwidth(*placement);
  if (bandwidth == 0 || rows.steps == 0 || gpus.size() != 1) return {};
  const WideUnsigned bytes = WideUnsigned{rows.lookups / rows.steps} * row_bytes * (training ? 3 : 1);
  return Nanoseconds(static_cast<std::int64_t>(bytes * 1000000000 / (WideUnsigned{bandwidth} << 20)));
}

std::uint64_t PlacementResult::lookup_imbalance_thousandths() const {
  std::vector<std::uint64_t> lookups;
  for (const RowStatistics& gpu : gpus) lookups.push_back(gpu.lookups);
  return imbalance_thousandths(lookups);
}

std::uint64_t imbalance_thousandths(const std::vector<std::uint64_t>& amounts) {
  if (amounts.empty()) return 0;
  const std::uint64_t sum = std::accumulate(amounts.begin(), amounts.end(), std::uint64_t{0});
  return report::ratio_thousandths(*std::max_element(amounts.begin(), amounts.end()) * amounts.size(), sum);
}

std::vector<GpuShare> gpu_shares(const Workload& workload, const ProgramOptions& options) {
  const std::uint64_t state_row_bytes = options.training ? options.optimizer->bytes_per_row(workload) : 0;
  std::vector<GpuShare> shares;
  const ShardMap shards(workload, *options.sharding, options.gpus);
  for (const ShardMap::Share& share : shards.shares()) {
    GpuShare& gpu =
        shares.emplace_back(GpuShare{share, share.rows * workload.row_bytes(), share.rows * state_row_bytes, 0});
    gpu.osf_thousandths = report::ratio_thousandths(gpu.table_bytes + gpu.state_bytes, options.gpu_bytes);
  }
  return shares;
}

std::vector<std::pair<std::string, std::uint64_t>> PlacementResult::numbers() const {
  const auto ns = [](Nanoseconds time) { return static_cast<std::uint64_t>(time.value); };
  return {{"step_ns", ns(step)},
          {"dense_ns", ns(dense)},
          {"embedding_ns", ns(embedding())},
          {"torchrec_planner_ns", ns(planner())},
          {"steps", rows.steps},
          {"lookups", rows.lookups},
          {"unique_rows", rows.unique},
          {"unique_thousandths", report::ratio_thousandths(rows.unique, rows.lookups)},
          {"cache_rows", cache_rows},
          {"cache_rows_used", cache_rows_used},
          {"unique_hits", rows.hits},
          {"lookup_hits", rows.lookup_hits},
          {"hit_thousandths", hit_thousandths()},
          {"inserted_rows", rows.inserted},
          {"evicted_rows", rows.evicted},
          {"conflict_rows", rows.conflicts},
          {"conflict_lookups", rows.conflict_lookups},
          {"device_bytes", rows.device_bytes},
          {"host_to_device_bytes", host_to_device_bytes()},
          {"device_to_host_bytes", device_to_host_bytes()},
          {"remote_read_bytes", rows.host_read_bytes},
          {"remote_written_bytes", rows.host_written_bytes},
          {"amplification_thousandths", amplification_thousandths()},
          {"host_cache_hit_rows", rows.host_cache_hits},
          {"ssd_read_rows", rows.ssd_read_rows},
          {"ssd_written_rows", rows.ssd_written_rows},
          {"ssd_read_bytes", rows.ssd_read_bytes},
          {"ssd_written_bytes", rows.ssd_written_bytes},
          {"faulting_pages", counters.faulting_pages},
          {"fault_batches", counters.fault_batches},
          {"evictions", counters.evictions},
          {"pooled_rows_sent_bytes", sent.pooled_rows},
          {"row_gradients_sent_bytes", sent.row_gradients},
          {"dense_gradients_sent_bytes", sent.dense_gradients},
          {"lookup_imbalance_thousandths", lookup_imbalance_thousandths()}};
}

PlacementResult run_placement(const Workload& workload, const Placement& placement, const ProgramOptions& options,
                              const config::SystemConfig& system) {
  PlacementResult result;
  result.placement = &placement;
  result.training = options.training;
  result.row_bytes = workload.row_bytes();
  std::optional<Program> program;
  try {
    program.emplace(workload, placement, options, system);
  } catch (const InputError& error) {
    result.refused = error.what();
    return result;
  }
  std::uint64_t most_state_bytes = 0;
  for (const GpuTables& gpu : program->gpus()) most_state_bytes = std::max(most_state_bytes, gpu.device_state_bytes());
  const RunResult run = simulate(
      program->header(), [&](trace::Record& record) { return program->next(record); },
      run_options(placement, options, system, most_state_bytes));
  result.step = (run.iterations.back().end - run.iterations.at(1).begin) / static_cast<std::int64_t>(options.steps);
  for (auto step = run.iterations.begin() + 1; step != run.iterations.end(); ++step) {
    add(result.counters, step->counters, 1);
  }
  result.dense = Nanoseconds(program->dense_ns());
  for (const GpuTables& gpu : program->gpus()) {
    result.cache_rows += gpu.cache_rows();
    result.cache_rows_used += gpu.cache_rows_used();
    result.gpus.push_back(gpu.statistics());
  }
  result.rows = program->statistics();
  result.sent = program->sent();
  return result;
}

}  // namespace uvmsim::recommend
