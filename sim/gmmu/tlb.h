// A set-associative translation look-aside buffer with true LRU replacement per set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/common/units.h"
#include "sim/gmmu/entry_size.h"

namespace uvmsim::gmmu {

// Names one translation: block, entry size and position within the block, in 47 bits. Never 0.
struct TlbTag {
  std::uint64_t bits = 0;

  static constexpr unsigned kBits = 47;  // 36 of block index (57-bit virtual addresses), 9 of position, 2 of size

  static constexpr TlbTag make(BlockIndex block, unsigned page, EntrySize size) {
    const unsigned position = size == EntrySize::k2M ? 0 : size == EntrySize::k64K ? page / kPagesPerBigPage : page;
    return {(block.value << 11) | (static_cast<std::uint64_t>(position) << 2) | (static_cast<std::uint64_t>(size) + 1)};
  }
  constexpr BlockIndex block() const { return BlockIndex(bits >> 11); }
  constexpr EntrySize size() const { return static_cast<EntrySize>((bits & 3) - 1); }
  constexpr unsigned position() const { return static_cast<unsigned>(bits >> 2) & 511; }
  // Entries that follow one another in virtual addresses follow one another in sets.
  constexpr std::uint64_t set_index() const {
    switch (size()) {
      case EntrySize::k2M:
        return block().value;
      case EntrySize::k64K:
        return block().value * kBigPagesPerBlock + position();
      case EntrySize::k4K:
        break;
    }
    return block().value * kPagesPerBlock + position();
  }
};

// Keys are 64-bit and not 0 (0 is an empty way); the caller gives the set with every key. Each set is kept in order of
// use, so the front is the newest and the back the victim. No call allocates.
class Tlb {
 public:
  // entries > 0, ways > 0, ways divides entries: checked by the caller (Gmmu names the configuration key).
  Tlb(std::uint32_t entries, std::uint32_t ways)
      : ways_(ways), sets_(entries / ways), mask_((sets_ & (sets_ - 1)) == 0 ? sets_ - 1 : 0), keys_(entries) {}

  // True if present; the entry becomes the newest of its set.
  bool touch(std::uint64_t set_index, std::uint64_t key) {
    std::uint64_t* const set = set_of(set_index);
    if (set[0] == key) return true;
    for (std::uint32_t way = 1; way < ways_; ++way) {
      if (set[way] != key) continue;
      for (; way > 0; --way) set[way] = set[way - 1];
      set[0] = key;
      return true;
    }
    return false;
  }
  // Puts an absent key in front of its set; returns the key that fell out, 0 if none.
  std::uint64_t insert(std::uint64_t set_index, std::uint64_t key) {
    std::uint64_t* const set = set_of(set_index);
    const std::uint64_t victim = set[ways_ - 1];
    for (std::uint32_t way = ways_ - 1; way > 0; --way) set[way] = set[way - 1];
    set[0] = key;
    return victim;
  }
  // Drops one key; false if it was absent.
  bool erase(std::uint64_t set_index, std::uint64_t key) {
    std::uint64_t* const set = set_of(set_index);
    for (std::uint32_t way = 0; way < ways_; ++way) {
      if (set[way] != key) continue;
      for (; way + 1 < ways_; ++way) set[way] = set[way + 1];
      set[ways_ - 1] = 0;
      return true;
    }
    return false;
  }
  void clear() { keys_.assign(keys_.size(), 0); }

  std::uint32_t ways() const { return ways_; }
  std::uint32_t sets() const { return sets_; }
  // Every key, empty ways as 0; set after set, newest first.
  const std::vector<std::uint64_t>& keys() const { return keys_; }

 private:
  std::uint64_t* set_of(std::uint64_t index) {
    return keys_.data() + static_cast<std::size_t>(mask_ != 0 ? index & mask_ : index % sets_) * ways_;
  }

  std::uint32_t ways_, sets_, mask_;
  std::vector<std::uint64_t> keys_;
};

}  // namespace uvmsim::gmmu
