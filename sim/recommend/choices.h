// SPDX-License-Identifier: Apache-2.0
// The choices that a user makes by name: the placement of embedding tables, their sharding over GPUs, and the
// optimizer, which determines the training state of each row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/recommend/row_cache.h"
#include "sim/recommend/workload.h"

namespace uvmsim::recommend {

// The placements of FBGEMM's table-batched embeddings, and managed memory without hints.
struct Placement {
  std::string_view name;
  enum class Memory : std::uint8_t { kDevice, kManaged, kFaulting, kSsd } memory;  // of the tables themselves
  bool cached;                                                                     // rows also in GPU memory
  CachePolicy policy;
  bool ahead;  // fetches the next batch's rows while this one computes
  std::string_view summary;
};

struct Sharding {  // sharding.h
  std::string_view name;
  enum class Kind : std::uint8_t { kTableByBytes, kTableByLookups, kRow } kind;
  std::string_view summary;

  bool by_rows() const { return kind == Kind::kRow; }
};

// The optimizers of FBGEMM's table-batched embeddings by their state, which is always fp32. Its placement follows
// FBGEMM's rule (construct_split_state): a state of one number per row is always in GPU memory; a state of one number
// per element is where the table is, and no row cache holds it.
struct Optimizer {
  std::string_view name;
  enum class State : std::uint8_t { kNone, kPerRow, kPerElement } state;
  std::string_view summary;

  std::uint64_t bytes_per_row(const Workload& workload) const;
  // Bytes of a row's update, in whole sectors: read once, written once.
  std::uint64_t touched_bytes(const Workload& workload) const;
};

// The first sharding and the first optimizer, which has no state, are the defaults.
std::span<const Placement> placements();
std::span<const Sharding> shardings();
std::span<const Optimizer> optimizers();
// Throw InputError for an unknown name.
const Placement& find_placement(std::string_view name);
const Sharding& find_sharding(std::string_view name);
const Optimizer& find_optimizer(std::string_view name);

}  // namespace uvmsim::recommend
