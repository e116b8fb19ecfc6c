// SPDX-License-Identifier: Apache-2.0
// A set-associative translation look-aside buffer with true LRU replacement per set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/gmmu/entry_size.h"

namespace uvmsim::gmmu {

// One entry translates a group of 16 consecutive, aligned pages of one size: 32 MB, 1 MB or 64 KB.
// Measured on an H200 for all three sizes (tests/gmmu/h200_tlb.txt); 16 page-table entries of 8 bytes are one
// 128-byte line of memory.
inline constexpr unsigned kPagesPerEntry = 16;
inline constexpr std::uint16_t kAllPages = 0xffff;

// Identifies the entry of a group in 43 bits (57-bit virtual addresses). Never 0.
struct TlbTag {
  std::uint64_t bits = 0;

  // The group that holds page `page` (0..511) of the block.
  static constexpr TlbTag make(BlockIndex block, unsigned page, EntrySize size) {
    return {(group(block, page, size) << 2) | (static_cast<std::uint64_t>(size) + 1)};
  }
  constexpr EntrySize size() const { return static_cast<EntrySize>((bits & 3) - 1); }
  // Consecutive groups in virtual addresses are in consecutive sets.
  constexpr std::uint64_t set_index() const { return bits >> 2; }
  constexpr bool operator==(const TlbTag&) const = default;

  // The page's bit within its group.
  static constexpr std::uint16_t page_bit(BlockIndex block, unsigned page, EntrySize size) {
    const std::uint64_t index = size == EntrySize::k2M    ? block.value
                                : size == EntrySize::k64K ? page / kPagesPerBigPage
                                                          : page;
    return static_cast<std::uint16_t>(1u << (index % kPagesPerEntry));
  }

 private:
  static constexpr std::uint64_t group(BlockIndex block, unsigned page, EntrySize size) {
    if (size == EntrySize::k2M) return block.value / kPagesPerEntry;
    if (size == EntrySize::k64K) {
      return block.value * (kBigPagesPerBlock / kPagesPerEntry) + page / (kPagesPerBigPage * kPagesPerEntry);
    }
    return block.value * (kPagesPerBlock / kPagesPerEntry) + page / kPagesPerEntry;
  }
};

// Entries are identified by a tag of up to 48 bits, not 0, and hold 16 bits for the valid pages of the group; the
// caller gives the set with every tag. Each set is kept in order of use: the front is the newest, the back the victim.
// No call allocates.
class Tlb {
 public:
  // Requires entries > 0, ways > 0, and that ways divides entries; the caller checks it (Gmmu names the configuration
  // key).
  Tlb(std::uint32_t entries, std::uint32_t ways);

  // Returns the entry's valid pages, 0 if it is absent, and makes it the newest of its set.
  std::uint16_t touch(std::uint64_t set_index, std::uint64_t tag) {
    std::uint64_t* const set = set_of(set_index);
    if ((set[0] & kTagMask) == tag) return valid_of(set[0]);
    for (std::uint32_t way = 1; way < ways_; ++way) {
      if ((set[way] & kTagMask) != tag) continue;
      const std::uint64_t word = set[way];
      for (; way > 0; --way) set[way] = set[way - 1];
      set[0] = word;
      return valid_of(word);
    }
    return 0;
  }
  // Adds pages to the entry touched last in this set, or inserts a new one in front. Must follow touch() of that tag
  // directly. Returns the evicted tag, 0 if none.
  std::uint64_t fill(std::uint64_t set_index, std::uint64_t tag, std::uint16_t pages) {
    std::uint64_t* const set = set_of(set_index);
    const std::uint64_t valid = static_cast<std::uint64_t>(pages) << kTagBits;
    if ((set[0] & kTagMask) == tag) {
      set[0] |= valid;
      return 0;
    }
    const std::uint64_t victim = set[ways_ - 1] & kTagMask;
    for (std::uint32_t way = ways_ - 1; way > 0; --way) set[way] = set[way - 1];
    set[0] = valid | tag;
    return victim;
  }
  // Invalidates pages of an entry; returns true if it has none left and is removed.
  bool erase(std::uint64_t set_index, std::uint64_t tag, std::uint16_t pages);
  void clear();

  void add_state(StateDigest& digest) const {
    for (const std::uint64_t word : words_) digest.add(word);
  }

 private:
  static constexpr unsigned kTagBits = 48;
  static constexpr std::uint64_t kTagMask = (std::uint64_t{1} << kTagBits) - 1;
  static constexpr std::uint16_t valid_of(std::uint64_t word) { return static_cast<std::uint16_t>(word >> kTagBits); }

  // Folds the index, so that strides of a power of two use all sets, as in the measured L2.
  std::uint64_t* set_of(std::uint64_t index) {
    const std::uint64_t set = fold_ != 0   ? (index ^ (index >> fold_) ^ (index >> (2 * fold_))) & (sets_ - 1)
                              : sets_ == 1 ? 0
                                           : index % sets_;
    return words_.data() + static_cast<std::size_t>(set) * ways_;
  }

  std::uint32_t ways_, sets_;
  std::uint32_t fold_;  // log2 of the sets; 0 for one set or no power of two
  std::vector<std::uint64_t> words_;
};

}  // namespace uvmsim::gmmu
