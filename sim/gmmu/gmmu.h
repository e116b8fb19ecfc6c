// SPDX-License-Identifier: Apache-2.0
// The translation side of a GPU's MMU: an L1 TLB per SM, a shared L2 TLB, a page-walk cache and page walkers.
//
// It decides nothing about residency: callers translate pages that are mapped. Two ways in:
//   translate()  one touch of one page by one SM, exact at every level; for a lone thread or a pointer chase
//   touch()      pages of one block touched by many SMs of a kernel at once; cost per entry, not per page
// README.md of this folder states what touch() approximates and where the figures come from.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/units.h"
#include "sim/config/system.h"
#include "sim/events/counters.h"
#include "sim/gmmu/entry_size.h"
#include "sim/gmmu/small_entry_count.h"
#include "sim/gmmu/tlb.h"
#include "sim/gmmu/walk_cache.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::gmmu {

class Gmmu {
 public:
  // The configuration counts single translations (`*_entries`); TLBs and walk cache keep them in groups of 16, the last
  // one padded, and `*_ways` are groups per set, at most all of them. `counters` must outlive the Gmmu. `origin` is the
  // block at which the program's virtual addresses begin. Throws InputError naming the key when a TLB is empty or its
  // ways do not divide its groups, or without a walker or an SM.
  Gmmu(const config::GmmuConfig& config, std::uint32_t sm_count, GmmuCounters& counters,
       BlockIndex origin = BlockIndex(0));

  // SM `sm` (< sm_count) touches one mapped page. Returns the latency added to an L1 hit: 0, or the L2 latency, or
  // that and the walk. Counts one lookup; never adds to stall_ns.
  Nanoseconds translate(std::uint32_t sm, BlockIndex block, unsigned page, EntrySize size);

  // Charges for `sms` SMs (1..sm_count) that together touch the mapped `pages` of one block. Counts one lookup per
  // page. Returns the time this adds to the kernel beyond the same touches with every block mapped by 2 MB entries,
  // which recorded durations contain; never negative, 0 while all entries seen are 2 MB. Fractions of a nanosecond
  // carry over, so the sum over calls is exact. Adds the result to stall_ns.
  Nanoseconds touch(BlockIndex block, const PageMask& pages, EntrySizes sizes, std::uint32_t sms);

  // Called after the driver unmapped, evicted, or changed permissions of the block: no level translates it any more.
  void invalidate(BlockIndex block);
  // Does the same for some of its pages. Other pages stay in L2 and the walk cache. Either call empties every L1.
  void invalidate_pages(BlockIndex block, const PageMask& pages);

  // Counts for another process, whose kernels the GPU now runs. `counters` must outlive the Gmmu.
  void count_for(GmmuCounters& counters) { counters_ = &counters; }

  // Drops the accumulated fraction of a nanosecond, so that a repeated iteration begins as the one before did.
  void drop_fraction() { stall_fraction_ps_ = 0; }
  // Adds the state that the next repetition begins with, without the fraction that it drops.
  void add_state(StateDigest& digest) const;

  std::uint32_t sm_count() const { return sm_count_; }

 private:
  // All L1s are emptied in one step, by comparing epochs.
  struct L1 {
    Tlb tlb;
    std::uint64_t epoch = 0;
  };
  // One path through the MMU. Bulk touches use `actual_`; `baseline_` is the path's content if every block were mapped
  // by 2 MB entries, and is maintained only once an entry of another size has been seen.
  struct Path {
    L1 l1;
    Tlb l2;
    SmallEntryCount l2_small;
    WalkCache walk_cache;
  };
  // The cost of the entries missing from L1, before it is divided over SMs and walkers.
  struct Cost {
    std::uint64_t l2_lookups = 0, walks = 0, memory_reads = 0;
  };
  // Counts for pages of one size.
  struct Tally {
    std::uint64_t l1_hits = 0, l2_hits = 0, walks = 0;
  };
  // Pages of one group.
  struct Access {
    BlockIndex block;
    TlbTag tag;
    std::uint16_t pages;  // bits within the group
  };

  // Returns the block number within the program's addresses. (Blocks of other programs, which this program never maps,
  // get numbers that nothing else has.)
  BlockIndex local(BlockIndex block) const {
    constexpr std::uint64_t kNameBits = (std::uint64_t{1} << 36) - 1;
    return BlockIndex((block.value - origin_) & kNameBits);
  }
  void look_up(L1& l1, Path& path, const Access& access, Tally& tally, Cost& cost);
  void touch_small_entries(BlockIndex block, const PageMask& pages, std::uint32_t big_pages, Cost& cost);
  void start_baseline();
  void invalidate_entry(Path& path, TlbTag tag, std::uint16_t pages);
  std::uint64_t picoseconds(const Cost& cost, std::uint32_t sms) const;
  void count(EntrySize size, const Tally& tally);
  void count_walks(const Cost& cost);

  // A walk that needs no memory read. Measured on H200s: 52 ns on two, 81 ns on a third.
  static constexpr std::uint64_t kCachedWalkNs = 52;
  // L1 misses that one SM has outstanding at a time. Measured: 1.3 to 3.4, from latency and throughput of misses.
  static constexpr std::uint32_t kMissesPerSm = 2;

  config::GmmuConfig config_;
  std::uint32_t sm_count_;
  GmmuCounters* counters_;
  std::uint64_t origin_;
  std::vector<L1> sm_l1_;  // for translate()
  Path actual_, baseline_;
  bool baseline_active_ = false;
  std::uint64_t epoch_ = 0;
  std::uint64_t stall_fraction_ps_ = 0;  // below a nanosecond, not yet charged
};

}  // namespace uvmsim::gmmu
