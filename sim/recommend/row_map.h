// SPDX-License-Identifier: Apache-2.0
// A number for each row seen so far. With open addressing, memory grows with these rows and not with the tables.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/common/random.h"

namespace uvmsim::recommend {

class RowMap {
 public:
  static constexpr std::uint32_t kNone = 0;

  // Returns the row's number, kNone if it has none.
  std::uint32_t find(std::uint64_t row) const {
    if (rows_.empty()) return kNone;
    const std::size_t slot = slot_of(row);
    return rows_[slot] == row ? values_[slot] : kNone;
  }
  // Returns the row's number for changes, kNone at first. Valid until the next call.
  std::uint32_t& operator[](std::uint64_t row) {
    if (2 * (size_ + 1) > rows_.size()) grow();
    const std::size_t slot = slot_of(row);
    if (rows_[slot] == kFree) {
      rows_[slot] = row;
      values_[slot] = kNone;
      ++size_;
    }
    return values_[slot];
  }
  // Removes a row that is present.
  void erase(std::uint64_t row) {
    std::size_t hole = slot_of(row);
    // Moves the following entries up, unless they are at or after their own position already.
    for (std::size_t slot = next(hole); rows_[slot] != kFree; slot = next(slot)) {
      const std::size_t home = home_of(rows_[slot]);
      const bool stays = hole <= slot ? home > hole && home <= slot : home > hole || home <= slot;
      if (stays) continue;
      rows_[hole] = rows_[slot];
      values_[hole] = values_[slot];
      hole = slot;
    }
    rows_[hole] = kFree;
    --size_;
  }
  std::uint64_t size() const { return size_; }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  std::size_t home_of(std::uint64_t row) const { return Random(row).next() & (rows_.size() - 1); }
  std::size_t next(std::size_t slot) const { return (slot + 1) & (rows_.size() - 1); }
  // Returns the slot of the row, or the one where it would be inserted.
  std::size_t slot_of(std::uint64_t row) const {
    std::size_t slot = home_of(row);
    while (rows_[slot] != kFree && rows_[slot] != row) slot = next(slot);
    return slot;
  }
  void grow() {
    const std::size_t slots = rows_.empty() ? 1024 : 2 * rows_.size();
    const std::vector<std::uint64_t> rows = std::exchange(rows_, std::vector<std::uint64_t>(slots, kFree));
    const std::vector<std::uint32_t> values = std::exchange(values_, std::vector<std::uint32_t>(slots));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == kFree) continue;
      const std::size_t slot = slot_of(rows[i]);
      rows_[slot] = rows[i];
      values_[slot] = values[i];
    }
  }

  std::vector<std::uint64_t> rows_;
  std::vector<std::uint32_t> values_;
  std::uint64_t size_ = 0;
};

}  // namespace uvmsim::recommend
