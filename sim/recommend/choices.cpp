// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/choices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/common/error.h"
#include "sim/formats/did_you_mean.h"
#include "sim/link/remote_lane.h"

namespace uvmsim::recommend {

namespace {

using Memory = Placement::Memory;
constexpr CachePolicy kLru = CachePolicy::kLru, kLfu = CachePolicy::kLfu;
constexpr std::uint64_t kStateBytes = 4;  // fp32

// The device placement comes first, as the baseline of comparisons.
constexpr Placement kPlacements[] = {
    {"device", Memory::kDevice, false, kLru, false, "DEVICE: tables in GPU memory, as if they fitted"},
    {"caching_lru_prefetch", Memory::kManaged, true, kLru, true,
     "MANAGED_CACHING: 32-way LRU cache, filled for the next batch while this one computes"},
    {"caching_lfu_prefetch", Memory::kManaged, true, kLfu, true, "the same by use counts"},
    {"caching_lru", Memory::kManaged, true, kLru, false, "MANAGED_CACHING: 32-way LRU cache, filled before each batch"},
    {"caching_lfu", Memory::kManaged, true, kLfu, false, "the same by use counts"},
    {"managed", Memory::kManaged, false, kLru, false,
     "MANAGED: tables on the host, rows accessed in place (zero copy)"},
    {"vanilla", Memory::kFaulting, false, kLru, false,
     "managed memory without hints: pages fault over and are evicted"},
    {"ssd", Memory::kSsd, true, kLru, false, "SSD: 32-way LRU cache on the GPU, DRAM cache, tables on the SSD"},
    {"ssd_prefetch", Memory::kSsd, true, kLru, true, "the same, fetching for the next batch while this one computes"},
};

constexpr Sharding kShardings[] = {
    {"table_bytes", Sharding::Kind::kTableByBytes, "table-wise, GPUs balanced by bytes of tables"},
    {"table_lookups", Sharding::Kind::kTableByLookups, "table-wise, GPUs balanced by lookups"},
    {"row", Sharding::Kind::kRow, "row-wise: a part of the rows of each table on each GPU"},
};

constexpr Optimizer kOptimizers[] = {
    {"sgd", Optimizer::State::kNone, "EXACT_SGD: no state"},
    {"rowwise_adagrad", Optimizer::State::kPerRow, "EXACT_ROWWISE_ADAGRAD: 4 bytes per row, in GPU memory"},
    {"adagrad", Optimizer::State::kPerElement, "EXACT_ADAGRAD: 4 bytes per element, where the tables lie"},
};

// `also` is a name that the caller accepts in addition to those of the list; for the message.
template <class Named>
const Named& find_named(std::span<const Named> list, std::string_view what, std::string_view name,
                        std::string_view also = {}) {
  std::vector<std::string> names;
  for (const Named& entry : list) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  const std::string suggestion = did_you_mean(name, names);
  if (!also.empty()) names.emplace(names.begin(), also);
  throw_input_error("unknown {} '{}'{}; allowed: {}", what, name, suggestion, fmt::join(names, ", "));
}

}  // namespace

std::uint64_t Optimizer::bytes_per_row(const Workload& workload) const {
  switch (state) {
    case State::kPerRow:
      return kStateBytes;
    case State::kPerElement:
      return kStateBytes * workload.dimension;
    default:
      return 0;
  }
}

std::uint64_t Optimizer::touched_bytes(const Workload& workload) const {
  return state == State::kNone ? 0 : std::max(link::kSectorBytes, bytes_per_row(workload));
}

std::span<const Placement> placements() { return kPlacements; }
std::span<const Sharding> shardings() { return kShardings; }
std::span<const Optimizer> optimizers() { return kOptimizers; }

const Placement& find_placement(std::string_view name) { return find_named(placements(), "placement", name, "all"); }
const Sharding& find_sharding(std::string_view name) { return find_named(shardings(), "sharding", name); }
const Optimizer& find_optimizer(std::string_view name) { return find_named(optimizers(), "optimizer", name); }

}  // namespace uvmsim::recommend
