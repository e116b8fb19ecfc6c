// Delayed migration: a 64 KB unit comes when it is read often enough from afar, or written.
#include <algorithm>
#include <array>
#include <string>

#include "sim/policy/block_map.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Delayed final : public Migrator {
 public:
  static PolicyInfo info() {
    return {.description = "a 64 KB unit comes once it was read often enough on the host, or is written",
            .source = "Ganguly et al., IPDPS 2020, as in UVMSmart's should_cause_page_migration",
            .information = InformationClass::kD1};
  }
  static ParameterTable parameters() {
    return {
        choice("mode", "adaptive", {"always", "oversubscribed", "adaptive"},
               "a fixed threshold; one that holds after the first eviction; one that grows with use and round trips"),
        integer("threshold", 8, {1, 65535}, "accesses of 128 bytes to a unit that bring it"),
        integer("penalty", 2, {1, 1024}, "adaptive: times the threshold per round trip, once memory is full")};
  }

  explicit Delayed(const PolicyContext& context)
      : mode_(mode_of(context.parameters.choice("mode"))),
        threshold_(static_cast<std::uint64_t>(context.parameters.integer("threshold"))),
        penalty_(static_cast<std::uint64_t>(context.parameters.integer("penalty"))) {}

  // A fault is an access per page. What is written comes; what is read comes with its unit's threshold.
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
    return false;  // the next access faults, and is asked for again
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
  enum class Mode : std::uint8_t { kAlways, kOversubscribed, kAdaptive };
  // As wide as the hardware's word in the paper: 27 and 6 bits.
  static constexpr std::uint32_t kMostAccesses = (1u << 27) - 1, kMostRoundTrips = 63;
  struct Unit {
    std::uint32_t accesses = 0;  // from afar, since the memory was allocated
    std::uint32_t round_trips = 0;
  };
  using Units = std::array<Unit, kBigPagesPerBlock>;

  static Mode mode_of(const std::string& text) {
    return text == "always" ? Mode::kAlways : text == "adaptive" ? Mode::kAdaptive : Mode::kOversubscribed;
  }

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

}  // namespace

UVMSIM_POLICY(delayed, Delayed);

}  // namespace uvmsim::policy
