// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/placement.h"

#include "sim/recommend/find_named.h"

namespace uvmsim::recommend {

namespace {

using Memory = Placement::Memory;
constexpr CachePolicy kLru = CachePolicy::kLru, kLfu = CachePolicy::kLfu;

// The device placement first: what the others are compared with.
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

}  // namespace

std::span<const Placement> placements() { return kPlacements; }

const Placement& find_placement(std::string_view name) { return find_named(placements(), "placement", name, "all"); }

}  // namespace uvmsim::recommend
