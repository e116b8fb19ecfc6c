// SPDX-License-Identifier: Apache-2.0
// Which GPU has which rows: TorchRec's table-wise and row-wise sharding of embedding tables, in simple form.
//
// Table-wise: a table is on one GPU. As in TorchRec's planner (greedy_partition, distributed/planner/partitioners.py)
// the heaviest table that is left goes to the GPU with the least weight so far; of equals, the first. The planner's
// weight is a predicted time, its memory a limit; here the weight is bytes or lookups, and memory may be exceeded.
// Row-wise: a table's rows in blocks of ceil(rows / GPUs), block g on GPU g, so that the last GPUs may have fewer or
// none (_calculate_rw_shard_sizes_and_offsets, distributed/planner/enumerators.py).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/recommend/choices.h"
#include "sim/recommend/workload.h"

namespace uvmsim::recommend {

class ShardMap {
 public:
  // Of one GPU. A GPU that has rows of a table pools its bags.
  struct Share {
    std::uint64_t rows = 0;
    std::uint64_t tables = 0;  // whose bags it pools; by rows, all of them
  };

  // Throws InputError where a GPU would have no rows.
  ShardMap(const Workload& workload, const Sharding& sharding, unsigned gpus);

  const std::vector<Share>& shares() const { return shares_; }
  // A step's lookups, table by table: those of each GPU, in the same order, by its own numbers of rows.
  void split(const std::vector<std::uint64_t>& lookups, std::vector<std::vector<std::uint64_t>>& parts) const;

 private:
  // The rows of a table lie in blocks, one GPU's after the other's.
  struct Table {
    std::uint64_t base = 0;         // its first row among those of all tables
    std::uint64_t block = 0;        // rows of a GPU
    unsigned first_gpu = 0;         // of block 0
    std::vector<std::uint64_t> at;  // by block: the number of its first row on its GPU
    std::uint64_t lookups = 0;      // of a sample
  };

  void place(Table& table, std::uint64_t rows);

  std::uint64_t lookups_per_sample_ = 0;
  std::vector<Table> tables_;
  std::vector<Share> shares_;
};

}  // namespace uvmsim::recommend
