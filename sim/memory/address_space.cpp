// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/address_space.h"

#include <algorithm>

#include "sim/common/check.h"

namespace uvmsim {

const ProcessorPages AddressSpace::kNothing{};

AddressSpace::AddressSpace(unsigned gpu_count, const Hints& initial)
    : processors_(gpu_count + 1), initial_(initial), unmap_epochs_(gpu_count) {}

void AddressSpace::grow(std::uint64_t block_count) {
  if (block_count <= block_count_) return;
  block_count_ = block_count;
  const std::uint64_t groups = (block_count + kGroup - 1) / kGroup;
  blocks_.grow(groups);
  pages_.grow(groups);
}

// A block as it is after its allocation.
VaBlock AddressSpace::allocated(const Piece& piece, std::uint64_t b) {
  VaBlock block;
  block.live = true;
  block.hints = piece.hints;
  block.region = piece.region;
  block.kind = piece.kind;
  block.range_first = BlockIndex(piece.range_first);
  block.range_blocks = piece.range_blocks;
  const std::uint64_t before = (b - piece.range_first) * kBlockBytes;
  const std::uint64_t begin = b == piece.range_first ? piece.offset_in_block : 0;
  const std::uint64_t end = std::min<std::uint64_t>(piece.offset_in_block + piece.bytes - before, kBlockBytes);
  block.first_page = static_cast<std::uint16_t>(begin / kBasePageBytes);
  block.end_page = static_cast<std::uint16_t>((end + kBasePageBytes - 1) / kBasePageBytes);
  return block;
}

void AddressSpace::make_blocks(std::uint64_t group) const {
  made_blocks_.push_back(std::make_unique<Blocks>());
  blocks_[group] = made_blocks_.back().get();
  const std::uint64_t first = group * kGroup, end = first + kGroup;
  auto piece = pieces_.upper_bound(first);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && piece->first < end; ++piece) {
    for (std::uint64_t b = std::max(first, piece->first); b < std::min(end, piece->second.end); ++b) {
      (*blocks_[group])[b - first] = allocated(piece->second, b);
    }
  }
}

void AddressSpace::make_pages(std::uint64_t group) {
  made_pages_.push_back(std::make_unique<ProcessorPages[]>(kGroup * processors_));
  pages_[group] = made_pages_.back().get();
}

// Splits pieces at `first` and at `end` if these are inside of one; returns the first piece from `first` on.
AddressSpace::Pieces::iterator AddressSpace::split_pieces(std::uint64_t first, std::uint64_t end) {
  for (const std::uint64_t at : {first, end}) {
    auto piece = pieces_.lower_bound(at);
    if (piece == pieces_.begin()) continue;
    --piece;
    if (piece->second.end <= at) continue;
    pieces_.emplace(at, piece->second);
    piece->second.end = at;
  }
  return pieces_.lower_bound(first);
}

// Returns whether the block's state is the initial one, so that it has no effect on the future.
bool AddressSpace::is_as_allocated(BlockIndex i) const {
  const VaBlock& b = block(i);
  if (b.split != 0 || b.dma_mapped != 0 || b.page_tables != 0) return false;
  if (!b.discarded.empty() || !b.evicted.empty() || !b.host_backed.empty() || !b.cpu_wrote.empty()) return false;
  for (unsigned p = 0; p < processors_; ++p) {
    const ProcessorPages& theirs = pages(i, ProcessorId{static_cast<std::uint8_t>(p)});
    if (!theirs.resident.empty() || !theirs.mapped.empty()) return false;
  }
  return b.hints == std::prev(pieces_.upper_bound(i.value))->second.hints;
}

unsigned AddressSpace::end_page(BlockIndex b) const {
  if (blocks_[b.value / kGroup] != nullptr) return block_of(b).end_page;
  auto piece = pieces_.upper_bound(b.value);
  if (piece == pieces_.begin() || (--piece)->second.end <= b.value) return 0;
  return allocated(piece->second, b.value).end_page;
}

void AddressSpace::divide(std::span<const std::uint64_t> block_counts) {
  constexpr std::uint64_t kAlignment = (std::uint64_t{1} << 30) / kBlockBytes;
  UVMSIM_CHECK(block_count_ == 0 && !block_counts.empty(), "{} blocks, {} regions", block_count_, block_counts.size());
  regions_.clear();
  std::uint64_t begin = 0;
  for (const std::uint64_t count : block_counts) {
    regions_.push_back({begin, begin, begin + count, {}});
    begin += (count + kAlignment - 1) / kAlignment * kAlignment;
  }
  grow(regions_.back().end);
}

BlockIndex AddressSpace::allocate(std::uint64_t offset_in_block, std::uint64_t bytes, unsigned region,
                                  MemoryKind kind) {
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
    first = block_count_;
  }
  grow(first + count);
  const Piece& piece = pieces_[first] = {first + count,
                                         first,
                                         count,
                                         offset_in_block,
                                         bytes,
                                         kind == MemoryKind::kManaged ? initial_ : Hints{},
                                         static_cast<std::uint16_t>(region),
                                         kind};
  for (std::uint64_t group = first / kGroup; group <= (first + count - 1) / kGroup; ++group) {
    if (blocks_[group] == nullptr) continue;
    for (std::uint64_t b = std::max(first, group * kGroup); b < std::min(first + count, (group + 1) * kGroup); ++b) {
      (*blocks_[group])[b % kGroup] = allocated(piece, b);
    }
  }
  return BlockIndex(first);
}

