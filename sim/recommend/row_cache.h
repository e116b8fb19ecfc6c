// SPDX-License-Identifier: Apache-2.0
// FBGEMM's software cache of embedding rows in GPU memory, row by row: 32 ways, sets by hash, filled once per batch.
//
// It follows fbgemm_gpu/src/split_embeddings_cache (lru_cache_find.cu, lru_cache_populate.cu, lfu_cache_*.cu). Of a
// batch's distinct rows, the cached ones count as used now. The others are sorted by set, and within a set the i-th of
// them takes the i-th way in the order of last use (LRU) or of use counts (LFU), empty ways first. Under LRU a way that
// this batch uses is not replaced; a row for which no way is left is a conflict miss and is not cached. Under LFU a row
// enters only if it was used at least as often as the row that it replaces. Replaced rows are written back, changed or
// not. FBGEMM leaves the order of equals open; here equal ways are ordered by their number, equal rows by theirs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/recommend/row_map.h"

namespace uvmsim::recommend {

enum class CachePolicy : std::uint8_t { kLru, kLfu };

class RowCache {
 public:
  static constexpr unsigned kWays = 32;                                  // one per lane of a warp
  static constexpr std::uint64_t kMostLfuSets = std::uint64_t{1} << 24;  // limit of FBGEMM's sort keys

  // The cache has ceil(rows * load factor / 32) sets, at least one. Ways that the last `locked_batches` batches before
  // the current one used are not replaced either (1: the next batch's rows are fetched while this one computes).
  RowCache(CachePolicy policy, std::uint64_t sets, std::uint32_t locked_batches);

  // The effect of one batch; rows are ascending.
  struct Outcome {
    std::uint64_t hits = 0;               // distinct rows that were present
    std::vector<std::uint64_t> inserted;  // missed and inserted
    std::vector<std::uint64_t> evicted;
    std::vector<std::uint64_t> uncached;  // not in the cache now: accessed in place
  };
  // `rows` are the batch's distinct rows, ascending.
  void prefetch(const std::vector<std::uint64_t>& rows, Outcome& outcome);

  bool contains(std::uint64_t row) const;
  std::uint64_t cached_rows() const { return cached_; }
  std::uint64_t sets() const { return heads_.size(); }
  static std::uint64_t set_of(std::uint64_t row, std::uint64_t sets);

 private:
  // Ways are allocated on demand, four at a time: memory grows with the rows that were used, not with the cache.
  struct Ways {
    std::array<std::uint64_t, 4> rows{};
    std::array<std::uint32_t, 4> used{};  // last batch that used it, from 1; 0 = empty
    std::uint32_t next = 0;               // index; 0 = none
  };
  struct Way {
    std::uint64_t order;  // time of the last use, or number of uses, by the policy; 0: empty
    std::uint8_t number;
    std::uint32_t used;
  };
  struct Miss {
    std::uint64_t set, row;
    std::uint32_t count;
  };

  std::uint32_t* find(std::uint64_t set, std::uint64_t row);
  void fill_set(std::uint64_t set, const Miss* first, const Miss* last, Outcome& outcome);
  Ways& ways_of(std::uint64_t set, unsigned number);

  CachePolicy policy_;
  std::uint32_t locked_batches_;
  std::uint32_t batch_ = 0;
  std::uint64_t cached_ = 0;
  std::vector<std::uint32_t> heads_;  // by set: index of its first ways; 0 = none
  std::vector<Ways> ways_;
  RowMap uses_;  // LFU: number of batches that used a row, for every row seen so far (FBGEMM: 40 bits of every row)
  std::vector<Miss> misses_;
};

}  // namespace uvmsim::recommend
