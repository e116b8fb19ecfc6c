// SPDX-License-Identifier: Apache-2.0
// Helpers of policies: a map with a value per VA block, and masks of the 64 KB units of a block.
#pragma once

#include "sim/common/sparse_table.h"
#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::policy {

// A value per block: block numbers are dense, and those of freed memory come again.
template <class Value>
class BlockMap {
 public:
  Value& operator[](BlockIndex block) { return values_[block.value]; }
  void forget(BlockIndex block) {
    if (Value* const value = values_.find(block.value)) *value = Value{};
  }
  // Calls f for all values, ascending, including neighbours of blocks that were used.
  template <class F>
  void for_each(F&& f) {
    values_.for_each([&](std::uint64_t block, auto& value) { f(BlockIndex(block), value); });
  }
  template <class F>
  void for_each(F&& f) const {
    values_.for_each([&](std::uint64_t block, auto& value) { f(BlockIndex(block), value); });
  }

 private:
  SparseTable<Value> values_;
};

inline PageMask unit_mask(unsigned unit) { return PageMask::range(unit * kPagesPerBigPage, kPagesPerBigPage); }

// Returns all 64 KB units that hold any of the pages.
inline PageMask whole_units(const PageMask& pages) {
  PageMask all;
  for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
    if (pages.intersects(unit_mask(unit))) all |= unit_mask(unit);
  }
  return all;
}

}  // namespace uvmsim::policy
