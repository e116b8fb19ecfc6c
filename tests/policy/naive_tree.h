// SPDX-License-Identifier: Apache-2.0
// A second implementation of the tree prefetcher, page by page and slow: the reference for random inputs.
#pragma once

#include <vector>

#include "sim/policy/policy.h"

namespace uvmsim::policy {

// Returns the prefetched pages for a destination that is not the preferred location and for min_faults 1.
inline PageMask naive_tree(const FaultedBlock& block, unsigned threshold) {
  const unsigned pages = block.end_page - block.first_page;
  const auto at = [&](const PageMask& mask, unsigned page) { return mask.test(block.first_page + page); };

  // The first page that starts a whole 64 KB unit of the address space, and the end of the last such unit.
  unsigned big_first = 0;
  while ((block.first_page + big_first) % kPagesPerBigPage != 0) ++big_first;
  const bool has_big_page = big_first + kPagesPerBigPage <= pages;
  const unsigned offset = has_big_page && big_first > 0 ? kPagesPerBigPage - big_first : 0;

  std::vector<bool> leaves(offset + pages);
  for (unsigned page = 0; page < pages; ++page) {
    leaves[offset + page] = at(block.resident, page) || at(block.faulted, page);
  }
  const auto grow = [&](unsigned first, unsigned end) {
    bool faulted = false;
    bool thrashing = false;
    for (unsigned page = first; page < end; ++page) {
      faulted = faulted || at(block.faulted, page);
      thrashing = thrashing || at(block.thrashing, page);
    }
    for (unsigned page = first; page < end && faulted && !thrashing; ++page) leaves[offset + page] = true;
  };
  if (!has_big_page) {
    grow(0, pages);
  } else {
    grow(0, big_first);
    unsigned unit = big_first;
    for (; unit + kPagesPerBigPage <= pages; unit += kPagesPerBigPage) grow(unit, unit + kPagesPerBigPage);
    grow(unit, pages);
  }

  unsigned root_leaves = 1;
  while (root_leaves < leaves.size()) root_leaves *= 2;
  PageMask result;
  for (unsigned page = 0; page < pages; ++page) {
    if (!at(block.faulted, page) || at(block.thrashing, page)) continue;
    unsigned region_first = 0;
    unsigned region_end = 0;
    for (unsigned size = 1; size <= root_leaves; size *= 2) {
      const unsigned first = (offset + page) / size * size;
      unsigned end = first + size;
      if (end > leaves.size()) end = static_cast<unsigned>(leaves.size());
      unsigned count = 0;
      for (unsigned leaf = first; leaf < end; ++leaf) count += leaves[leaf] ? 1 : 0;
      if (100 * count > threshold * (end - first)) {
        region_first = first;
        region_end = end;
      }
    }
    if (region_end == 0) continue;
    // Converts leaves to pages, with the driver's own cut at the left edge.
    region_first = region_first < offset ? offset : region_first - offset;
    region_end -= offset;
    for (unsigned filled = region_first; filled < region_end; ++filled) result.set(block.first_page + filled);
    if (region_end == pages) break;
  }
  return result - block.faulted - block.thrashing;
}

}  // namespace uvmsim::policy
