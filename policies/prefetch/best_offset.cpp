// SPDX-License-Identifier: Apache-2.0
// Best-offset prefetching: uses the one distance that would have predicted the most recent faults.
#include <algorithm>
#include <array>
#include <vector>

#include "sim/policy/registry.h"
#include "sim/policy/unit_prefetcher.h"

namespace uvmsim::policy {
namespace {

// Offsets are tested in turn, one per fault: an offset scores when the unit at that distance before the faulted one was
// requested recently, so that a prefetch from there would have been in time. A learning phase ends with a full score or
// after enough rounds; then the best offset is used until the next phase ends.
class BestOffset final : public UnitPrefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "one 64 KB unit at the distance that would have foreseen most recent faults",
            .source = "Michaud, HPCA 2016; sizes as in Pythia's configuration; hits are inferred from faults"};
  }
  static ParameterTable parameters() {
    return {integer("recent", 256, {1, 65536}, "recent requests that are remembered"),
            integer("rounds", 100, {1, 10000}, "most rounds of a learning phase"),
            integer("score_max", 31, {1, 10000}, "the score that ends a learning phase"),
            integer("bad_score", 1, {0, 10000}, "best scores up to this turn prefetching off for the next phase"),
            integer("degree", 1, {1, 64}, "units fetched, at multiples of the offset")};
  }

  explicit BestOffset(const PolicyContext& context)
      : recent_(static_cast<std::size_t>(context.parameters.integer("recent")), kNone),
        rounds_(context.parameters.integer("rounds")),
        score_max_(context.parameters.integer("score_max")),
        bad_score_(context.parameters.integer("bad_score")),
        degree_(context.parameters.integer("degree")) {}

 private:
  static constexpr Unit kNone = -1;
  // The numbers up to 60 with no prime factor above 5.
  static constexpr std::array<Unit, 26> kOffsets = {1,  2,  3,  4,  5,  6,  8,  9,  10, 12, 15, 16, 18,
                                                    20, 24, 25, 27, 30, 32, 36, 40, 45, 48, 50, 54, 60};

  Unit& place(Unit unit) { return recent_[static_cast<std::size_t>(unit) % recent_.size()]; }
  void remember(Unit unit) {
    if (unit >= 0) place(unit) = unit;
  }
  bool remembers(Unit unit) { return unit >= 0 && place(unit) == unit; }

  void on_fault(Unit unit) override {
    // Hits are not visible. A fault just after prefetched units implies that those were used too.
    if (offset_ != 0 && remembers(unit - (degree_ + 1) * offset_)) {
      for (Unit step = 1; step <= degree_; ++step) remember(unit - step * offset_);
    }
    learn(unit);
    remember(unit);
    for (Unit step = 1; step <= degree_ && offset_ != 0; ++step) want(unit + step * offset_);
  }

  void learn(Unit unit) {
    if (remembers(unit - kOffsets[tried_])) ++scores_[tried_];
    const bool full = scores_[tried_] >= score_max_;
    tried_ = (tried_ + 1) % kOffsets.size();
    if (tried_ == 0) ++round_;
    if (!full && round_ < rounds_) return;
    const auto best = std::max_element(scores_.begin(), scores_.end());
    offset_ = *best > bad_score_ ? kOffsets[static_cast<std::size_t>(best - scores_.begin())] : 0;
    scores_.fill(0);
    tried_ = 0;
    round_ = 0;
  }

  std::vector<Unit> recent_;  // by unit; colliding units displace each other
  std::int64_t rounds_, score_max_, bad_score_, degree_;
  std::array<std::int64_t, kOffsets.size()> scores_{};
  std::size_t tried_ = 0;  // the offset that the next fault tests
  std::int64_t round_ = 0;
  Unit offset_ = 1;  // 0: off
};

}  // namespace

UVMSIM_POLICY(best_offset, BestOffset);

}  // namespace uvmsim::policy
