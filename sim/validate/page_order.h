// SPDX-License-Identifier: Apache-2.0
// The order in which pages were raised for the first time: measured against simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace uvmsim::validate {

// By fault batch, the pages whose first raw fault it holds, in the order of these raw faults. No page is there twice.
using PagesByBatch = std::vector<std::vector<std::uint64_t>>;

// Correlations are Spearman's: 1 for the same order, -1 for the reverse, about 0 for orders that have nothing in
// common.
struct PageOrder {
  std::uint64_t pages = 0;               // that both sides raised; the others do not count
  double all = 0;                        // of the positions of all these pages
  std::optional<double> within_batches;  // of those of a measured batch: the median; none: no batch has enough of them

  static constexpr std::size_t kLeastPages = 8;  // for a correlation: with two or three pages it is a matter of luck
};

// Returns nothing if both sides have fewer than kLeastPages pages in common.
std::optional<PageOrder> compare_page_order(const PagesByBatch& measured, const PagesByBatch& simulated);

}  // namespace uvmsim::validate
