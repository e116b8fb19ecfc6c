// SPDX-License-Identifier: Apache-2.0
// The managed virtual address space: ranges of 2 MB VA blocks and where each of their pages is.
//
// Simulated addresses are dense: BlockIndex 0 .. block_count() - 1, a simulated virtual address is block * 2 MB +
// offset. Freed ranges are reused (first fit, lowest address), so state is bounded by the peak of live memory. Several
// programs have a region each.
// State per 2 MB block: 192 bytes per processor and 256 bytes shared, below 2 bytes per 4 KB page with one GPU.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

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

// What cudaMemAdvise set. The driver keeps this per VA range and splits ranges at hint boundaries; here it is per
// block.
struct Hints {
  ProcessorId preferred = kNoProcessor;
  std::uint32_t accessed_by = 0;  // ProcessorId::bit() of each
  bool read_mostly = false;
  bool pinned = false;  // what lies on a GPU stays there (of other drivers than NVIDIA's)
  // The program says where its pages are to be.
  bool any() const { return !preferred.is_none() || accessed_by != 0 || read_mostly; }
};

struct VaBlock {
  PageMask read_duplicated;
  PageMask discarded;
  PageMask evicted;                            // left a GPU by eviction since they were last there
  PageMask host_backed;                        // pages with a host page allocated (kept until the block is freed)
  std::uint16_t first_page = 0, end_page = 0;  // [first, end) belongs to the range
  std::uint16_t region = 0;                    // of the program that allocated it
  BlockIndex range_first;                      // of the range: its first block
  std::uint64_t range_blocks = 0;              // as it was allocated
  Hints hints;
  std::uint32_t dma_mapped = 0;   // ProcessorId::bit() of GPUs whose DMA engines know the host pages
  std::uint32_t page_tables = 0;  // ProcessorId::bit() of GPUs that have had the block
  bool live = false;
  PageMask extent() const { return PageMask::range(first_page, static_cast<unsigned>(end_page - first_page)); }
  bool full_size() const { return first_page == 0 && end_page == kPagesPerBlock; }
};

class AddressSpace {
 public:
  // `initial`: the hints of every range when it is allocated.
  explicit AddressSpace(unsigned gpu_count, const Hints& initial = {});

  // Before the first allocation: regions of so many blocks each, where blocks lie as in an address space of their own.
  // Ranges that find no room in their region lie behind all regions.
  void divide(std::span<const std::uint64_t> block_counts);
  // The first block of a region; regions begin at multiples of 1 GB.
  BlockIndex begin_of(unsigned region) const { return BlockIndex(regions_[region].begin); }

  // A range of `bytes` whose first byte lies `offset_in_block` into its first block. Returns that block.
  BlockIndex allocate(std::uint64_t offset_in_block, std::uint64_t bytes, unsigned region = 0);
  // The blocks, of that region, must hold no pages any more (the driver released them).
  void free(BlockIndex first, std::uint64_t block_count, unsigned region = 0);

  std::uint64_t block_count() const { return blocks_.size(); }
  unsigned processor_count() const { return processors_; }
  unsigned gpu_count() const { return processors_ - 1; }

  VaBlock& block(BlockIndex b) { return blocks_[b.value]; }
  const VaBlock& block(BlockIndex b) const { return blocks_[b.value]; }
  ProcessorPages& pages(BlockIndex b, ProcessorId p) { return pages_[b.value * processors_ + p.index]; }
  const ProcessorPages& pages(BlockIndex b, ProcessorId p) const { return pages_[b.value * processors_ + p.index]; }

  // Counts the operations that took a page-table entry from the GPU, or a permission.
  std::uint64_t unmap_epoch(unsigned gpu) const { return unmap_epochs_[gpu]; }
  void note_unmap(unsigned gpu) { ++unmap_epochs_[gpu]; }

  // Marks the block's memory as pinned, or no more; counts the blocks that are, of all programs.
  void pin(BlockIndex b, bool pinned) {
    bool& hint = block(b).hints.pinned;
    if (hint == pinned) return;
    hint = pinned;
    pinned_blocks_ += pinned ? 1 : std::uint64_t{0} - 1;
  }
  std::uint64_t pinned_blocks() const { return pinned_blocks_; }

  void add_state(StateDigest& digest) const;

  // Pages resident on any processor.
  PageMask resident_anywhere(BlockIndex b) const;

 private:
  void grow(std::uint64_t block_count);

  unsigned processors_;
  Hints initial_;
  std::vector<std::uint64_t> unmap_epochs_;  // by GPU
  std::vector<VaBlock> blocks_;
  std::vector<ProcessorPages> pages_;  // [block][processor]
  std::uint64_t pinned_blocks_ = 0;
  struct Region {
    std::uint64_t begin = 0;
    std::uint64_t next = 0;                        // never used so far, from here
    std::uint64_t end = ~std::uint64_t{0};         // to here
    std::map<std::uint64_t, std::uint64_t> holes;  // first block -> count, coalesced
  };
  std::vector<Region> regions_{1};
};

}  // namespace uvmsim
