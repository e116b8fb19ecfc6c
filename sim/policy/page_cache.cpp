#include "sim/policy/page_cache.h"

#include <fmt/format.h>

#include "sim/common/check.h"

namespace uvmsim::policy {

PageCache::PageCache(const PolicyEntry& evictor, const GivenParameters& given, std::uint32_t frames, std::uint64_t seed)
    : evictor_(evictor.create_evictor(given, seed, frames)),
      name_(evictor.label()),
      sees_hits_(evictor.info.information >= InformationClass::kD2),
      pages_(frames) {
  frame_of_.reserve(frames);
}

bool PageCache::access(std::uint64_t page) {
  ++accesses_;
  if (const auto found = frame_of_.find(page); found != frame_of_.end()) {
    if (sees_hits_) {
      evictor_->on_touched(ChunkId{found->second});
    }
    return true;
  }
  ++misses_;
  incoming_ = page;
  ChunkId frame{used_};
  if (used_ < pages_.size()) {
    ++used_;
  } else {
    frame = evictor_->select_victim(*this);
    if (!evictable(frame)) {
      throw ModelError(fmt::format("{} chose frame {} of {} as its victim", name_, frame.value, pages_.size()));
    }
    evictor_->on_released(frame);
    frame_of_.erase(pages_[frame.value]);
  }
  pages_[frame.value] = page;
  frame_of_.emplace(page, frame.value);
  evictor_->on_allocated(frame, ContentIndex(page));
  evictor_->on_migrated(frame);
  return false;
}

}  // namespace uvmsim::policy
