// SPDX-License-Identifier: Apache-2.0
// The driver's order of chunks, kept by process, for evictors that choose between processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/common/error.h"
#include "sim/policy/chunk_list.h"
#include "sim/policy/parameters.h"
#include "sim/policy/per_chunk.h"

namespace uvmsim::policy {

// Unused and discarded chunks are evicted first, as in the driver; the others are on a list of their process, least
// recently migrated first.
class ProcessLists {
 public:
  static constexpr std::uint32_t kMostProcesses = 16;

  ProcessLists(const char* policy, std::uint32_t chunk_count)
      : policy_(policy), lists_(chunk_count, kFirst + kMostProcesses) {}

  // Declares one parameter per process, by its place among the programs.
  static ParameterTable parameters(ParameterRange<std::int64_t> range, const std::string& doc) {
    ParameterTable table;
    for (std::uint32_t i = 0; i < kMostProcesses; ++i) {
      table.push_back(integer(std::to_string(i), 0, range, doc + std::to_string(i)));
    }
    return table;
  }

  static std::vector<std::int64_t> values(const PolicyContext& context) {
    std::vector<std::int64_t> values;
    for (std::uint32_t i = 0; i < kMostProcesses; ++i) values.push_back(context.parameters.integer(std::to_string(i)));
    return values;
  }

  void allocated(ChunkId chunk) { process_[chunk.value] = 0; }
  void belongs_to(ChunkId chunk, std::uint32_t process) {
    if (process >= kMostProcesses) {
      throw_input_error("evict policy '{}': program {} of the server; allowed: at most {} programs", policy_, process,
                        kMostProcesses);
    }
    process_[chunk.value] = process;
  }
  void migrated(ChunkId chunk) {
    migrated_[chunk.value] = ++clock_;
    lists_.move_to_back(kFirst + process_[chunk.value], chunk);
  }
  void emptied(ChunkId chunk) { lists_.move_to_back(kUnused, chunk); }
  void discarded(ChunkId chunk) { lists_.move_to_back(kDiscarded, chunk); }
  void released(ChunkId chunk) { lists_.remove(chunk); }

  std::uint32_t chunks_of(std::uint32_t process) const { return lists_.size(kFirst + process); }
  // Returns a chunk whose contents are not needed.
  ChunkId empty_victim(const EvictionQueries& queries) const {
    const ChunkId unused = lists_.first_evictable(kUnused, queries);
    return unused.valid() ? unused : lists_.first_evictable(kDiscarded, queries);
  }
  // Returns the least recently migrated chunk of the processes for which may_lose(process) holds.
  template <class MayLose>
  ChunkId oldest(const EvictionQueries& queries, MayLose&& may_lose) const {
    ChunkId oldest;
    for (std::uint32_t process = 0; process < kMostProcesses; ++process) {
      if (lists_.empty(kFirst + process) || !may_lose(process)) continue;
      const ChunkId chunk = lists_.first_evictable(kFirst + process, queries);
      if (chunk.valid() && (!oldest.valid() || migrated_[chunk.value] < migrated_[oldest.value])) oldest = chunk;
    }
    return oldest;
  }

  // With one process the lists determine everything; with several, the order depends on ever-growing numbers.
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const {
    for (std::uint32_t process = 1; process < kMostProcesses; ++process) {
      if (!lists_.empty(kFirst + process)) return digest.refuse();
    }
    lists_.add_state(digest, names);
  }

 private:
  enum List : std::uint32_t { kUnused, kDiscarded, kFirst };
  const char* policy_;
  ChunkLists lists_;
  PerChunk<std::uint32_t> process_;   // by chunk
  PerChunk<std::uint64_t> migrated_;  // by chunk: the time by clock_
  std::uint64_t clock_ = 0;
};

// The common base of the evictors over these lists.
class ProcessEvictor : public Evictor {
 public:
  void on_allocated(ChunkId chunk, ContentIndex) final { lists_.allocated(chunk); }
  void on_process(ChunkId chunk, std::uint32_t process) final { lists_.belongs_to(chunk, process); }
  void on_migrated(ChunkId chunk) final { lists_.migrated(chunk); }
  void on_emptied(ChunkId chunk) final { lists_.emptied(chunk); }
  void on_discarded(ChunkId chunk) final { lists_.discarded(chunk); }
  void on_released(ChunkId chunk) final { lists_.released(chunk); }
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const final {
    lists_.add_state(digest, names);
  }
  ChunkId select_victim(const EvictionQueries& queries) final {
    const ChunkId empty = lists_.empty_victim(queries);
    return empty.valid() ? empty : choose(queries);
  }

 protected:
  ProcessEvictor(const char* policy, const PolicyContext& context) : lists_(policy, context.chunk_count) {}
  virtual ChunkId choose(const EvictionQueries& queries) = 0;

  ProcessLists lists_;
};

}  // namespace uvmsim::policy
