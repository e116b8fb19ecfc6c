// SPDX-License-Identifier: Apache-2.0
// What training keeps for each row beside the row itself: the optimizers of FBGEMM's table-batched embeddings by their
// state. State is always fp32.
//
// Where it lies is FBGEMM's rule (construct_split_state): one number per row is in GPU memory wherever the table is; as
// many as the row has lie where the table lies, and no row cache holds them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/recommend/workload.h"

namespace uvmsim::recommend {

struct Optimizer {
  std::string_view name;
  enum class State : std::uint8_t { kNone, kPerRow, kPerElement } state;
  std::string_view summary;

  std::uint64_t bytes_per_row(const Workload& workload) const;
  // Of a row's update, in whole sectors: read once, written once.
  std::uint64_t touched_bytes(const Workload& workload) const;
};

// The first is the default, without state.
std::span<const Optimizer> optimizers();
// Throws InputError for an unknown name.
const Optimizer& find_optimizer(std::string_view name);

}  // namespace uvmsim::recommend
