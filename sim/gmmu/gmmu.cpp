// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/gmmu.h"

#include <algorithm>
#include <bit>

#include "sim/common/check.h"
#include "sim/common/error.h"

namespace uvmsim::gmmu {
namespace {

// Configurations count translations; a TLB keeps them in groups of 16.
std::uint32_t groups_of(std::uint32_t translations) { return (translations + kPagesPerEntry - 1) / kPagesPerEntry; }

Tlb make_tlb(const char* level, std::uint32_t translations, std::uint32_t most, std::uint32_t ways) {
  if (translations == 0 || translations > most) {
    throw_input_error("gmmu.{}_tlb_entries: {}; allowed: 1 to {}", level, translations, most);
  }
  const std::uint32_t groups = groups_of(translations), group_ways = std::min(ways, groups);
  if (ways == 0 || groups % group_ways != 0) {
    throw_input_error("gmmu.{}_tlb_ways: {}; allowed: divisors of the {} groups of 16 of {} entries", level, ways,
                      groups, translations);
  }
  return Tlb(groups, group_ways);
}

const config::GmmuConfig& checked(const config::GmmuConfig& config, std::uint32_t sm_count) {
  if (config.walkers == 0) throw_input_error("gmmu.walkers: 0; allowed: 1 or more");
  for (const std::uint32_t levels : {config.walk_levels_2m, config.walk_levels_4k}) {
    if (levels == 0 || levels > 16) throw_input_error("gmmu.walk_levels: {}; allowed: 1 to 16", levels);
  }
  if (config.walk_cache_entries > 1u << 24) {
    throw_input_error("gmmu.walk_cache_entries: {}; allowed: 0 to {}", config.walk_cache_entries, 1u << 24);
  }
  constexpr std::uint64_t kMaxLatency = 1'000'000;
  for (const std::uint64_t latency : {config.l2_tlb_hit_ns, config.walk_level_ns}) {
    if (latency > kMaxLatency) throw_input_error("gmmu: latency {} ns; allowed: 0 to {}", latency, kMaxLatency);
  }
  if (sm_count == 0 || sm_count > 65536) throw_input_error("sm_count: {}; allowed: 1 to 65536", sm_count);
  return config;
}

// Returns the 16 pages of a 64 KB unit, which are also those of one entry of 4 KB pages. `first` is the unit's first
// page.
std::uint16_t unit_of(const PageMask& pages, unsigned first) {
  return static_cast<std::uint16_t>(pages.word(first / 64) >> (first % 64));
}

}  // namespace

Gmmu::Gmmu(const config::GmmuConfig& config, std::uint32_t sm_count, GmmuCounters& counters, BlockIndex origin)
    : config_(checked(config, sm_count)),
      sm_count_(sm_count),
      counters_(&counters),
      origin_(origin.value),
      sm_l1_(sm_count, L1{make_tlb("l1", config.l1_tlb_entries, 1u << 16, config.l1_tlb_ways)}),
      actual_{sm_l1_.front(),
              make_tlb("l2", config.l2_tlb_entries, 1u << 24, config.l2_tlb_ways),
              {},
              WalkCache(groups_of(config.walk_cache_entries), config.walk_levels_4k, config.walk_levels_2m)},
      baseline_(actual_) {}

void Gmmu::count(EntrySize size, const Tally& tally) {
  using C = GmmuCounters;
  static constexpr std::uint64_t C::*kL1Hits[] = {&C::l1_hits_4k, &C::l1_hits_64k, &C::l1_hits_2m};
  static constexpr std::uint64_t C::*kL2Hits[] = {&C::l2_hits_4k, &C::l2_hits_64k, &C::l2_hits_2m};
  static constexpr std::uint64_t C::*kWalks[] = {&C::walks_4k, &C::walks_64k, &C::walks_2m};
  const auto of_size = static_cast<std::size_t>(size);
  counters_->*kL1Hits[of_size] += tally.l1_hits;
  counters_->*kL2Hits[of_size] += tally.l2_hits;
  counters_->*kWalks[of_size] += tally.walks;
}

void Gmmu::count_walks(const Cost& cost) {
  counters_->walk_memory_reads += cost.memory_reads;
  counters_->walk_ns += cost.walks * kCachedWalkNs + cost.memory_reads * config_.walk_level_ns;
}

// Looks up the pages of a group: a hit if all of them are valid. Misses are filled on the way back.
void Gmmu::look_up(L1& l1, Path& path, const Access& access, Tally& tally, Cost& cost) {
  const std::uint64_t tag = access.tag.bits, set = access.tag.set_index();
  if (l1.epoch != epoch_) {
    l1.tlb.clear();
    l1.epoch = epoch_;
  }
  if ((l1.tlb.touch(set, tag) & access.pages) == access.pages) {
    ++tally.l1_hits;
    return;
  }
  ++cost.l2_lookups;
  std::uint16_t valid = path.l2.touch(set, tag);
  if ((valid & access.pages) == access.pages) {
    ++tally.l2_hits;
  } else {
    ++tally.walks;
    ++cost.walks;
    cost.memory_reads += path.walk_cache.walk(access.block, access.tag, access.pages);
    // A walk fetches the whole line. Pages that were invalidated since the last walk stay invalid until they are
    // touched.
    const std::uint16_t pages = valid == 0 ? kAllPages : access.pages;
    path.l2_small.removed(path.l2.fill(set, tag, pages));
    if (valid == 0) path.l2_small.added(tag);
    valid = static_cast<std::uint16_t>(valid | pages);
  }
  l1.tlb.fill(set, tag, valid);
}

Nanoseconds Gmmu::translate(std::uint32_t sm, BlockIndex global, unsigned page, EntrySize size) {
  const BlockIndex block = local(global);
  UVMSIM_CHECK(sm < sm_count_ && page < kPagesPerBlock, "SM {}, page {}", sm, page);
  ++counters_->lookups;
  if (size != EntrySize::k2M && !baseline_active_) start_baseline();
  Tally tally;
  Cost cost;
  look_up(sm_l1_[sm], actual_, {block, TlbTag::make(block, page, size), TlbTag::page_bit(block, page, size)}, tally,
          cost);
  count(size, tally);
  if (cost.l2_lookups == 0) return Nanoseconds(0);
  if (cost.walks != 0) count_walks(cost);
  if (baseline_active_) {
    // Only the entries that bulk touches will find matter.
    Tally ignored;
    Cost ignored_cost;
    look_up(baseline_.l1, baseline_,
            {block, TlbTag::make(block, 0, EntrySize::k2M), TlbTag::page_bit(block, 0, EntrySize::k2M)}, ignored,
            ignored_cost);
  }
  return Nanoseconds(static_cast<std::int64_t>(config_.l2_tlb_hit_ns + cost.walks * kCachedWalkNs +
                                               cost.memory_reads * config_.walk_level_ns));
}

// Until now every entry was 2 MB, so the present content is that of the baseline.
void Gmmu::start_baseline() {
  baseline_ = actual_;
  baseline_active_ = true;
}

// Latencies overlap between SMs and between the misses of one SM; memory reads of walks occupy a walker each.
std::uint64_t Gmmu::picoseconds(const Cost& cost, std::uint32_t sms) const {
  const std::uint64_t misses = std::uint64_t{sms} * kMissesPerSm;
  const std::uint64_t walkers = std::min<std::uint64_t>(config_.walkers, misses);
  return (cost.l2_lookups * config_.l2_tlb_hit_ns + cost.walks * kCachedWalkNs) * 1000 / misses +
         cost.memory_reads * config_.walk_level_ns * 1000 / walkers;
}

// Handles blocks without a 2 MB entry: at most 2 groups of 64 KB entries and 32 groups of 4 KB entries.
void Gmmu::touch_small_entries(BlockIndex block, const PageMask& pages, std::uint32_t big_pages, Cost& cost) {
  Tally big, base;
  for (unsigned half = 0; half < 2; ++half) {
    unsigned big_touched = 0;
    std::uint16_t units = 0;
    for (unsigned i = 0; i < kPagesPerEntry; ++i) {
      const unsigned unit = half * kPagesPerEntry + i, first = unit * kPagesPerBigPage;
      const std::uint16_t touched = unit_of(pages, first);
      if (touched == 0) continue;
      if (((big_pages >> unit) & 1) != 0) {
        big_touched += static_cast<unsigned>(std::popcount(touched));
        units = static_cast<std::uint16_t>(units | (1u << i));
      } else {
        base.l1_hits += static_cast<unsigned>(std::popcount(touched)) - 1;
        look_up(actual_.l1, actual_, {block, TlbTag::make(block, first, EntrySize::k4K), touched}, base, cost);
      }
    }
    if (units == 0) continue;
    big.l1_hits += big_touched - 1;
    const unsigned first = half * kPagesPerEntry * kPagesPerBigPage;
    look_up(actual_.l1, actual_, {block, TlbTag::make(block, first, EntrySize::k64K), units}, big, cost);
  }
  count(EntrySize::k64K, big);
  count(EntrySize::k4K, base);
}

Nanoseconds Gmmu::touch(BlockIndex global, const PageMask& pages, EntrySizes sizes, std::uint32_t sms) {
  const BlockIndex block = local(global);
  UVMSIM_CHECK(sms > 0 && sms <= sm_count_, "{} of {} SMs", sms, sm_count_);
  const unsigned page_count = pages.count();
  if (page_count == 0) return Nanoseconds(0);
  counters_->lookups += page_count;
  const Access whole{block, TlbTag::make(block, 0, EntrySize::k2M), TlbTag::page_bit(block, 0, EntrySize::k2M)};
  Cost cost;
  if (sizes.whole_block) {
    Tally tally;
    tally.l1_hits = page_count - 1;
    look_up(actual_.l1, actual_, whole, tally, cost);
    count(EntrySize::k2M, tally);
  } else {
    if (!baseline_active_) start_baseline();
    touch_small_entries(block, pages, sizes.big_pages, cost);
  }
  if (cost.walks != 0) count_walks(cost);
  if (!baseline_active_) return Nanoseconds(0);

  Tally ignored;
  Cost baseline_cost;
  look_up(baseline_.l1, baseline_, whole, ignored, baseline_cost);
  const std::uint64_t with = picoseconds(cost, sms), without = picoseconds(baseline_cost, sms);
  if (with <= without) return Nanoseconds(0);
  stall_fraction_ps_ += with - without;
  const std::uint64_t stall = stall_fraction_ps_ / 1000;
  stall_fraction_ps_ %= 1000;
  counters_->stall_ns += stall;
  return Nanoseconds(static_cast<std::int64_t>(stall));
}

void Gmmu::invalidate_entry(Path& path, TlbTag tag, std::uint16_t pages) {
  if (path.l2.erase(tag.set_index(), tag.bits, pages)) path.l2_small.removed(tag.bits);
  path.walk_cache.invalidate(tag, pages);
}

void Gmmu::invalidate(BlockIndex block) { invalidate_pages(block, PageMask::all()); }

void Gmmu::invalidate_pages(BlockIndex global, const PageMask& pages) {
  const BlockIndex block = local(global);
  if (pages.empty()) return;
  ++epoch_;
  const TlbTag whole = TlbTag::make(block, 0, EntrySize::k2M);
  const std::uint16_t whole_bit = TlbTag::page_bit(block, 0, EntrySize::k2M);
  invalidate_entry(actual_, whole, whole_bit);
  if (!baseline_active_) return;  // no smaller entry was ever seen
  invalidate_entry(baseline_, whole, whole_bit);
  const auto held = [&](EntrySize size) {
    return actual_.l2_small.any(block, size) || actual_.walk_cache.may_hold(block, size);
  };
  const bool base = held(EntrySize::k4K), big = held(EntrySize::k64K);
  if (!base && !big) return;
  for (unsigned half = 0; half < 2; ++half) {
    std::uint16_t units = 0;
    for (unsigned i = 0; i < kPagesPerEntry; ++i) {
      const unsigned first = (half * kPagesPerEntry + i) * kPagesPerBigPage;
      const std::uint16_t dropped = unit_of(pages, first);
      if (dropped == 0) continue;
      units = static_cast<std::uint16_t>(units | (1u << i));
      if (base) invalidate_entry(actual_, TlbTag::make(block, first, EntrySize::k4K), dropped);
    }
    if (units == 0 || !big) continue;
    const unsigned first = half * kPagesPerEntry * kPagesPerBigPage;
    invalidate_entry(actual_, TlbTag::make(block, first, EntrySize::k64K), units);
  }
}

void Gmmu::add_state(StateDigest& digest) const {
  const auto add_l1 = [&](const L1& l1) {
    digest.add(std::uint64_t{l1.epoch == epoch_});
    if (l1.epoch == epoch_) l1.tlb.add_state(digest);  // otherwise it is empty
  };
  const auto add_path = [&](const Path& path) {  // the entries counted by `l2_small` are in `l2`
    add_l1(path.l1);
    path.l2.add_state(digest);
    path.walk_cache.add_state(digest);
  };
  for (const L1& l1 : sm_l1_) add_l1(l1);
  add_path(actual_);
  digest.add(std::uint64_t{baseline_active_});
  if (baseline_active_) add_path(baseline_);
}

}  // namespace uvmsim::gmmu
