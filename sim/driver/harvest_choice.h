// Which parts of HUVM's driver are switched on: its ablation switches. Defaults: none.
#pragma once

#include <cstdint>

namespace uvmsim {

// Blocks beyond a fault batch come ahead of need: not at all, over the GPU's own link to the host ("LPF"), or also over
// the links of peers into their spare memory ("MPF").
enum class HarvestPrefetch : std::uint8_t { kNone, kLocal, kMultiPath };

// Which peer of several takes a block: the one with the fewest blocks that wait for the writer (as released), or one
// after the other.
enum class SpareTarget : std::uint8_t { kFewestPending, kRoundRobin };

struct HarvestChoice {
  bool victims = false;               // evicted blocks go to spare memory of peers first ("H")
  bool pre_evict = false;             // a reserve is kept free ahead of need ("PE")
  bool parallel_fetch = false;        // faulted blocks also come over the links of peers ("PLF")
  std::uint32_t reserve_chunks = 50;  // of 2 MB: kept free by pre-eviction, and never lent
  HarvestPrefetch prefetch = HarvestPrefetch::kNone;
  std::uint32_t prefetch_chunks = 16;  // blocks looked at after a batch
  std::uint32_t prefetch_stride = 2;   // from one to the next, in blocks
  SpareTarget target = SpareTarget::kFewestPending;

  bool any() const { return victims || pre_evict || parallel_fetch || prefetch != HarvestPrefetch::kNone; }
};

}  // namespace uvmsim
