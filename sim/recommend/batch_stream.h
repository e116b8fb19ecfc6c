// SPDX-License-Identifier: Apache-2.0
// The batches of a workload: the rows that every sample looks up. Batches can be drawn in any order.
//
// Rows are numbered over all tables, one table after the other. A lookup draws a rank by popularity, without repetition
// within a bag (if the table has enough rows), and a permutation of the table's rows scatters the popular ones, as in
// FBGEMM's benchmark generator (fbgemm_gpu/tbe/utils/requests.py); the random numbers differ from FBGEMM's.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/recommend/row_permutation.h"
#include "sim/recommend/workload.h"
#include "sim/recommend/zipf_ranks.h"

namespace uvmsim::recommend {

struct Batch {
  std::vector<std::uint64_t> lookups;  // table by table, sample by sample, in the order of the bag
  std::vector<std::uint64_t> rows;     // the distinct rows, ascending
  std::vector<std::uint32_t> counts;   // numbers of lookups, by entry of `rows`
};

// Fills in rows and counts of a batch from its lookups.
void group_rows(Batch& batch);

class BatchStream {
 public:
  // A batch has `gpus` times the workload's samples.
  BatchStream(const Workload& workload, bool training, std::uint64_t seed, unsigned gpus = 1);

  // Draws a batch's lookups.
  void draw(std::uint64_t number, std::vector<std::uint64_t>& lookups) const;

 private:
  struct Table {
    std::uint64_t base, rows;
    std::uint32_t lookups;
    std::size_t popularity;  // index
    RowPermutation scatter;
  };

  std::uint64_t batch_, seed_;
  bool repeats_in_bag_;
  std::vector<Table> tables_;
  std::vector<ZipfRanks> popularities_;
};

}  // namespace uvmsim::recommend
