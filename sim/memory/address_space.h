// SPDX-License-Identifier: Apache-2.0
// The managed virtual address space: ranges of 2 MB VA blocks, and the places of their pages.
//
// Simulated addresses are dense: BlockIndex 0 .. block_count() - 1; a simulated virtual address is block * 2 MB +
// offset. Freed ranges are reused (first fit, lowest address), so state is bounded by the peak of live memory. Each of
// several programs has a region of its own. State per 2 MB block: 192 bytes per processor and 368 bytes shared, below 2
// bytes per 4 KB page with one GPU. State is created for groups of neighbours when one of them is first used; unused
// addresses take no memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/common/lazy_array.h"
#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/memory/page_mask.h"
#include "sim/memory/processor.h"

namespace uvmsim {

// One processor's view of one block.
struct ProcessorPages {
  PageMask resident;  // holds a valid copy
  PageMask mapped;    // has a page-table entry, local or remote
  PageMask writable;  // that entry allows writes; subset of mapped
};

// The call that allocated the memory: cudaMallocManaged, malloc or mmap, cudaHostAlloc.
enum class MemoryKind : std::uint8_t { kManaged, kSystem, kPinned };

// The hints of cudaMemAdvise.
struct Hints {
  ProcessorId preferred = kNoProcessor;
  std::uint32_t accessed_by = 0;  // ProcessorId::bit() of each
  bool read_mostly = false;
  bool pinned = false;  // pages on a GPU stay there (hint of other drivers than NVIDIA's)
  // Returns whether the program has requested a place for the pages.
  bool any() const { return !preferred.is_none() || accessed_by != 0 || read_mostly; }
  bool operator==(const Hints&) const = default;
};

// Pages [first, end) of a block that have the same hints. The driver splits its VA ranges, and their blocks, at the
// begin and the end of a hint; it never merges them again.
struct BlockPart {
  unsigned first = 0, end = 0;
  Hints hints;
  PageMask extent() const { return PageMask::range(first, end - first); }
};

struct VaBlock {
  PageMask read_duplicated;
  PageMask discarded;
  PageMask evicted;                            // pages that left a GPU by eviction and have not returned to it
  PageMask host_backed;                        // pages with a host page allocated (kept until the block is freed)
  PageMask cpu_wrote;                          // system memory: pages that the CPU has written
  std::uint16_t first_page = 0, end_page = 0;  // [first, end) belongs to the range
  std::uint16_t region = 0;                    // of the program that allocated it
  BlockIndex range_first;                      // first block of its range
  std::uint64_t range_blocks = 0;              // blocks of its range, as allocated
  Hints hints;                                 // if split != 0, any() and accessed_by combine the hints of all parts
  std::uint32_t split = 0;                     // not 0: its parts have hints of their own
  std::uint32_t dma_mapped = 0;                // ProcessorId::bit() of GPUs whose DMA engines know the host pages
  std::uint32_t page_tables = 0;               // ProcessorId::bit() of GPUs that have had the block
  MemoryKind kind = MemoryKind::kManaged;
  bool live = false;
  PageMask extent() const { return PageMask::range(first_page, static_cast<unsigned>(end_page - first_page)); }
  bool full_size() const { return first_page == 0 && end_page == kPagesPerBlock; }
};

class AddressSpace {
 public:
  // `initial`: the hints of a new range.
  explicit AddressSpace(unsigned gpu_count, const Hints& initial = {});

  // Divides the address space into regions of these numbers of blocks. Blocks are placed in a region as in a separate
  // address space. Ranges without room in their region are placed after all regions. Call before the first allocation.
  void divide(std::span<const std::uint64_t> block_counts);
  // Returns the first block of a region; regions begin at multiples of 1 GB.
  BlockIndex begin_of(unsigned region) const { return BlockIndex(regions_[region].begin); }

