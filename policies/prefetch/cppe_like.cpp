// SPDX-License-Identifier: Apache-2.0
// After CPPE's prefetcher: fetches 64 KB at a time, but of units that were evicted mostly unused only the used pages.
//
// This is not CPPE itself: only the abstract of the paper is public. The policy follows a summary of it (pattern
// buffer, match, two schemes of deletion); numbers are this project's. Its evictor is `mhpe_like`.
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class CppeLike final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "64 KB, or the pages of it that were used before it was evicted mostly unused",
            .source = "after Yu et al., CPPE, IPDPS 2020, which is not public: numbers are ours",
            .information = InformationClass::kD2};
  }
  static ParameterTable parameters() {
    return {
        integer("untouched", 8, {1, 16}, "pages of an evicted 64 KB unit that were not used, to remember the others"),
        choice("forget_on", "first", {"first", "any"},
               "which fault outside the pattern ends it: the unit's first after it left, or any"),
        integer("patterns", 4096, {1, 1 << 24}, "units whose pattern is known at once")};
  }

  explicit CppeLike(const PolicyContext& context)
      : untouched_(static_cast<int>(context.parameters.integer("untouched"))),
        forget_on_any_(context.parameters.choice("forget_on") == "any"),
        patterns_(static_cast<std::size_t>(context.parameters.integer("patterns"))) {}

  PageMask prefetch(const FaultedBlock& block) override {
    PageMask pages;
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      const std::uint32_t faulted = bits_of(block.faulted, unit);
      if (faulted == 0) continue;
      const unsigned first = unit * kPagesPerBigPage;
      Pattern& known = pattern(block.block, unit);
      if (known.unit != unit_of(block.block, unit)) {
        pages.set_range(first, kPagesPerBigPage);
        continue;
      }
      if ((faulted & ~std::uint32_t{known.pages}) == 0) {
        for (unsigned page = 0; page < kPagesPerBigPage; ++page) {
          if ((known.pages >> page & 1) != 0) pages.set(first + page);
        }
        known.matched = true;
        continue;
      }
      pages.set_range(first, kPagesPerBigPage);
      if (forget_on_any_ || !known.matched) known = {};
    }
    return pages - block.thrashing;
  }

  void on_evicted(BlockIndex block, const PageMask& gone, const PageMask& touched) override {
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      if (bits_of(gone, unit) == 0) continue;
      const std::uint32_t used = bits_of(touched, unit);
      if (used == 0 || static_cast<int>(kPagesPerBigPage) - std::popcount(used) < untouched_) continue;
      pattern(block, unit) = {unit_of(block, unit), static_cast<std::uint16_t>(used), false};
    }
  }

  void on_freed(BlockIndex block) override {
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      if (pattern(block, unit).unit == unit_of(block, unit)) pattern(block, unit) = {};
    }
  }

 private:
  struct Pattern {
    std::uint64_t unit = ~std::uint64_t{0};
    std::uint16_t pages = 0;
    bool matched = false;  // whether a fault was inside it since
  };

  static std::uint64_t unit_of(BlockIndex block, unsigned unit) { return block.value * kBigPagesPerBlock + unit; }
  Pattern& pattern(BlockIndex block, unsigned unit) {
    return patterns_[static_cast<std::size_t>(unit_of(block, unit)) % patterns_.size()];
  }
  static std::uint32_t bits_of(const PageMask& mask, unsigned unit) {
    return static_cast<std::uint32_t>(mask.word(unit / 4) >> (unit % 4 * kPagesPerBigPage) & 0xffffu);
  }

  int untouched_;
  bool forget_on_any_;
  std::vector<Pattern> patterns_;  // by unit; colliding units displace each other
};

}  // namespace

UVMSIM_POLICY(cppe_like, CppeLike);

}  // namespace uvmsim::policy
