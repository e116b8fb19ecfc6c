// SPDX-License-Identifier: Apache-2.0
// The ablation switches of HUVM's driver. All are off by default.
#pragma once

#include <cstdint>

namespace uvmsim {

// The route policy chooses the peer whose spare memory takes a block, and the link over which a block comes.
struct HarvestChoice {
  bool victims = false;                // evicted blocks may go to spare memory of peers ("H")
  bool pre_evict = false;              // a reserve is kept free ahead of need ("PE")
  bool parallel_fetch = false;         // faulted blocks may also come over the links of peers ("PLF")
  std::uint32_t reserve_chunks = 50;   // chunks of 2 MB: kept free by pre-eviction, and never lent
  bool prefetch = false;               // prefetches blocks beyond a fault batch ("LPF"; over several paths "MPF")
  std::uint32_t prefetch_chunks = 16;  // blocks considered after a batch
  std::uint32_t prefetch_stride = 2;   // distance of these blocks, in blocks

  bool any() const { return victims || pre_evict || parallel_fetch || prefetch; }
};

}  // namespace uvmsim
