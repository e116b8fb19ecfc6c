// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/page_order.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "sim/validate/pair.h"

namespace uvmsim::validate {

namespace {

// Returns Spearman's rank correlation of 0, 1, 2, ... with the values, which are at least two and all different.
double correlation_with_order(const std::vector<std::uint64_t>& values) {
  std::vector<std::size_t> by_value(values.size());
  std::iota(by_value.begin(), by_value.end(), std::size_t{0});
  std::ranges::sort(by_value, {}, [&](std::size_t i) { return values[i]; });
  double squares = 0;  // of the differences of ranks: whole numbers
  for (std::size_t rank = 0; rank < by_value.size(); ++rank) {
    const auto difference = static_cast<double>(by_value[rank]) - static_cast<double>(rank);
    squares += difference * difference;
  }
  const auto n = static_cast<double>(values.size());
  return 1 - 6 * squares / (n * (n * n - 1));
}

}  // namespace

std::optional<PageOrder> compare_page_order(const PagesByBatch& measured, const PagesByBatch& simulated) {
  std::unordered_map<std::uint64_t, std::uint64_t> positions;
  for (const std::vector<std::uint64_t>& batch : simulated) {
    for (const std::uint64_t page : batch) positions.emplace(page, positions.size());
  }
  std::vector<std::uint64_t> all;
  std::vector<double> by_batch;
  for (const std::vector<std::uint64_t>& batch : measured) {
    std::vector<std::uint64_t> of_batch;
    for (const std::uint64_t page : batch) {
      if (const auto found = positions.find(page); found != positions.end()) of_batch.push_back(found->second);
    }
    all.insert(all.end(), of_batch.begin(), of_batch.end());
    if (of_batch.size() >= PageOrder::kLeastPages) by_batch.push_back(correlation_with_order(of_batch));
  }
  if (all.size() < PageOrder::kLeastPages) return std::nullopt;
  PageOrder order{all.size(), correlation_with_order(all), std::nullopt};
  if (!by_batch.empty()) order.within_batches = median(std::move(by_batch));
  return order;
}

}  // namespace uvmsim::validate
