#include "sim/gmmu/gmmu.h"

#include <algorithm>
#include <bit>

#include "sim/common/check.h"
#include "sim/common/error.h"

namespace uvmsim::gmmu {
namespace {

constexpr unsigned kUnitsPerWord = 64 / kPagesPerBigPage;

void check_tlb(const char* level, std::uint32_t entries, std::uint32_t ways) {
  constexpr std::uint32_t kMaxEntries = 1u << 24;
  if (entries == 0 || entries > kMaxEntries) {
    throw_input_error("gmmu.{}_tlb_entries: {}; allowed: 1 to {}", level, entries, kMaxEntries);
  }
  if (ways == 0 || ways > entries || entries % ways != 0) {
    throw_input_error("gmmu.{}_tlb_ways: {}; allowed: divisors of {} entries", level, ways, entries);
  }
}

const config::GmmuConfig& checked(const config::GmmuConfig& config, std::uint32_t sm_count) {
  check_tlb("l1", config.l1_tlb_entries, config.l1_tlb_ways);
  check_tlb("l2", config.l2_tlb_entries, config.l2_tlb_ways);
  if (config.walkers == 0) throw_input_error("gmmu.walkers: 0; allowed: 1 or more");
  for (const std::uint32_t levels : {config.walk_levels_2m, config.walk_levels_4k}) {
    if (levels == 0 || levels > 8) throw_input_error("gmmu.walk_levels: {}; allowed: 1 to 8", levels);
  }
  constexpr std::uint64_t kMaxLatency = 1'000'000;
  for (const std::uint64_t latency : {config.l1_tlb_hit_ns, config.l2_tlb_hit_ns, config.walk_level_ns}) {
    if (latency > kMaxLatency) throw_input_error("gmmu: latency {} ns; allowed: 0 to {}", latency, kMaxLatency);
  }
  if (sm_count == 0 || sm_count > 65536) throw_input_error("sm_count: {}; allowed: 1 to 65536", sm_count);
  return config;
}

}  // namespace

Gmmu::Gmmu(const config::GmmuConfig& config, std::uint32_t sm_count, GmmuCounters& counters)
    : config_(checked(config, sm_count)),
      sm_count_(sm_count),
      counters_(counters),
      sm_l1_(sm_count, Tlb(config.l1_tlb_entries, config.l1_tlb_ways)),
      actual_{Tlb(config.l1_tlb_entries, config.l1_tlb_ways), Tlb(config.l2_tlb_entries, config.l2_tlb_ways),
              WalkCache(config.walk_cache_entries, config.walk_levels_4k, config.walk_levels_2m)},
      baseline_(actual_),
      generations_(kGenerations, 0),
      small_entries_(kSmallEntrySlots, 0) {}

void Gmmu::count(EntrySize size, const Tally& tally) {
  switch (size) {
    case EntrySize::k4K:
      counters_.l1_hits_4k += tally.l1_hits;
      counters_.l2_hits_4k += tally.l2_hits;
      counters_.walks_4k += tally.walks;
      return;
    case EntrySize::k64K:
      counters_.l1_hits_64k += tally.l1_hits;
      counters_.l2_hits_64k += tally.l2_hits;
      counters_.walks_64k += tally.walks;
      return;
    case EntrySize::k2M:
      counters_.l1_hits_2m += tally.l1_hits;
      counters_.l2_hits_2m += tally.l2_hits;
      counters_.walks_2m += tally.walks;
      return;
  }
}

// True if present; fills it otherwise.
bool Gmmu::look_up_l2(Path& path, TlbTag tag) {
  const std::uint64_t set = tag.set_index();
  if (path.l2.touch(set, tag.bits)) return true;
  const TlbTag victim{path.l2.insert(set, tag.bits)};
  if (&path == &actual_) {
    if (tag.size() != EntrySize::k2M) ++small_entries_[tag.block().value % kSmallEntrySlots];
    if (victim.bits != 0 && victim.size() != EntrySize::k2M) {
      --small_entries_[victim.block().value % kSmallEntrySlots];
    }
  }
  return false;
}

void Gmmu::look_up(Path& path, TlbTag tag, Tally& tally, Cost& cost) {
  const std::uint64_t key = l1_key(tag);
  if (path.l1.touch(tag.set_index(), key)) {
    ++tally.l1_hits;
    return;
  }
  path.l1.insert(tag.set_index(), key);
  ++cost.l2_lookups;
  if (look_up_l2(path, tag)) {
    ++tally.l2_hits;
    return;
  }
  ++tally.walks;
  cost.walk_reads += path.walk_cache.walk(tag.block(), tag.size());
}

void Gmmu::count_walk(std::uint64_t reads) {
  counters_.walk_memory_reads += reads;
  counters_.walk_ns += reads * config_.walk_level_ns;
}

Nanoseconds Gmmu::translate(std::uint32_t sm, BlockIndex block, unsigned page, EntrySize size) {
  UVMSIM_CHECK(sm < sm_count_ && page < kPagesPerBlock, "SM {}, page {}", sm, page);
  ++counters_.lookups;
  const TlbTag tag = TlbTag::make(block, page, size);
  Tlb& l1 = sm_l1_[sm];
  const std::uint64_t key = l1_key(tag);
  if (l1.touch(tag.set_index(), key)) {
    count(size, {1, 0, 0});
    return Nanoseconds(0);
  }
  l1.insert(tag.set_index(), key);
  if (size != EntrySize::k2M && !baseline_active_) start_baseline();
  if (baseline_active_) {
    const TlbTag whole = TlbTag::make(block, 0, EntrySize::k2M);
    if (!look_up_l2(baseline_, whole)) baseline_.walk_cache.walk(block, EntrySize::k2M);
  }
  if (look_up_l2(actual_, tag)) {
    count(size, {0, 1, 0});
    return Nanoseconds(static_cast<std::int64_t>(config_.l2_tlb_hit_ns));
  }
  count(size, {0, 0, 1});
  const std::uint32_t reads = actual_.walk_cache.walk(block, size);
  count_walk(reads);
  return Nanoseconds(static_cast<std::int64_t>(config_.l2_tlb_hit_ns + reads * config_.walk_level_ns));
}

// Until now every entry was 2 MB, so what is there is what 2 MB entries would have left.
void Gmmu::start_baseline() {
  baseline_ = actual_;
  baseline_active_ = true;
}

std::uint64_t Gmmu::picoseconds(const Cost& cost, std::uint32_t sms) const {
  return cost.l2_lookups * config_.l2_tlb_hit_ns * 1000 / sms +
         cost.walk_reads * config_.walk_level_ns * 1000 / std::min(config_.walkers, sms);
}

Nanoseconds Gmmu::touch(BlockIndex block, const PageMask& pages, EntrySizes sizes, std::uint32_t sms) {
  UVMSIM_CHECK(sms > 0 && sms <= sm_count_, "{} of {} SMs", sms, sm_count_);
  const unsigned page_count = pages.count();
  if (page_count == 0) return Nanoseconds(0);
  counters_.lookups += page_count;
  Cost cost;
  if (sizes.whole_block) {
    Tally tally;
    tally.l1_hits = page_count - 1;
    look_up(actual_, TlbTag::make(block, 0, EntrySize::k2M), tally, cost);
    count(EntrySize::k2M, tally);
    if (cost.walk_reads != 0) count_walk(cost.walk_reads);
    if (!baseline_active_) return Nanoseconds(0);
  } else {
    if (!baseline_active_) start_baseline();
    Tally big, base;
    for (unsigned w = 0; w < PageMask::kWords; ++w) {
      for (unsigned k = 0; k < kUnitsPerWord; ++k) {
        std::uint64_t unit_pages = (pages.word(w) >> (kPagesPerBigPage * k)) & 0xffff;
        if (unit_pages == 0) continue;
        const unsigned unit = kUnitsPerWord * w + k;
        if (((sizes.big_pages >> unit) & 1) != 0) {
          big.l1_hits += static_cast<unsigned>(std::popcount(unit_pages)) - 1;
          look_up(actual_, TlbTag::make(block, unit * kPagesPerBigPage, EntrySize::k64K), big, cost);
          continue;
        }
        for (; unit_pages != 0; unit_pages &= unit_pages - 1) {
          const unsigned page = unit * kPagesPerBigPage + static_cast<unsigned>(std::countr_zero(unit_pages));
          look_up(actual_, TlbTag::make(block, page, EntrySize::k4K), base, cost);
        }
      }
    }
    count(EntrySize::k64K, big);
    count(EntrySize::k4K, base);
    count_walk(cost.walk_reads);
  }

  Tally baseline_tally;
  Cost baseline_cost;
  look_up(baseline_, TlbTag::make(block, 0, EntrySize::k2M), baseline_tally, baseline_cost);
  const std::uint64_t with = picoseconds(cost, sms), without = picoseconds(baseline_cost, sms);
  if (with <= without) return Nanoseconds(0);
  stall_fraction_ps_ += with - without;
  const std::uint64_t stall = stall_fraction_ps_ / 1000;
  stall_fraction_ps_ %= 1000;
  counters_.stall_ns += stall;
  return Nanoseconds(static_cast<std::int64_t>(stall));
}

void Gmmu::drop_l1_entries(BlockIndex block) {
  std::uint32_t& generation = generations_[block.value % kGenerations];
  if (generation < kLastGeneration) {
    ++generation;
    return;
  }
  // Out of generations: an entry of an old one must not come back to life.
  for (Tlb& l1 : sm_l1_) l1.clear();
  actual_.l1.clear();
  baseline_.l1.clear();
  std::fill(generations_.begin(), generations_.end(), 0);
}

void Gmmu::drop_l2_entry(TlbTag tag) {
  if (actual_.l2.erase(tag.set_index(), tag.bits) && tag.size() != EntrySize::k2M) {
    --small_entries_[tag.block().value % kSmallEntrySlots];
  }
}

void Gmmu::invalidate(BlockIndex block) { invalidate_pages(block, PageMask::all()); }

void Gmmu::invalidate_pages(BlockIndex block, const PageMask& pages) {
  if (pages.empty()) return;
  drop_l1_entries(block);
  const TlbTag whole = TlbTag::make(block, 0, EntrySize::k2M);
  drop_l2_entry(whole);
  if (baseline_active_) baseline_.l2.erase(whole.set_index(), whole.bits);
  if (pages.full()) actual_.walk_cache.invalidate(block);
  // Most blocks never had smaller entries.
  const std::uint32_t& small = small_entries_[block.value % kSmallEntrySlots];
  for (unsigned unit = 0; unit < kBigPagesPerBlock && small != 0; ++unit) {
    if (pages.count_range(unit * kPagesPerBigPage, kPagesPerBigPage) == 0) continue;
    drop_l2_entry(TlbTag::make(block, unit * kPagesPerBigPage, EntrySize::k64K));
  }
  for (unsigned page = pages.next_set(0); page < kPagesPerBlock && small != 0; page = pages.next_set(page + 1)) {
    drop_l2_entry(TlbTag::make(block, page, EntrySize::k4K));
  }
}

void Gmmu::invalidate_all() {
  for (Tlb& l1 : sm_l1_) l1.clear();
  for (Path* path : {&actual_, &baseline_}) {
    path->l1.clear();
    path->l2.clear();
    path->walk_cache.clear();
  }
  std::fill(small_entries_.begin(), small_entries_.end(), 0);
}

}  // namespace uvmsim::gmmu
