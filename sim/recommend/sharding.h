// SPDX-License-Identifier: Apache-2.0
// The assignment of rows to GPUs: TorchRec's table-wise and row-wise sharding of embedding tables, in simple form.
//
// Table-wise: a table is on one GPU. As in TorchRec's planner (greedy_partition, distributed/planner/partitioners.py)
// the heaviest remaining table goes to the GPU with the least weight so far; of equals, the first. The planner's weight
// is a predicted time, and its memory a limit; here the weight is bytes or lookups, and memory may be exceeded.
// Row-wise: a table's rows form blocks of ceil(rows / GPUs), block g on GPU g, so that the last GPUs may have fewer or
// none (_calculate_rw_shard_sizes_and_offsets, distributed/planner/enumerators.py).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/recommend/choices.h"
#include "sim/recommend/workload.h"

namespace uvmsim::recommend {

class ShardMap {
 public:
  // One GPU's share. A GPU that has rows of a table pools its bags.
  struct Share {
    std::uint64_t rows = 0;
    std::uint64_t tables = 0;  // tables whose bags it pools; with row-wise sharding all of them
  };

  // Throws InputError where a GPU would have no rows.
  ShardMap(const Workload& workload, const Sharding& sharding, unsigned gpus);

  const std::vector<Share>& shares() const { return shares_; }
  // Splits a step's lookups, table by table, by GPU: in the same order, with each GPU's own row numbers.
  void split(const std::vector<std::uint64_t>& lookups, std::vector<std::vector<std::uint64_t>>& parts) const;

 private:
  // The rows of a table are in blocks, one GPU's after the other's.
  struct Table {
    std::uint64_t base = 0;         // its first row among those of all tables
    std::uint64_t block = 0;        // rows per GPU
    unsigned first_gpu = 0;         // the GPU of block 0
    std::vector<std::uint64_t> at;  // by block: the number of its first row on its GPU
    std::uint64_t lookups = 0;      // per sample
  };

  void place(Table& table, std::uint64_t rows);

  std::uint64_t lookups_per_sample_ = 0;
  std::vector<Table> tables_;
  std::vector<Share> shares_;
};

}  // namespace uvmsim::recommend