  // Allocates a range of `bytes` whose first byte lies `offset_in_block` into its first block. Returns that block.
  BlockIndex allocate(std::uint64_t offset_in_block, std::uint64_t bytes, unsigned region = 0,
                      MemoryKind kind = MemoryKind::kManaged);
  // Frees blocks of that region, which must not hold pages (the driver has released them).
  void free(BlockIndex first, std::uint64_t block_count, unsigned region = 0);

  std::uint64_t block_count() const { return block_count_; }
  unsigned processor_count() const { return processors_; }
  unsigned gpu_count() const { return processors_ - 1; }

  VaBlock& block(BlockIndex b) { return block_of(b); }
  const VaBlock& block(BlockIndex b) const { return block_of(b); }
  ProcessorPages& pages(BlockIndex b, ProcessorId p) {
    if (pages_[b.value / kGroup] == nullptr) make_pages(b.value / kGroup);
    return pages_[b.value / kGroup][b.value % kGroup * processors_ + p.index];
  }
  const ProcessorPages& pages(BlockIndex b, ProcessorId p) const {
    const ProcessorPages* const group = pages_[b.value / kGroup];
    if (group == nullptr) [[unlikely]]
      return kNothing;
    return group[b.value % kGroup * processors_ + p.index];
  }

  // Calls f(block) for those of the blocks [first, first + count) that have state, ascending: blocks that hold pages or
  // were used, and their neighbours. All other blocks are in their initial state, except for hints.
  template <class F>
  void for_each_used(BlockIndex first, std::uint64_t count, F&& f) const {
    for (std::uint64_t at = first.value, end = first.value + count; at < end;) {
      const std::uint64_t group = at / kGroup, group_end = std::min(end, (group + 1) * kGroup);
      if (blocks_[group] == nullptr && pages_[group] == nullptr) {
        at = group_end;
        continue;
      }
      for (; at < group_end; ++at) f(BlockIndex(at));
    }
  }
  template <class F>
  void for_each_used(F&& f) const {
    for_each_used(BlockIndex(0), block_count_, f);
  }
  // Calls change(hints) to edit the hints of all pages of those blocks [first, first + count) that have no state.
  template <class Change>
  void change_hints_of_unused(BlockIndex first, std::uint64_t count, Change&& change) {
    for (std::uint64_t at = first.value, end = first.value + count; at < end;) {
      std::uint64_t stop = at;  // of a stretch without state
      while (stop < end && blocks_[stop / kGroup] == nullptr && pages_[stop / kGroup] == nullptr) {
        stop = std::min(end, (stop / kGroup + 1) * kGroup);
      }
      if (stop == at) {
        at = std::min(end, (at / kGroup + 1) * kGroup);
        continue;
      }
      for (auto piece = split_pieces(at, stop); piece != pieces_.end() && piece->first < stop; ++piece) {
        change(piece->second.hints);
      }
      at = stop;
    }
  }
  // Returns the page behind the last one that belongs to the block's range.
  unsigned end_page(BlockIndex b) const;

  // Returns the number of operations so far that removed page-table entries or permissions of the GPU.
  std::uint64_t unmap_epoch(unsigned gpu) const { return unmap_epochs_[gpu]; }
  void note_unmap(unsigned gpu) { ++unmap_epochs_[gpu]; }

  // Calls f(part) for each part of the block, ascending: a single part if all its pages have the same hints.
  template <class F>
  void for_each_part(BlockIndex b, F&& f) const {
    const VaBlock& whole = block(b);
    if (whole.split == 0) return f(whole_of(whole));
    for (const BlockPart& part : parts_[whole.split - 1]) f(part);
  }
  // Returns the pages of the parts for whose hints is() returns true.
  template <class Is>
  PageMask pages_where(BlockIndex b, Is&& is) const {
    const VaBlock& whole = block(b);
    if (whole.split == 0) return is(whole.hints) ? whole.extent() : PageMask{};
    PageMask pages;
    for (const BlockPart& part : parts_[whole.split - 1]) {
      if (is(part.hints)) pages |= part.extent();
    }
    return pages;
  }
  // Returns the part in which the page lies.
  BlockPart part_of(BlockIndex b, unsigned page) const;
  // Calls change(hints) to edit the hints of pages [first, end). Splits the block if its hints then differ.
  template <class Change>
  void change_hints(BlockIndex b, unsigned first, unsigned end, Change&& change) {
    std::vector<BlockPart> changed;
    bool differs = false;
    for_each_part(b, [&](const BlockPart& part) {
      Hints hints = part.hints;
      change(hints);
      if (hints == part.hints || part.end <= first || end <= part.first) return changed.push_back(part);
      differs = true;
      if (part.first < first) changed.push_back({part.first, first, part.hints});
      changed.push_back({std::max(first, part.first), std::min(end, part.end), hints});
      if (end < part.end) changed.push_back({end, part.end, part.hints});
    });
    if (differs) set_parts(b, std::move(changed));
  }

