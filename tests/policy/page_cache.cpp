// SPDX-License-Identifier: Apache-2.0
#include "tests/policy/page_cache.h"

#include <fmt/format.h>

#include "sim/common/check.h"
#include "sim/policy/guarded.h"

namespace uvmsim::policy {

PageCache::PageCache(const PolicyEntry& evictor, const GivenParameters& given, std::uint32_t frames, std::uint64_t seed,
                     Future* future)
    : evictor_(evictor.create<Evictor>(given, seed, frames, future)),
      migrator_(part_of<Migrator>(evictor_)),
      chunk_bytes_(evictor.chunk_bytes(given)),
      name_(evictor.label()),
      sees_hits_(evictor.info.information >= InformationClass::kD2),
      pages_(frames),
      used_(frames, false),
      written_(frames, false),
      future_(future) {
  frame_of_.reserve(frames);
  for (std::uint32_t frame = frames; frame-- > 0;) free_.push_back(frame);
}

bool PageCache::access(std::uint64_t page, bool write) {
  ++accesses_;
  if (future_ != nullptr) future_->enter(accesses_);
  if (const auto found = frame_of_.find(page); found != frame_of_.end()) {
    if (write) written_[found->second] = true;
    if (sees_hits_) evictor_->on_touched(ChunkId{found->second});
    return true;
  }
  ++misses_;
  if (migrator_ != nullptr && rests(page, write)) return false;
  incoming_ = page;
  kept_ = {};
  if (free_.empty()) release(evictor_->select_victim(*this));
  const ChunkId frame{free_.back()};
  free_.pop_back();
  used_[frame.value] = true;
  written_[frame.value] = write;
  pages_[frame.value] = page;
  frame_of_.emplace(page, frame.value);
  evictor_->on_allocated(frame, ContentIndex(page));
  evictor_->on_migrated(frame);
  kept_ = frame;
  for (ChunkId early; (early = evictor_->select_early_victim(*this)).valid();) release(early);
  return false;
}

bool PageCache::rests(std::uint64_t page, bool write) {
  const std::uint64_t per_block = kBlockBytes / chunk_bytes_;
  const auto chunk_pages = static_cast<unsigned>(chunk_bytes_ / kBasePageBytes);
  const PageMask pages = PageMask::range(static_cast<unsigned>(page % per_block) * chunk_pages, chunk_pages);
  const PageMask none;
  const bool full = free_.empty();
  return !migrator_
              ->rest({.block = BlockIndex(page / per_block),
                      .range = BlockIndex(0),
                      .reads = write ? none : pages,
                      .writes = write ? pages : none,
                      .on_host = pages,
                      .memory = {static_cast<std::uint32_t>(pages_.size()), static_cast<std::uint32_t>(free_.size()),
                                 full},
                      .now = now()})
              .pages.empty();
}

void PageCache::release(ChunkId frame) {
  if (!evictable(frame)) {
    throw ModelError(fmt::format("{} chose frame {} of {} as its victim", name_, frame.value, pages_.size()));
  }
  write_backs_ += written_[frame.value] ? 1 : 0;
  evictor_->on_released(frame);
  frame_of_.erase(pages_[frame.value]);
  used_[frame.value] = false;
  free_.push_back(frame.value);
}

Future stream_future(std::span<const std::uint64_t> pages) {
  Future future;
  std::uint64_t number = 0;
  for (const std::uint64_t page : pages) {
    future.add_operation(++number);
    future.add_use(ContentIndex(page));
  }
  future.finish();
  return future;
}

}  // namespace uvmsim::policy
