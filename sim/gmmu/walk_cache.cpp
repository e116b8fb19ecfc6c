#include "sim/gmmu/walk_cache.h"

#include <algorithm>

namespace uvmsim::gmmu {
namespace {

constexpr std::uint32_t kMaxWays = 8;

std::uint32_t ways_for(std::uint32_t entries) {
  std::uint32_t ways = std::min(entries, kMaxWays);
  while (entries % ways != 0) --ways;
  return ways;
}

}  // namespace

WalkCache::WalkCache(std::uint32_t entries, std::uint32_t levels_4k, std::uint32_t levels_2m)
    : enabled_(entries > 0),
      levels_4k_(levels_4k),
      levels_2m_(levels_2m),
      cache_(std::max(entries, 1u), ways_for(std::max(entries, 1u))) {}

// The virtual address range that the entry of this level covers, and the level.
std::uint64_t WalkCache::key(BlockIndex block, std::uint32_t level) {
  const std::uint32_t shift = level == 1 ? 0 : 8 + 9 * (level - 2);
  const std::uint64_t range = shift < 64 ? block.value >> shift : 0;
  return (range << 4) | level;
}

std::uint32_t WalkCache::walk(BlockIndex block, EntrySize size) {
  const std::uint32_t levels = size == EntrySize::k2M ? levels_2m_ : levels_4k_;
  if (!enabled_) return levels;
  // A 2 MB entry sits where level 1 would point on.
  const std::uint32_t lowest = size == EntrySize::k2M ? 2 : 1;
  std::uint32_t hit = lowest;
  while (hit < levels_4k_ && !touch(key(block, hit))) ++hit;
  for (std::uint32_t level = hit; level-- > lowest;) {
    const std::uint64_t k = key(block, level);
    cache_.insert(set_index(k), k);
  }
  // Levels above the hit are not read.
  const std::uint32_t skipped = levels_4k_ - hit;
  return levels > skipped ? levels - skipped : 1;
}

void WalkCache::invalidate(BlockIndex block) {
  const std::uint64_t k = key(block, 1);
  cache_.erase(set_index(k), k);
}

void WalkCache::clear() { cache_.clear(); }

}  // namespace uvmsim::gmmu
