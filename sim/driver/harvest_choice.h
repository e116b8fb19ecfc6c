// SPDX-License-Identifier: Apache-2.0
// Which parts of HUVM's driver are switched on: its ablation switches. Defaults: none.
#pragma once

#include <cstdint>

namespace uvmsim {

// Whose spare memory takes a block, and over whose link it comes, the route policy says.
struct HarvestChoice {
  bool victims = false;               // evicted blocks may go to spare memory of peers ("H")
  bool pre_evict = false;             // a reserve is kept free ahead of need ("PE")
  bool parallel_fetch = false;        // faulted blocks may also come over the links of peers ("PLF")
  std::uint32_t reserve_chunks = 50;  // of 2 MB: kept free by pre-eviction, and never lent
  bool prefetch = false;  // blocks beyond a fault batch come ahead of need ("LPF"; over several paths "MPF")
  std::uint32_t prefetch_chunks = 16;  // blocks looked at after a batch
  std::uint32_t prefetch_stride = 2;   // from one to the next, in blocks

  bool any() const { return victims || pre_evict || parallel_fetch || prefetch; }
};

}  // namespace uvmsim
