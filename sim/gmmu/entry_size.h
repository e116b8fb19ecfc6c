// SPDX-License-Identifier: Apache-2.0
// The page-table entry that maps each page of a block: 2 MB, 64 KB or 4 KB.
#pragma once

#include <cstdint>

#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::gmmu {

enum class EntrySize : std::uint8_t { k4K = 0, k64K = 1, k2M = 2 };

// The entries of one block, in eight bytes. The answer is meaningful only for mapped pages.
struct EntrySizes {
  bool whole_block = false;     // one 2 MB entry
  std::uint32_t big_pages = 0;  // bit u: 64 KB entry for pages [16 u, 16 u + 16); ignored when whole_block
  constexpr bool operator==(const EntrySizes&) const = default;

  static constexpr EntrySizes all(EntrySize size) {
    return {size == EntrySize::k2M, size == EntrySize::k64K ? ~std::uint32_t{0} : 0};
  }
  constexpr EntrySize of(unsigned page) const {
    if (whole_block) return EntrySize::k2M;
    return ((big_pages >> (page / kPagesPerBigPage)) & 1) != 0 ? EntrySize::k64K : EntrySize::k4K;
  }
};

// The driver chooses at every map or unmap (NVIDIA UVM 580: block_gpu_compute_new_pte_state): 2 MB iff all 512 pages
// are mapped with the same permission, in a full block, on memory contiguous over 2 MB; else 64 KB for every aligned
// unit whose 16 pages are mapped with the same permission, on memory contiguous over 64 KB; else 4 KB.
//   mapped:      pages this GPU may read
//   writable:    the part of `mapped` it may also write (the driver's atomic permission follows write by default)
//   block_pages: pages the block has; 512 for a full block, less for the tail of an allocation
//   contiguous:  physical contiguity of what is mapped: GPU memory of a full block and 2 MB host chunks k2M,
//                64 KB chunks k64K, anything smaller k4K
// Blocks hold aligned 64 KB units; a unit cut off by the block's end gets 4 KB entries.
EntrySizes choose_entry_sizes(const PageMask& mapped, const PageMask& writable, unsigned block_pages,
                              EntrySize contiguous);

}  // namespace uvmsim::gmmu
