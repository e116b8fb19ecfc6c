// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/walk_cache.h"

#include <algorithm>

namespace uvmsim::gmmu {
namespace {

constexpr std::uint32_t kMaxWays = 16;

std::uint32_t ways_for(std::uint32_t lines) {
  std::uint32_t ways = std::min(lines, kMaxWays);
  while (lines % ways != 0) --ways;
  return ways;
}

// Lines of directories share the cache with lines of translations, whose tags use the sizes 1 to 3 in their low bits.
struct DirectoryLine {
  std::uint64_t tag, set;
};
constexpr DirectoryLine directory_line(BlockIndex block, std::uint32_t level) {
  const std::uint32_t shift = (level == 1 ? 0 : 8 + 9 * (level - 2)) + 4;  // 4, because a line has 16 entries
  const std::uint64_t line = shift < 64 ? block.value >> shift : 0;
  return {((line << 4) | level) << 2, line + level};
}

}  // namespace

WalkCache::WalkCache(std::uint32_t lines, std::uint32_t levels_4k, std::uint32_t levels_2m)
    : enabled_(lines > 0),
      levels_4k_(levels_4k),
      levels_2m_(levels_2m),
      cache_(std::max(lines, 1u), ways_for(std::max(lines, 1u))) {}

std::uint32_t WalkCache::walk(BlockIndex block, TlbTag tag, std::uint16_t pages) {
  const bool whole = tag.size() == EntrySize::k2M;
  const std::uint32_t levels = whole ? levels_2m_ : levels_4k_;
  if (!enabled_) return levels;
  const std::uint16_t valid = cache_.touch(tag.set_index(), tag.bits);
  if ((valid & pages) == pages) return 0;
  fill(tag.set_index(), tag.bits, valid, valid == 0 ? kAllPages : pages);
  // A 2 MB entry is in the place of a pointer to level 1. Levels above a cached one are not read.
  std::uint32_t reads = 1;
  for (std::uint32_t level = whole ? 2 : 1; reads < levels; ++level, ++reads) {
    const DirectoryLine line = directory_line(block, level);
    if (cache_.touch(line.set, line.tag) != 0) break;
    fill(line.set, line.tag, 0, kAllPages);
  }
  return reads;
}

void WalkCache::fill(std::uint64_t set_index, std::uint64_t tag, std::uint16_t present, std::uint16_t pages) {
  small_.removed(cache_.fill(set_index, tag, pages));
  if (present == 0) small_.added(tag);
}

void WalkCache::invalidate(TlbTag tag, std::uint16_t pages) {
  if (cache_.erase(tag.set_index(), tag.bits, pages)) small_.removed(tag.bits);
}

}  // namespace uvmsim::gmmu
