// SPDX-License-Identifier: Apache-2.0
// Delayed migration, for the policy of that name and for those that switch to it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/policy/block_map.h"
#include "sim/policy/migrator.h"

namespace uvmsim::policy {

// A 64 KB unit migrates once its remote accesses reach its threshold, or when it is written.
class DelayedMigrator : public Migrator {
 public:
  // A fixed threshold; a threshold that holds after the first eviction; one that grows with use and round trips.
  enum class Mode : std::uint8_t { kAlways, kOversubscribed, kAdaptive };

  DelayedMigrator(Mode mode, std::uint64_t threshold, std::uint64_t penalty)
      : mode_(mode), threshold_(threshold), penalty_(penalty) {}

  // A fault counts as an access per page. Written pages migrate; read pages migrate at their unit's threshold.
  RestingPages rest(const FaultedPages& faulted) override {
    RestingPages answer;
    Units& units = units_[faulted.block];
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      const PageMask pages = unit_mask(unit);
      const PageMask reads = faulted.reads & pages;
      if (reads.empty()) continue;
      count(units[unit], reads.count());
      if (units[unit].accesses < threshold(units[unit], faulted.memory)) {
        answer.pages |= reads | ((faulted.on_host & pages) - faulted.writes);
      }
    }
    return answer;
  }

  PageMask fetch(const RemoteAccesses& accesses) override {
    PageMask coming;
    const std::uint64_t per_page = accesses.accesses / accesses.pages.count();
    Units& units = units_[accesses.block];
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      const unsigned pages = (accesses.pages & unit_mask(unit)).count();
      if (pages == 0) continue;
      count(units[unit], pages * per_page);
      if (units[unit].accesses >= threshold(units[unit], accesses.memory)) coming |= unit_mask(unit);
    }
    return coming;
  }

  bool on_evicted(BlockIndex block, const PageMask& pages) override {
    Units& units = units_[block];
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      if (!pages.intersects(unit_mask(unit))) continue;
      if (units[unit].round_trips == kMostRoundTrips) halve();
      ++units[unit].round_trips;
    }
    return false;  // the next access faults, and the policy is asked again
  }
  void on_freed(BlockIndex block) override { units_.forget(block); }

  void add_state(StateDigest& digest) const override {
    units_.for_each([&](BlockIndex block, const Units& units) {
      for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
        if (units[unit].accesses == 0 && units[unit].round_trips == 0) continue;
        digest.add(block.value * kBigPagesPerBlock + unit);
        digest.add(std::uint64_t{units[unit].accesses} << 32 | units[unit].round_trips);
      }
    });
  }

 private:
  // The widths of the hardware's word in the paper: 27 and 6 bits.
  static constexpr std::uint32_t kMostAccesses = (1u << 27) - 1, kMostRoundTrips = 63;
  struct Unit {
    std::uint32_t accesses = 0;  // remote accesses since the memory was allocated
    std::uint32_t round_trips = 0;
  };
  using Units = std::array<Unit, kBigPagesPerBlock>;

  void count(Unit& unit, std::uint64_t accesses) {
    if (unit.accesses + accesses > kMostAccesses) halve();
    unit.accesses = static_cast<std::uint32_t>(std::min<std::uint64_t>(unit.accesses + accesses, kMostAccesses));
  }
  void halve() {
    units_.for_each([](BlockIndex, Units& units) {
      for (Unit& unit : units) {
        unit.accesses /= 2;
        unit.round_trips /= 2;
      }
    });
  }

  std::uint64_t threshold(const Unit& unit, const GpuMemoryUse& memory) const {
    if (mode_ == Mode::kAlways) return threshold_;
    if (mode_ == Mode::kOversubscribed) return memory.oversubscribed ? threshold_ : 1;
    if (memory.oversubscribed) return threshold_ * penalty_ * (std::uint64_t{unit.round_trips} + 1);
    return 1 + threshold_ * (memory.chunks - memory.free_chunks) / std::max(memory.chunks, 1u);
  }

  Mode mode_;
  std::uint64_t threshold_, penalty_;
  BlockMap<Units> units_;
};

}  // namespace uvmsim::policy