void AddressSpace::free(BlockIndex first, std::uint64_t block_count, unsigned region) {
  for_each_used(first, block_count, [&](BlockIndex b) {
    UVMSIM_CHECK(block(b).live, "block {} is not live", b.value);
    UVMSIM_CHECK(resident_anywhere(b).empty(), "block {} still holds pages", b.value);
    join(block(b));
    block(b) = VaBlock{};
    if (pages_[b.value / kGroup] == nullptr) return;
    for (unsigned p = 0; p < processors_; ++p) pages(b, ProcessorId{static_cast<std::uint8_t>(p)}) = ProcessorPages{};
  });
  auto piece = split_pieces(first.value, first.value + block_count);
  for (std::uint64_t at = first.value; at < first.value + block_count; piece = pieces_.erase(piece)) {
    UVMSIM_CHECK(piece != pieces_.end() && piece->first == at, "block {} is not live", at);
    at = piece->second.end;
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

BlockPart AddressSpace::part_of(BlockIndex b, unsigned page) const {
  BlockPart found = whole_of(block(b));
  if (block(b).split != 0) {
    for_each_part(b, [&](const BlockPart& part) {
      if (part.first <= page && page < part.end) found = part;
    });
  }
  return found;
}

void AddressSpace::set_parts(BlockIndex b, std::vector<BlockPart> parts) {
  VaBlock& whole = block(b);
  const bool pinned = whole.hints.pinned;
  if (parts.size() == 1) {
    whole.hints = parts.front().hints;
    return;
  }
  Hints some;
  for (const BlockPart& part : parts) {
    if (some.preferred.is_none()) some.preferred = part.hints.preferred;
    some.accessed_by |= part.hints.accessed_by;
    some.read_mostly = some.read_mostly || part.hints.read_mostly;
  }
  some.pinned = pinned;
  whole.hints = some;
  if (whole.split == 0) {
    if (unused_parts_.empty()) {
      parts_.emplace_back();
      unused_parts_.push_back(static_cast<std::uint32_t>(parts_.size()));
    }
    whole.split = unused_parts_.back();
    unused_parts_.pop_back();
  }
  parts_[whole.split - 1] = std::move(parts);
}

// Its memory was freed, and with it the hints.
void AddressSpace::join(VaBlock& block) {
  if (block.split == 0) return;
  parts_[block.split - 1].clear();
  unused_parts_.push_back(block.split);
  block.split = 0;
}

PageMask AddressSpace::resident_anywhere(BlockIndex b) const {
  PageMask any;
  for (unsigned p = 0; p < processors_; ++p) any |= pages(b, ProcessorId{static_cast<std::uint8_t>(p)}).resident;
  return any;
}

void AddressSpace::add_state(StateDigest& digest) const {
  digest.add(block_count_);
  for (const Region& region : regions_) {
    for (const auto& [first, count] : region.holes) {
      digest.add(first);
      digest.add(count);
    }
  }
  const auto add_hints = [&](const Hints& hints) {
    digest.add(std::uint64_t{hints.accessed_by} << 32 | std::uint64_t{hints.preferred.index} << 8 |
               std::uint64_t{hints.read_mostly} << 1 | std::uint64_t{hints.pinned});
  };
  for (const auto& [first, piece] : pieces_) {
    digest.add(first);
    digest.add(piece.end);
    digest.add(piece.offset_in_block);
    digest.add(piece.bytes);
    add_hints(piece.hints);
    digest.add(static_cast<std::uint64_t>(piece.kind));
  }
  for_each_used([&](BlockIndex i) {
    const VaBlock& b = block(i);
    if (!b.live || is_as_allocated(i)) return;
    digest.add(i.value);
    for (const PageMask* mask : {&b.read_duplicated, &b.discarded, &b.evicted, &b.host_backed, &b.cpu_wrote}) {
      add_mask(digest, *mask);
    }
    digest.add(std::uint64_t{b.first_page} << 32 | b.end_page);
    add_hints(b.hints);
    if (b.split != 0) {
      for (const BlockPart& part : parts_[b.split - 1]) {
        digest.add(std::uint64_t{part.first} << 32 | part.end);
        add_hints(part.hints);
      }
    }
    digest.add(std::uint64_t{b.dma_mapped} << 32 | b.page_tables);
    for (unsigned p = 0; p < processors_; ++p) {
      const ProcessorPages& theirs = pages(i, ProcessorId{static_cast<std::uint8_t>(p)});
      for (const PageMask* mask : {&theirs.resident, &theirs.mapped, &theirs.writable}) add_mask(digest, *mask);
    }
  });
}

}  // namespace uvmsim
