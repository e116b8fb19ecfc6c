// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/host_cache.h"

namespace uvmsim::recommend {

void HostCache::unlink(std::uint32_t at) {
  const Entry& entry = entries_[at];
  entries_[entry.previous].next = entry.next;
  entries_[entry.next].previous = entry.previous;
}

void HostCache::link_first(std::uint32_t at) {
  entries_[at].previous = 0;
  entries_[at].next = entries_[0].next;
  entries_[entries_[0].next].previous = at;
  entries_[0].next = at;
}

bool HostCache::touch(std::uint64_t row) {
  const std::uint32_t at = index_.find(row);
  if (at == RowMap::kNone) return false;
  unlink(at);
  link_first(at);
  return true;
}

bool HostCache::put(std::uint64_t row, bool changed) {
  if (capacity_ == 0) return changed;
  if (touch(row)) {
    entries_[entries_[0].next].changed |= changed;
    return false;
  }
  std::uint32_t at = entries_[0].previous;  // the oldest
  bool write = false;
  if (index_.size() == capacity_) {
    write = entries_[at].changed;
    unlink(at);
    index_.erase(entries_[at].row);
  } else {
    at = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  }
  index_[row] = at;
  entries_[at].row = row;
  entries_[at].changed = changed;
  link_first(at);
  return write;
}

}  // namespace uvmsim::recommend
