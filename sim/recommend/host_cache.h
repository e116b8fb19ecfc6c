// SPDX-License-Identifier: Apache-2.0
// The DRAM cache of an SSD table: rows in the order of their last use, the oldest leaves. Memory grows with the rows
// met.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/recommend/row_map.h"

namespace uvmsim::recommend {

class HostCache {
 public:
  explicit HostCache(std::uint64_t capacity_rows) : capacity_(capacity_rows), entries_(1) {}

  // The row becomes the one used last, if it is there.
  bool touch(std::uint64_t row);
  // Brings a row in, or touches it; `changed`: it is newer than the one on the SSD. True when a changed row left for it
  // and has to be written; so it has when there is no room at all.
  bool put(std::uint64_t row, bool changed);

  std::uint64_t size() const { return index_.size(); }

 private:
  // entries_[0] is the list's anchor: next is the one used last, previous the oldest.
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
