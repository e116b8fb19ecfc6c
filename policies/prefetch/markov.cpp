// Correlation prefetching: what faulted after this unit before, and what after that.
#include <algorithm>
#include <array>
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
    return {integer("entries", 4096, {1, 1 << 24}, "units whose successors are known at once"),
            integer("successors", 4, {1, kMostSuccessors}, "of a unit, the latest"),
            integer("depth", 2, {1, 16}, "2: also the successors' successors, and so on")};
  }

  explicit Markov(const PolicyContext& context)
      : table_(static_cast<std::size_t>(context.parameters.integer("entries"))),
        successors_(static_cast<std::size_t>(context.parameters.integer("successors"))),
        depth_(context.parameters.integer("depth")) {}

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
    std::size_t count = 0;
    std::array<Unit, kMostSuccessors> successors{};  // the latest first
  };

  Entry& entry(Unit unit) { return table_[static_cast<std::size_t>(unit) % table_.size()]; }

  void learn(Unit unit, Unit successor) {
    Entry& known = entry(unit);
    if (known.unit != unit) known = {unit, 0, {}};
    const auto begin = known.successors.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(known.count);
    auto place = std::find(begin, end, successor);
    if (place == end) {
      if (known.count < successors_) ++known.count;
      place = begin + static_cast<std::ptrdiff_t>(known.count) - 1;
      *place = successor;
    }
    std::rotate(begin, place, place + 1);
  }

  void on_fault(Unit unit) override {
    if (last_ != kNone && last_ != unit) learn(last_, unit);
    last_ = unit;
    // Breadth first: the nearest generation is the most urgent.
    generation_.assign(1, unit);
    for (std::int64_t depth = 0; depth < depth_ && !generation_.empty(); ++depth) {
      next_.clear();
      for (const Unit parent : generation_) {
        const Entry& known = entry(parent);
        if (known.unit != parent) continue;
        for (std::size_t i = 0; i < known.count && next_.size() < kMostPerGeneration; ++i) {
          want_anywhere(known.successors[i]);
          next_.push_back(known.successors[i]);
        }
      }
      generation_.swap(next_);
    }
  }

  static constexpr std::size_t kMostPerGeneration = 256;

  std::vector<Entry> table_;  // by unit; a unit displaces the one that shares its place
  std::size_t successors_;
  std::int64_t depth_;
  Unit last_ = kNone;
  std::vector<Unit> generation_, next_;
};

}  // namespace

UVMSIM_POLICY(markov, Markov);

}  // namespace uvmsim::policy
