// SPDX-License-Identifier: Apache-2.0
// Correlation prefetching: fetches the units that faulted after this unit before, and their successors.
#include <algorithm>
#include <span>
#include <vector>

#include "sim/policy/registry.h"
#include "sim/policy/unit_prefetcher.h"

namespace uvmsim::policy {
namespace {

class Markov final : public UnitPrefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "units that faulted after the faulted one before, and their successors",
            .source = "Markov prefetcher, Joseph and Grunwald, ISCA 1997"};
  }
  static ParameterTable parameters() {
    return {integer("entries", 0, {0, 1 << 24}, "units whose successors are known at once; 0: all of the program's"),
            integer("successors", 4, {1, kMostSuccessors}, "of a unit, the latest"),
            integer("depth", 2, {1, 16}, "2: also the successors' successors, and so on")};
  }

  explicit Markov(const PolicyContext& context)
      : limit_(static_cast<std::size_t>(context.parameters.integer("entries"))),
        successors_(static_cast<std::size_t>(context.parameters.integer("successors"))),
        depth_(context.parameters.integer("depth")) {
    resize(std::max<std::size_t>(limit_, kBigPagesPerBlock));
  }

  void on_freed(BlockIndex block) override {
    const auto first = static_cast<Unit>(block.value * kBigPagesPerBlock);
    for (Unit unit = first; unit < first + kBigPagesPerBlock; ++unit) {
      if (entry(unit).unit == unit) entry(unit) = {};
    }
  }

 private:
  static constexpr std::int64_t kMostSuccessors = 16;
  static constexpr Unit kNone = -1;
  struct Entry {
    Unit unit = kNone;
    std::size_t count = 0;  // of known successors
  };

  // Units are dense from 0 on, so that the table is a vector that doubles.
  std::size_t place_of(Unit unit) {
    const auto place = static_cast<std::size_t>(unit);
    if (limit_ != 0) return place % limit_;
    if (place >= table_.size()) resize(std::max(place + 1, 2 * table_.size()));
    return place;
  }
  Entry& entry(Unit unit) { return table_[place_of(unit)]; }
  // Returns the successors, the latest first.
  std::span<Unit> successors_of(Unit unit) {
    const std::size_t place = place_of(unit);
    return std::span(known_).subspan(place * successors_, table_[place].count);
  }
  void resize(std::size_t entries) {
    table_.resize(entries);
    known_.resize(entries * successors_);
  }

  void learn(Unit unit, Unit successor) {
    Entry& known = entry(unit);
    if (known.unit != unit) known = {unit, 0};
    std::span<Unit> successors = successors_of(unit);
    auto place = std::ranges::find(successors, successor);
    if (place == successors.end()) {
      if (known.count < successors_) ++known.count;
      successors = successors_of(unit);
      place = successors.end() - 1;
      *place = successor;
    }
    std::rotate(successors.begin(), place, place + 1);
  }

  void on_fault(Unit unit) override {
    if (last_ != kNone && last_ != unit) learn(last_, unit);
    last_ = unit;
    // Breadth first: the nearest generation is the most urgent.
    generation_.assign(1, unit);
    for (std::int64_t depth = 0; depth < depth_ && !generation_.empty(); ++depth) {
      next_.clear();
      for (const Unit parent : generation_) {
        if (entry(parent).unit != parent) continue;
        for (const Unit successor : successors_of(parent)) {
          if (next_.size() == kMostPerGeneration) break;
          want_anywhere(successor);
          next_.push_back(successor);
        }
      }
      generation_.swap(next_);
    }
  }

  static constexpr std::size_t kMostPerGeneration = 256;

  std::size_t limit_;         // 0: none
  std::vector<Entry> table_;  // by unit; with a limit, units with the same place displace each other
  std::vector<Unit> known_;   // successors_ places for each of them
  std::size_t successors_;
  std::int64_t depth_;
  Unit last_ = kNone;
  std::vector<Unit> generation_, next_;
};

}  // namespace

UVMSIM_POLICY(markov, Markov);

}  // namespace uvmsim::policy
