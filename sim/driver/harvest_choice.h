// Which parts of HUVM's driver are switched on: its ablation switches. Defaults: none.
#pragma once

#include <cstdint>

namespace uvmsim {

struct HarvestChoice {
  bool victims = false;               // evicted blocks go to spare memory of peers first ("H")
  bool pre_evict = false;             // a reserve is kept free ahead of need ("PE")
  bool parallel_fetch = false;        // faulted blocks also come over the links of peers ("PLF")
  std::uint32_t reserve_chunks = 50;  // of 2 MB: kept free by pre-eviction, and never lent
  bool any() const { return victims || pre_evict || parallel_fetch; }
};

}  // namespace uvmsim
