// SPDX-License-Identifier: Apache-2.0
// The 2 MB chunks that contain the program's allocations, and the open-addressing table by which the device finds them.
// Used on the host only, and not thread-safe.
//
// A chunk gets a record's index when an allocation first needs it, and keeps the index when the allocation is freed:
// otherwise programs that allocate and free constantly would change the table before every launch. When most chunks are
// no longer needed, all are renumbered, which is allowed because records are all zero between launches.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace uvmtrace::access {

class ChunkTable {
 public:
  // `va + bytes` must not overflow; 0 bytes are ignored. Every add is matched by at most one remove of the same range.
  void add(std::uint64_t va, std::uint64_t bytes);
  void remove(std::uint64_t va, std::uint64_t bytes);

  // Renumbers the chunks if that is worth its cost, and rebuilds the entries if anything changed. Returns true if the
  // entries differ from those of the last call.
  bool refresh();

  // Valid after refresh(): entries as layout.h describes them, a power of two of them, at most half in use.
  const std::vector<std::uint64_t>& entries() const { return entries_; }
  std::uint32_t shift() const { return shift_; }
  // Returns the number of records in use; indices are below it.
  std::uint32_t size() const { return static_cast<std::uint32_t>(chunks_.size()); }
  // The chunk number (address >> 21) of each index.
  const std::vector<std::uint64_t>& chunks() const { return chunks_; }

 private:
  void renumber();

  std::unordered_map<std::uint64_t, std::uint32_t> users_;  // chunk -> allocations that lie in it
  std::vector<std::uint64_t> chunks_;                       // index -> chunk
  std::vector<std::uint64_t> entries_;
  std::uint64_t unused_ = 0;
  std::uint32_t built_ = 0;  // number of elements of chunks_ that are in entries_
  std::uint32_t shift_ = 64;
  bool renumbered_ = true;
};

}  // namespace uvmtrace::access
