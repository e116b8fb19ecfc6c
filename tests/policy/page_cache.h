// SPDX-License-Identifier: Apache-2.0
// An evictor without a driver: a stream of pages, a memory of a few frames and a count of misses. It compares policies
// with cache simulators and with published miss counts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/policy/migrator.h"
#include "sim/policy/policy.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {

// A cache of one page per frame with demand fetching only, empty at the start. The evictor's hooks are called as
// follows. A hit calls on_touched if its class allows it (D2 and up). A miss calls select_victim when no frame is free,
// on_released, on_allocated and on_migrated, and then select_early_victim, which never names the page that was just
// loaded. A page takes the frame that was emptied for it, else a free one. A policy that also fills the slot `migrate`
// is asked first: a page that it leaves on the host is not loaded.
class PageCache final : private EvictionQueries {
 public:
  // `frames` is at least 1. `future`, for policies of class D4, holds the stream itself, each access as an operation
  // with its number, from 1 (stream_future); it must outlive the cache, which tells it of every access. Throws
  // InputError for the parameters, as PolicyEntry::resolve() does, and if such a policy has no future.
  PageCache(const PolicyEntry& evictor, const GivenParameters& given, std::uint32_t frames, std::uint64_t seed = 1,
            Future* future = nullptr);

  // Returns whether the page was cached. Throws ModelError for a victim that may not be evicted.
  bool access(std::uint64_t page, bool write = false);

  std::uint64_t accesses() const { return accesses_; }
  std::uint64_t misses() const { return misses_; }
  // The number of pages that were evicted after they had been written.
  std::uint64_t write_backs() const { return write_backs_; }
  bool contains(std::uint64_t page) const { return frame_of_.count(page) != 0; }

 private:
  bool evictable(ChunkId frame) const override {
    return frame.value < used_.size() && used_[frame.value] && frame != kept_;
  }
  ChunkView view(ChunkId frame) const override {
    return {ContentIndex(pages_[frame.value]), kPagesPerBlock, written_[frame.value] ? kPagesPerBlock : 0};
  }
  Nanoseconds now() const override { return Nanoseconds(static_cast<std::int64_t>(accesses_)); }
  ContentIndex incoming() const override { return ContentIndex(incoming_); }
  std::uint32_t free_chunks() const override { return static_cast<std::uint32_t>(free_.size()); }
  void release(ChunkId frame);
  bool rests(std::uint64_t page, bool write);

  std::shared_ptr<Evictor> evictor_;
  std::shared_ptr<Migrator> migrator_;  // the evictor's object; null if it does not fill this slot
  std::uint64_t chunk_bytes_;
  std::string name_;
  bool sees_hits_;
  std::vector<std::uint64_t> pages_;                           // by frame
  std::vector<bool> used_, written_;                           // by frame
  std::vector<std::uint32_t> free_;                            // the next one last
  std::unordered_map<std::uint64_t, std::uint32_t> frame_of_;  // never iterated
  ChunkId kept_;                                               // the page that an early eviction must keep
  Future* future_;
  std::uint64_t incoming_ = 0, accesses_ = 0, misses_ = 0, write_backs_ = 0;
};

// Returns the future of a stream of pages in the form that PageCache expects.
Future stream_future(std::span<const std::uint64_t> pages);

}  // namespace uvmsim::policy
