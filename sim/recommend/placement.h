// SPDX-License-Identifier: Apache-2.0
// Where embedding tables lie: the placements of FBGEMM's table-batched embeddings, and managed memory without hints.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/recommend/row_cache.h"

namespace uvmsim::recommend {

struct Placement {
  std::string_view name;
  enum class Memory : std::uint8_t { kDevice, kManaged, kFaulting, kSsd } memory;  // of the tables themselves
  bool cached;                                                                     // rows also in GPU memory
  CachePolicy policy;
  bool ahead;  // the next batch's rows are fetched while this one computes
  std::string_view summary;
};

std::span<const Placement> placements();
// Throws InputError for an unknown name.
const Placement& find_placement(std::string_view name);

}  // namespace uvmsim::recommend
