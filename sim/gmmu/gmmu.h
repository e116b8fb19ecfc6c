// The translation side of a GPU's MMU: an L1 TLB per SM, a shared L2 TLB, a page-walk cache and page walkers.
//
// It decides nothing about residency: callers translate pages that are mapped. Two ways in:
//   translate()  one touch of one page by one SM, exact at every level; for a lone thread or a pointer chase
//   touch()      pages of one block touched by many SMs of a kernel at once; cost per entry, not per page
// README.md of this folder states what touch() approximates.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/units.h"
#include "sim/config/system.h"
#include "sim/gmmu/entry_size.h"
#include "sim/gmmu/tlb.h"
#include "sim/gmmu/walk_cache.h"
#include "sim/memory/page_mask.h"
#include "sim/report/counters.h"

namespace uvmsim::gmmu {

class Gmmu {
 public:
  // `counters` must outlive the Gmmu. Throws InputError naming the key when a TLB has no entries, more ways than
  // entries or ways that do not divide its entries, or when there is no walker or no SM.
  Gmmu(const config::GmmuConfig& config, std::uint32_t sm_count, GmmuCounters& counters);

  // SM `sm` (< sm_count) touches one mapped page. Returns the latency added to an L1 hit: 0, the L2 latency, or the L2
  // latency and the walk. Counts one lookup; never adds to stall_ns.
  Nanoseconds translate(std::uint32_t sm, BlockIndex block, unsigned page, EntrySize size);

  // `sms` SMs (1..sm_count) together touch the mapped `pages` of one block. Counts one lookup per page. Returns the
  // time this adds to the kernel beyond the same touches with every block mapped by 2 MB entries, which is what
  // recorded durations contain; never negative, 0 while all entries seen are 2 MB. The sum over calls is exact to a
  // nanosecond (fractions carry over). Adds the result to stall_ns.
  Nanoseconds touch(BlockIndex block, const PageMask& pages, EntrySizes sizes, std::uint32_t sms);

  // After the driver unmapped, evicted, or changed permissions of the block: no level translates it any more.
  void invalidate(BlockIndex block);
  // The same for some of its pages. Entries that cover none of them stay in L2; the L1s may lose the whole block.
  void invalidate_pages(BlockIndex block, const PageMask& pages);
  // All entries of all levels (the driver does so when it has more than a few ranges to invalidate).
  void invalidate_all();

  std::uint32_t sm_count() const { return sm_count_; }
  const Tlb& l2() const { return actual_.l2; }

 private:
  // One way through the MMU. Bulk touches go through `actual_`; `baseline_` is what it would hold if every block were
  // mapped by 2 MB entries, kept only once an entry of another size has been seen.
  struct Path {
    Tlb l1, l2;
    WalkCache walk_cache;
  };
  // What the missing entries of one touch cost, before it is spread over SMs and walkers.
  struct Cost {
    std::uint64_t l2_lookups = 0;
    std::uint64_t walk_reads = 0;
  };
  struct Tally {
    std::uint64_t l1_hits = 0, l2_hits = 0, walks = 0;
  };

  std::uint64_t l1_key(TlbTag tag) const {
    return tag.bits | (std::uint64_t{generations_[tag.block().value % kGenerations]} << TlbTag::kBits);
  }
  void look_up(Path& path, TlbTag tag, Tally& tally, Cost& cost);
  bool look_up_l2(Path& path, TlbTag tag);
  void start_baseline();
  void drop_l1_entries(BlockIndex block);
  void drop_l2_entry(TlbTag tag);
  std::uint64_t picoseconds(const Cost& cost, std::uint32_t sms) const;
  void count(EntrySize size, const Tally& tally);
  void count_walk(std::uint64_t reads);

  // L1 entries carry the generation of their block, so that dropping a block's entries from all L1s is one increment.
  // Blocks that share a slot lose their L1 entries together.
  static constexpr std::size_t kGenerations = 4096;
  static constexpr std::uint32_t kLastGeneration = (1u << (64 - TlbTag::kBits)) - 1;
  // Blocks that share a slot of `small_entries_` are searched together.
  static constexpr std::size_t kSmallEntrySlots = 4096;

  config::GmmuConfig config_;
  std::uint32_t sm_count_;
  GmmuCounters& counters_;
  std::vector<Tlb> sm_l1_;  // of translate()
  Path actual_, baseline_;
  bool baseline_active_ = false;
  std::vector<std::uint32_t> generations_;
  std::vector<std::uint32_t> small_entries_;  // 4 KB and 64 KB entries in L2, by block
  std::uint64_t stall_fraction_ps_ = 0;       // below a nanosecond, not yet returned
};

}  // namespace uvmsim::gmmu
