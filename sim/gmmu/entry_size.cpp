#include "sim/gmmu/entry_size.h"

namespace uvmsim::gmmu {
namespace {

constexpr unsigned kUnitsPerWord = 64 / kPagesPerBigPage;

// Bit u: all 16 pages of unit u are set.
std::uint32_t full_units(const PageMask& pages) {
  std::uint32_t units = 0;
  for (unsigned w = 0; w < PageMask::kWords; ++w) {
    for (unsigned k = 0; k < kUnitsPerWord; ++k) {
      if (((pages.word(w) >> (kPagesPerBigPage * k)) & 0xffff) == 0xffff) units |= 1u << (kUnitsPerWord * w + k);
    }
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
