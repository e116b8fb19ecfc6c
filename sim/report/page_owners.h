// SPDX-License-Identifier: Apache-2.0
// The allocation that owns each page of the simulated address space: an integer per page, 0 for none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/common/units.h"

namespace uvmsim::report {

class PageOwners {
 public:
  void set(std::uint64_t first_page, std::uint64_t end_page, std::uint32_t owner) {
    for_each_block(first_page, end_page, [&](Block& block, std::uint64_t first, std::uint64_t end) {
      if (first == 0 && end == kPagesPerBlock) {
        block.pages.reset();
        block.whole = owner;
        return;
      }
      if (!block.pages) {
        if (block.whole == owner) return;
        block.pages = std::make_unique<Pages>();
        block.pages->fill(block.whole);
      }
      std::fill(block.pages->begin() + static_cast<std::ptrdiff_t>(first),
                block.pages->begin() + static_cast<std::ptrdiff_t>(end), owner);
    });
  }

  // Calls f(owner, first_page, page_count) for each run of pages with one owner, ascending.
  template <class F>
  void for_each(std::uint64_t first_page, std::uint64_t end_page, F&& f) const {
    while (first_page < end_page) {
      const std::uint32_t owner = at(first_page);
      std::uint64_t end = first_page + 1;
      while (end < end_page && at(end) == owner) ++end;
      f(owner, first_page, end - first_page);
      first_page = end;
    }
  }

  std::uint32_t at(std::uint64_t page) const {
    if (page / kPagesPerBlock >= blocks_.size()) return 0;
    const Block& block = blocks_[page / kPagesPerBlock];
    return block.pages ? (*block.pages)[page % kPagesPerBlock] : block.whole;
  }

 private:
  using Pages = std::array<std::uint32_t, kPagesPerBlock>;
  struct Block {
    std::uint32_t whole = 0;
    std::unique_ptr<Pages> pages;  // null: all pages belong to `whole`
  };

  template <class F>
  void for_each_block(std::uint64_t first_page, std::uint64_t end_page, F&& f) {
    if (first_page >= end_page) return;
    if ((end_page - 1) / kPagesPerBlock >= blocks_.size()) blocks_.resize((end_page - 1) / kPagesPerBlock + 1);
    while (first_page < end_page) {
      const std::uint64_t block = first_page / kPagesPerBlock;
      const std::uint64_t end = std::min(end_page, (block + 1) * kPagesPerBlock);
      f(blocks_[block], first_page - block * kPagesPerBlock, end - block * kPagesPerBlock);
      first_page = end;
    }
  }

  std::vector<Block> blocks_;
};

}  // namespace uvmsim::report
