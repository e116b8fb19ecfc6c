// SPDX-License-Identifier: Apache-2.0
// For policies: something per VA block, and 64 KB units of a block.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::policy {

// A value per block, in a vector: block numbers are dense, and those of freed memory come again.
template <class Value>
class BlockMap {
 public:
  Value& operator[](BlockIndex block) {
    if (block.value >= values_.size()) {
      values_.resize(std::max<std::size_t>(static_cast<std::size_t>(block.value) + 1, values_.size() * 2));
    }
    return values_[static_cast<std::size_t>(block.value)];
  }
  void forget(BlockIndex block) {
    if (block.value < values_.size()) values_[static_cast<std::size_t>(block.value)] = Value{};
  }
  // Ascending, also blocks that were never asked for.
  template <class F>
  void for_each(F&& f) {
    for (std::size_t i = 0; i < values_.size(); ++i) f(BlockIndex(i), values_[i]);
  }
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t i = 0; i < values_.size(); ++i) f(BlockIndex(i), values_[i]);
  }

 private:
  std::vector<Value> values_;
};

inline PageMask unit_mask(unsigned unit) { return PageMask::range(unit * kPagesPerBigPage, kPagesPerBigPage); }

// All 64 KB units that hold any of the pages.
inline PageMask whole_units(const PageMask& pages) {
  PageMask all;
  for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
    if (pages.intersects(unit_mask(unit))) all |= unit_mask(unit);
  }
  return all;
}

}  // namespace uvmsim::policy