  // Marks the block's memory as pinned or not, and counts the pinned blocks of all programs.
  void pin(BlockIndex b, bool pinned) {
    bool& hint = block(b).hints.pinned;
    if (hint == pinned) return;
    hint = pinned;
    pinned_blocks_ += pinned ? 1 : std::uint64_t{0} - 1;
  }
  std::uint64_t pinned_blocks() const { return pinned_blocks_; }

  void add_state(StateDigest& digest) const;

  // Returns the pages resident on any processor.
  PageMask resident_anywhere(BlockIndex b) const;

 private:
  static constexpr std::uint64_t kGroup = 16;
  static const ProcessorPages kNothing;
  using Blocks = std::array<VaBlock, kGroup>;
  // Blocks [key, end) that were allocated together: gives the initial state of blocks that have no state yet.
  struct Piece {
    std::uint64_t end = 0;
    std::uint64_t range_first = 0, range_blocks = 0;
    std::uint64_t offset_in_block = 0, bytes = 0;  // of the range
    Hints hints;
    std::uint16_t region = 0;
    MemoryKind kind = MemoryKind::kManaged;
  };
  using Pieces = std::map<std::uint64_t, Piece>;

  VaBlock& block_of(BlockIndex b) const {
    if (blocks_[b.value / kGroup] == nullptr) make_blocks(b.value / kGroup);
    return (*blocks_[b.value / kGroup])[b.value % kGroup];
  }
  void make_blocks(std::uint64_t group) const;
  void make_pages(std::uint64_t group);
  static VaBlock allocated(const Piece& piece, std::uint64_t b);
  bool is_as_allocated(BlockIndex b) const;
  Pieces::iterator split_pieces(std::uint64_t first, std::uint64_t end);
  void grow(std::uint64_t block_count);
  static BlockPart whole_of(const VaBlock& block) { return {block.first_page, block.end_page, block.hints}; }
  void set_parts(BlockIndex b, std::vector<BlockPart> parts);
  void join(VaBlock& block);

  unsigned processors_;
  Hints initial_;
  std::vector<std::uint64_t> unmap_epochs_;  // by GPU
  std::uint64_t block_count_ = 0;
  Pieces pieces_;  // of live blocks
  // By group of kGroup blocks, null if the group has no state yet: the blocks; their pages as [block][processor].
  mutable LazyArray<Blocks*> blocks_;
  LazyArray<ProcessorPages*> pages_;
  mutable std::vector<std::unique_ptr<Blocks>> made_blocks_;
  std::vector<std::unique_ptr<ProcessorPages[]>> made_pages_;
  std::vector<std::vector<BlockPart>> parts_;  // of split blocks, by VaBlock::split - 1
  std::vector<std::uint32_t> unused_parts_;    // values of `split` that no block has
  std::uint64_t pinned_blocks_ = 0;
  struct Region {
    std::uint64_t begin = 0;
    std::uint64_t next = 0;                        // blocks from `next` to `end` were never used
    std::uint64_t end = ~std::uint64_t{0};         // end of the region
    std::map<std::uint64_t, std::uint64_t> holes;  // first block -> count, coalesced
  };
  std::vector<Region> regions_{1};
};

}  // namespace uvmsim
