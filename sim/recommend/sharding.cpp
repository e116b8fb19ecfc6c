// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/sharding.h"

#include <algorithm>
#include <numeric>

#include "sim/common/error.h"

namespace uvmsim::recommend {

namespace {

// Returns the GPU of each table.
std::vector<unsigned> greedy(const std::vector<std::uint64_t>& weights, unsigned gpus) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  std::vector<std::uint64_t> sums(gpus);
  std::vector<unsigned> out(weights.size());
  for (const std::size_t table : order) {
    const auto least = std::min_element(sums.begin(), sums.end());
    *least += weights[table];
    out[table] = static_cast<unsigned>(least - sums.begin());
  }
  return out;
}

}  // namespace

ShardMap::ShardMap(const Workload& workload, const Sharding& sharding, unsigned gpus)
    : lookups_per_sample_(workload.lookups_per_sample()), shares_(gpus) {
  const std::vector<std::uint64_t> lookups(workload.lookups.begin(), workload.lookups.end());
  const auto gpu_of = greedy(sharding.kind == Sharding::Kind::kTableByLookups ? lookups : workload.rows, gpus);
  std::uint64_t base = 0;
  for (std::size_t t = 0; t < workload.rows.size(); ++t) {
    const std::uint64_t rows = workload.rows[t];
    Table& table = tables_.emplace_back();
    table.base = base;
    table.lookups = lookups[t];
    table.block = sharding.by_rows() ? (rows + gpus - 1) / gpus : rows;
    table.first_gpu = sharding.by_rows() ? 0 : gpu_of[t];
    place(table, rows);
    base += rows;
  }
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    if (sharding.by_rows()) shares_[gpu].tables = tables_.size();
    if (shares_[gpu].rows != 0) continue;
    throw_input_error("{} over {} GPUs leaves GPU {} without rows; allowed: {}", sharding.name, gpus, gpu,
                      sharding.by_rows() ? "fewer GPUs, or larger tables"
                                         : fmt::format("up to {} GPUs, one table each", tables_.size()));
  }
}

void ShardMap::place(Table& table, std::uint64_t rows) {
  for (std::uint64_t first = 0; first < rows; first += table.block) {
    Share& share = shares_[table.first_gpu + table.at.size()];
    table.at.push_back(share.rows);
    share.rows += std::min(table.block, rows - first);
    ++share.tables;
  }
}

void ShardMap::split(const std::vector<std::uint64_t>& lookups, std::vector<std::vector<std::uint64_t>>& parts) const {
  parts.resize(shares_.size());
  for (auto& part : parts) part.clear();
  const std::uint64_t samples = lookups.size() / lookups_per_sample_;
  auto lookup = lookups.begin();
  for (const Table& table : tables_) {
    for (const auto end = lookup + static_cast<std::ptrdiff_t>(samples * table.lookups); lookup != end; ++lookup) {
      const std::uint64_t row = *lookup - table.base, block = row / table.block;
      parts[table.first_gpu + block].push_back(table.at[block] + row % table.block);
    }
  }
}

}  // namespace uvmsim::recommend
