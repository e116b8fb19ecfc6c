// SPDX-License-Identifier: Apache-2.0
// The DRAM cache of an SSD table: rows in the order of their last use; the oldest is evicted. Memory grows with the
// rows that were used.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/recommend/row_map.h"

namespace uvmsim::recommend {

class HostCache {
 public:
  explicit HostCache(std::uint64_t capacity_rows) : capacity_(capacity_rows), entries_(1) {}

  // Makes the row the most recently used one, if it is present.
  bool touch(std::uint64_t row);
  // Inserts a row, or touches it; `changed` means that it is newer than on the SSD. Returns true if a changed row was
  // evicted and has to be written; if the cache has no room at all, this is the row itself.
  bool put(std::uint64_t row, bool changed);

  std::uint64_t size() const { return index_.size(); }

 private:
  // entries_[0] is the list's anchor: next is the most recently used entry, previous the oldest.
  struct Entry {
    std::uint64_t row = 0;
    std::uint32_t previous = 0, next = 0;
    bool changed = false;
  };
  void unlink(std::uint32_t at);
  void link_first(std::uint32_t at);

  std::uint64_t capacity_;
  RowMap index_;  // of the entry
  std::vector<Entry> entries_;
};

}  // namespace uvmsim::recommend
