// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/campaign.h"

#include <algorithm>

namespace uvmsim::validate {

namespace {

using Limits = CampaignLimits;

constexpr std::uint64_t kMs = 1000000, kMiB = std::uint64_t{1} << 20;

std::uint64_t copies_in(const Counters& c) {
  return c.htod_fault_transactions + c.htod_prefetch_transactions + c.htod_user_transactions +
         c.htod_counter_transactions;
}
std::uint64_t copies_out(const Counters& c) {
  return c.dtoh_fault_transactions + c.dtoh_prefetch_transactions + c.dtoh_user_transactions +
         c.dtoh_evict_transactions;
}

}  // namespace

const std::array<LimitInfo, 12> kLimitTable{{
    {"time_permille", &Limits::time_permille, "time"},
    {"bytes_permille", &Limits::bytes_permille, "bytes"},
    {"bytes_blocks", &Limits::bytes_blocks, "bytes"},
    {"copies_permille", &Limits::copies_permille, "copies"},
    {"fault_batches_permille", &Limits::fault_batches_permille, "fault batches"},
    {"cpu_faults_permille", &Limits::cpu_faults_permille, "CPU faults"},
    {"fault_share_permille", &Limits::fault_share_permille, "fault share"},
    {"ratio_permille", &Limits::ratio_permille, "ratio"},
    {"chunks_permille", &Limits::chunks_permille, "chunks given"},
    {"services_permille", &Limits::services_permille, "services"},
    {"evictions_permille", &Limits::evictions_permille, "evictions"},
    {"fault_pages_permille", &Limits::fault_pages_permille, "fault pages"},
}};

const std::array<FigureInfo, figure::kCount> kFigureTable{{
    {"time_ns", "kernels ms", &Limits::time_permille, kMs, [](const Counters& c) { return c.kernel_ns; }},
    {"bytes_in", "MiB in", &Limits::bytes_permille, kMiB, [](const Counters& c) { return c.htod_bytes(); }},
    {"bytes_out", "MiB out", &Limits::bytes_permille, kMiB, [](const Counters& c) { return c.dtoh_bytes(); }},
    {"bytes_moved", "MiB in + out", &Limits::bytes_permille, kMiB,
     [](const Counters& c) { return c.htod_bytes() + c.dtoh_bytes(); }},
    {"fault_bytes_in", "MiB in by fault", nullptr, kMiB, [](const Counters& c) { return c.htod_fault_bytes; }},
    {"prefetch_bytes_in", "MiB in by prefetch", nullptr, kMiB, [](const Counters& c) { return c.htod_prefetch_bytes; }},
    {"evicted_bytes", "MiB evicted", &Limits::bytes_permille, kMiB,
     [](const Counters& c) { return c.dtoh_evict_bytes; }},
    {"evictions", "evictions", &Limits::evictions_permille, 1, [](const Counters& c) { return c.evictions; }},
    {"copies_in", "copies in", &Limits::copies_permille, 1, copies_in},
    {"copies_out", "copies out", &Limits::copies_permille, 1, copies_out},
    {"copies", "copies", &Limits::copies_permille, 1, [](const Counters& c) { return copies_in(c) + copies_out(c); }},
    {"copy_in_ns", "copying in ms", nullptr, kMs, [](const Counters& c) { return c.htod_busy_ns; }},
    {"copy_out_ns", "copying out ms", nullptr, kMs, [](const Counters& c) { return c.dtoh_busy_ns; }},
    {"copy_ns", "copying ms", nullptr, kMs, [](const Counters& c) { return c.htod_busy_ns + c.dtoh_busy_ns; }},
    {"fault_batches", "fault batches", &Limits::fault_batches_permille, 1,
     [](const Counters& c) { return c.fault_batches; }},
    // Distinct pages of each batch, summed over all batches.
    {"fault_pages", "fault pages", &Limits::fault_pages_permille, 1,
     [](const Counters& c) { return c.faulting_pages; }},
    {"cpu_faults", "CPU faults", &Limits::cpu_faults_permille, 1, [](const Counters& c) { return c.cpu_faults; }},
    {"chunk_allocations", "chunks given", &Limits::chunks_permille, 1,
     [](const Counters& c) { return c.chunk_allocations; }},
    // The driver moves a chunk in its list at every service of its block except the first, when the chunk is still
    // pinned (uvm_pmm_gpu.c, root_chunk_update_eviction_list): hooks there count these services.
    {"repeated_services", "further services", &Limits::services_permille, 1,
     [](const Counters& c) { return c.blocks_serviced - std::min(c.blocks_serviced, c.chunk_allocations); }},
}};

Figures figures_of(const Counters& counters) {
  Figures figures;
  for (std::size_t i = 0; i < figure::kCount; ++i) figures[i] = kFigureTable[i].of(counters);
  return figures;
}

std::uint64_t Campaign::footprint_bytes() const {
  switch (program) {
    case CampaignProgramKind::kAccumulate:
      return (arrays + 1) * array_bytes;
    case CampaignProgramKind::kPageWalk:
    case CampaignProgramKind::kConvolution:
      return 2 * array_bytes;
    case CampaignProgramKind::kMatrixVector:
      return array_bytes + 4 * columns * kNumberBytes;
    case CampaignProgramKind::kVectorAdd:
    case CampaignProgramKind::kGramSchmidt:
      return 3 * array_bytes;
    case CampaignProgramKind::kMemoryPasses:
      return ((source_array ? 1u : 0u) + (destination_array ? 1u : 0u)) * array_bytes;
    case CampaignProgramKind::kLayerProducts:
      return arrays * array_bytes * processes;
    default:
      return array_bytes;
  }
}

}  // namespace uvmsim::validate
