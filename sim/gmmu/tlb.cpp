// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/tlb.h"

#include <algorithm>
#include <bit>

namespace uvmsim::gmmu {

Tlb::Tlb(std::uint32_t entries, std::uint32_t ways)
    : ways_(ways),
      sets_(entries / ways),
      fold_(std::has_single_bit(sets_) ? static_cast<std::uint32_t>(std::bit_width(sets_)) - 1 : 0),
      words_(entries) {}

bool Tlb::erase(std::uint64_t set_index, std::uint64_t tag, std::uint16_t pages) {
  std::uint64_t* const set = set_of(set_index);
  for (std::uint32_t way = 0; way < ways_; ++way) {
    if ((set[way] & kTagMask) != tag) continue;
    set[way] &= ~(static_cast<std::uint64_t>(pages) << kTagBits);
    if (valid_of(set[way]) != 0) return false;
    for (; way + 1 < ways_; ++way) set[way] = set[way + 1];
    set[ways_ - 1] = 0;
    return true;
  }
  return false;
}

void Tlb::clear() { std::fill(words_.begin(), words_.end(), 0); }

}  // namespace uvmsim::gmmu
