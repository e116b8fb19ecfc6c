// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/address_space.h"

#include <algorithm>

#include "sim/common/check.h"

namespace uvmsim {

AddressSpace::AddressSpace(unsigned gpu_count, const Hints& initial)
    : processors_(gpu_count + 1), initial_(initial), unmap_epochs_(gpu_count) {}

void AddressSpace::grow(std::uint64_t block_count) {
  if (block_count <= blocks_.size()) return;
  blocks_.resize(block_count);
  pages_.resize(block_count * processors_);
}

void AddressSpace::divide(std::span<const std::uint64_t> block_counts) {
  constexpr std::uint64_t kAlignment = (std::uint64_t{1} << 30) / kBlockBytes;
  UVMSIM_CHECK(blocks_.empty() && !block_counts.empty(), "{} blocks, {} regions", blocks_.size(), block_counts.size());
  regions_.clear();
  std::uint64_t begin = 0;
  for (const std::uint64_t count : block_counts) {
    regions_.push_back({begin, begin, begin + count, {}});
    begin += (count + kAlignment - 1) / kAlignment * kAlignment;
  }
  grow(regions_.back().end);
}

BlockIndex AddressSpace::allocate(std::uint64_t offset_in_block, std::uint64_t bytes, unsigned region) {
  UVMSIM_CHECK(bytes > 0 && offset_in_block < kBlockBytes, "bytes {} offset {}", bytes, offset_in_block);
  const std::uint64_t count = (offset_in_block + bytes + kBlockBytes - 1) / kBlockBytes;
  Region& mine = regions_[region];
  auto hole = std::find_if(mine.holes.begin(), mine.holes.end(), [&](const auto& h) { return h.second >= count; });
  std::uint64_t first;
  if (hole != mine.holes.end()) {
    first = hole->first;
    const std::uint64_t left = hole->second - count;
    mine.holes.erase(hole);
    if (left != 0) mine.holes.emplace(first + count, left);
  } else if (count <= mine.end - mine.next) {
    first = mine.next;
    mine.next += count;
  } else {
    first = blocks_.size();
  }
  grow(first + count);
  for (std::uint64_t i = 0; i < count; ++i) {
    VaBlock& b = blocks_[first + i];
    b = VaBlock{};
    b.live = true;
    b.hints = initial_;
    b.region = static_cast<std::uint16_t>(region);
    b.range_first = BlockIndex(first);
    b.range_blocks = count;
    const std::uint64_t begin = i == 0 ? offset_in_block : 0;
    const std::uint64_t end = std::min<std::uint64_t>(offset_in_block + bytes - i * kBlockBytes, kBlockBytes);
    b.first_page = static_cast<std::uint16_t>(begin / kBasePageBytes);
    b.end_page = static_cast<std::uint16_t>((end + kBasePageBytes - 1) / kBasePageBytes);
  }
  return BlockIndex(first);
}

void AddressSpace::free(BlockIndex first, std::uint64_t block_count, unsigned region) {
  for (std::uint64_t i = 0; i < block_count; ++i) {
    const BlockIndex b(first.value + i);
    UVMSIM_CHECK(block(b).live, "block {} is not live", b.value);
    UVMSIM_CHECK(resident_anywhere(b).empty(), "block {} still holds pages", b.value);
    block(b) = VaBlock{};
    for (unsigned p = 0; p < processors_; ++p) pages(b, ProcessorId{static_cast<std::uint8_t>(p)}) = ProcessorPages{};
  }
  auto& holes = regions_[region].holes;
  auto [it, inserted] = holes.emplace(first.value, block_count);
  UVMSIM_CHECK(inserted, "block {} freed twice", first.value);
  if (auto next = std::next(it); next != holes.end() && it->first + it->second == next->first) {
    it->second += next->second;
    holes.erase(next);
  }
  if (it != holes.begin()) {
    if (auto prev = std::prev(it); prev->first + prev->second == it->first) {
      prev->second += it->second;
      holes.erase(it);
    }
  }
}

PageMask AddressSpace::resident_anywhere(BlockIndex b) const {
  PageMask any;
  for (unsigned p = 0; p < processors_; ++p) any |= pages(b, ProcessorId{static_cast<std::uint8_t>(p)}).resident;
  return any;
}

void AddressSpace::add_state(StateDigest& digest) const {
  digest.add(blocks_.size());
  for (const Region& region : regions_) {
    for (const auto& [first, count] : region.holes) {
      digest.add(first);
      digest.add(count);
    }
  }
  for (std::uint64_t i = 0; i < blocks_.size(); ++i) {
    const VaBlock& b = blocks_[i];
    if (!b.live) continue;
    digest.add(i);
    for (const PageMask* mask : {&b.read_duplicated, &b.discarded, &b.evicted, &b.host_backed}) add_mask(digest, *mask);
    digest.add(std::uint64_t{b.first_page} << 32 | b.end_page);
    digest.add(std::uint64_t{b.hints.accessed_by} << 32 | std::uint64_t{b.hints.preferred.index} << 8 |
               std::uint64_t{b.hints.read_mostly} << 1 | std::uint64_t{b.hints.pinned});
    digest.add(std::uint64_t{b.dma_mapped} << 32 | b.page_tables);
    for (unsigned p = 0; p < processors_; ++p) {
      const ProcessorPages& pages = pages_[i * processors_ + p];
      for (const PageMask* mask : {&pages.resident, &pages.mapped, &pages.writable}) add_mask(digest, *mask);
    }
  }
}

}  // namespace uvmsim
