// SPDX-License-Identifier: Apache-2.0
// Host memory of limited size: which of the host's pages are in memory, which have a valid copy on the SSD, and the
// order of their last use.
//
// A page that the host holds (resident there in AddressSpace) is in memory, on the SSD, or in both; after its eviction
// from memory it is only on the SSD. An SSD copy is valid until the page may be written, by any processor. Units of 4
// KB, 64 KB or 2 MB of addresses are kept in order of use; the least recently used unit is evicted first, as a whole.
// Without a limit nothing is tracked: every page of the host is in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim {

class HostMemory {
 public:
  // `capacity_bytes` is the limit, 0: none. `unit_bytes` is one of the three sizes above.
  HostMemory(std::uint64_t capacity_bytes, std::uint64_t unit_bytes);

  bool limited() const { return capacity_pages_ != 0; }
  std::uint64_t capacity_pages() const { return capacity_pages_; }
  std::uint64_t used_pages() const { return used_pages_; }
  std::uint64_t free_pages() const { return capacity_pages_ - used_pages_; }
  std::uint64_t saved_pages() const { return saved_pages_; }  // on the SSD

  // The following require a limit.
  PageMask in_memory(BlockIndex b) const { return b.value < blocks_.size() ? blocks_[index(b)].in_memory : PageMask{}; }
  PageMask saved(BlockIndex b) const { return b.value < blocks_.size() ? blocks_[index(b)].saved : PageMask{}; }
  // Returns the held pages that are only on the SSD; none without a limit.
  PageMask swapped(BlockIndex b, const PageMask& held) const { return limited() ? held - in_memory(b) : PageMask{}; }

  // Returns all pages of the units that contain the pages.
  PageMask whole_units(const PageMask& pages) const { return pages.grown_to(unit_pages_); }

  // Adds pages to memory, which must be free; they count as used now.
  void add(BlockIndex b, const PageMask& pages);
  // Removes pages from memory. Their copies on the SSD stay.
  void remove(BlockIndex b, const PageMask& pages);
  // Marks the units of those pages that are in memory as used now.
  void use(BlockIndex b, const PageMask& pages);

  void save(BlockIndex b, const PageMask& pages);
  void drop_saved(BlockIndex b, const PageMask& pages);

  // Frees the memory of pages that left, from `ready` on, when their contents have been written or copied.
  void free_from(Nanoseconds ready, std::uint64_t pages);
  // Takes free pages, those that became free first. Returns when the last one is free, at least `now`.
  Nanoseconds take(std::uint64_t pages, Nanoseconds now);

  // The end of the block's last write to the SSD.
  Nanoseconds written_until(BlockIndex b) const {
    return b.value < blocks_.size() ? blocks_[index(b)].written_until : Nanoseconds{};
  }
  void set_written_until(BlockIndex b, Nanoseconds end) { grown(b).written_until = end; }

  struct Unit {
    BlockIndex block;
    PageMask pages;  // its pages in memory
  };
  // Returns the least recently used unit outside `spared`; nothing when there is none.
  std::optional<Unit> coldest(BlockIndex spared) const;

  void add_state(StateDigest& digest) const;

 private:
  struct Block {
    PageMask in_memory, saved;
    Nanoseconds written_until{};
  };
  struct Freed {
    Nanoseconds ready{};
    std::uint64_t pages = 0;
    bool operator>(const Freed& o) const { return ready > o.ready; }
  };
  struct Links {
    std::uint64_t older, newer;
  };
  static std::size_t index(BlockIndex b) { return static_cast<std::size_t>(b.value); }
  PageMask unit_mask(std::uint64_t unit) const {
    return PageMask::range(static_cast<unsigned>(unit) * unit_pages_, unit_pages_);
  }
  Block& grown(BlockIndex b);
  void append(std::uint64_t unit);
  void unlink(std::uint64_t unit);
  template <class F>
  void for_each_unit(const PageMask& pages, F&& f) const;

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t capacity_pages_;
  unsigned unit_pages_;
  std::uint64_t used_pages_ = 0, saved_pages_ = 0;
  std::vector<Freed> freed_;  // a heap, the earliest on top
  std::uint64_t freed_pages_ = 0;
  std::vector<Block> blocks_;
  // Units by number: block * units per block + unit within it. The list holds those with pages in memory.
  std::vector<Links> links_;
  std::uint64_t oldest_ = kNone, newest_ = kNone;
};

}  // namespace uvmsim
