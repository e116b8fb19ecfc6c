// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/entry_size.h"

namespace uvmsim::gmmu {
namespace {

// Returns a number whose bit u is set if all 16 pages of unit u are set.
std::uint32_t full_units(const PageMask& pages) {
  std::uint32_t units = 0;
  for (unsigned w = 0; w < PageMask::kWords; ++w) {
    std::uint64_t word = pages.word(w);
    for (const unsigned shift : {1u, 2u, 4u, 8u}) word &= word >> shift;
    // Bits 0, 16, 32 and 48 are those of the word's four units; the product collects them from bit 48 on.
    const std::uint64_t together = (word & 0x0001000100010001u) * 0x0001000200040008u;
    units |= static_cast<std::uint32_t>(together >> 48 & 0xf) << (4 * w);
  }
  return units;
}

}  // namespace

EntrySizes choose_entry_sizes(const PageMask& mapped, const PageMask& writable, unsigned block_pages,
                              EntrySize contiguous) {
  if (contiguous == EntrySize::k4K) return EntrySizes::all(EntrySize::k4K);
  if (contiguous == EntrySize::k2M && block_pages == kPagesPerBlock && mapped.full() &&
      (writable.empty() || writable.full())) {
    return EntrySizes::all(EntrySize::k2M);
  }
  return {false, full_units(mapped) & (full_units(writable) | full_units(mapped - writable))};
}

}  // namespace uvmsim::gmmu
