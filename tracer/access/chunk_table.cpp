// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/chunk_table.h"

#include <algorithm>

#include "tracer/access/layout.h"

namespace uvmtrace::access {

namespace {
// 8 GB of addresses; with fewer unused records a renumbering is not worth its cost
constexpr std::uint64_t kLeastUnused = 4096;
constexpr std::uint32_t kLeastEntries = 1024;  // 8 KB

std::uint64_t last_chunk(std::uint64_t va, std::uint64_t bytes) { return (va + bytes - 1) >> kChunkShift; }

void insert(std::vector<std::uint64_t>& entries, std::uint32_t shift, std::uint64_t chunk, std::uint32_t index) {
  const std::uint64_t mask = entries.size() - 1;
  std::uint64_t slot = (chunk * kHashFactor) >> shift;
  while (entries[slot] != 0) slot = (slot + 1) & mask;
  entries[slot] = chunk << kIndexBits | (std::uint64_t{index} + 1);
}
}  // namespace

void ChunkTable::add(std::uint64_t va, std::uint64_t bytes) {
  if (bytes == 0) return;
  for (std::uint64_t chunk = va >> kChunkShift; chunk <= last_chunk(va, bytes); ++chunk) {
    const auto [place, is_new] = users_.try_emplace(chunk, 0);
    if (is_new) {
      chunks_.push_back(chunk);
    } else if (place->second == 0) {
      --unused_;
    }
    ++place->second;
  }
}

void ChunkTable::remove(std::uint64_t va, std::uint64_t bytes) {
  if (bytes == 0) return;
  for (std::uint64_t chunk = va >> kChunkShift; chunk <= last_chunk(va, bytes); ++chunk) {
    const auto place = users_.find(chunk);
    if (place == users_.end() || place->second == 0) continue;
    if (--place->second == 0) ++unused_;
  }
}

void ChunkTable::renumber() {
  std::erase_if(users_, [](const auto& item) { return item.second == 0; });
  chunks_.clear();
  for (const auto& [chunk, users] : users_) chunks_.push_back(chunk);
  // Neighbouring chunks get neighbouring records, which are read back together.
  std::sort(chunks_.begin(), chunks_.end());
  unused_ = 0;
  renumbered_ = true;
}

bool ChunkTable::refresh() {
  if (unused_ > kLeastUnused && unused_ * 2 > chunks_.size()) renumber();
  if (!renumbered_ && built_ == size()) return false;
  const bool grow = entries_.size() < std::max<std::size_t>(kLeastEntries, chunks_.size() * 2);
  if (grow || renumbered_) {
    std::size_t wanted = kLeastEntries;
    shift_ = 54;
    while (wanted < chunks_.size() * 2) {
      wanted *= 2;
      --shift_;
    }
    entries_.assign(wanted, 0);
    built_ = 0;
  }
  for (; built_ < size(); ++built_) insert(entries_, shift_, chunks_[built_], built_);
  renumbered_ = false;
  return true;
}

}  // namespace uvmtrace::access
