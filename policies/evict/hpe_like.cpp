// SPDX-License-Identifier: Apache-2.0
// After HPE: page sets in a chain. Programs that use up their sets get MRU among the old sets, others LRU.
//
// This is not HPE itself: only the abstract of the paper is public. The policy follows a summary of it (page sets with
// touch counters, a chain in old, middle and new parts, three classes of programs, wrong evictions); all numbers and
// the rule that divides the classes are this project's.
#include <algorithm>
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/chunk_groups.h"
#include "sim/policy/ghost_list.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class HpeLike final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "like HPE: page sets; MRU among old, fully used sets for regular programs, else LRU",
            .source = "after Yu et al., HPE, ISPASS 2019 and IEEE TCAD 2020, which are not public: numbers are ours",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("set", 16, {1, 64}, "neighbouring chunks that form a page set"),
            integer("interval", 64, {1, 65536}, "misses after which the parts of the chain move on"),
            real("regular_below", 0.3, {0, 1000}, "irregular sets per regular set up to which a program is regular"),
            real("lru_below", 2, {0, 1000}, "the same up to which an irregular one stays with LRU"),
            integer("wrong_limit", 16, {1, 65536}, "wrong evictions in an interval that change the strategy"),
            integer("jump", 16, {0, 65536}, "sets by which a regular program's search point moves then")};
  }

  explicit HpeLike(const PolicyContext& context)
      : CachePolicy(context),
        chunk_count_(context.chunk_count),
        set_size_(static_cast<unsigned>(context.parameters.integer("set"))),
        interval_(static_cast<std::uint64_t>(context.parameters.integer("interval"))),
        regular_below_(context.parameters.real("regular_below")),
        lru_below_(context.parameters.real("lru_below")),
        wrong_limit_(static_cast<std::uint64_t>(context.parameters.integer("wrong_limit"))),
        jump_(static_cast<std::uint64_t>(context.parameters.integer("jump"))),
        sets_(context.chunk_count, set_size_),
        evicted_(std::size_t{8} * set_size_) {}

  void on_freed(ContentIndex content) override { evicted_.take(content); }

 private:
  enum class Strategy : std::uint8_t { kUndecided, kMru, kLru, kEither };

  void miss(ContentIndex content) override {
    wrong_ += evicted_.take(content).has_value() ? 1 : 0;
    if (++misses_ % interval_ == 0) end_interval();
  }
  void insert(ChunkId chunk) override {
    if (sets_.insert(chunk, content_of(chunk))) touches_[sets_.group_of(chunk).value] = 0;
    touch(chunk);
  }
  void hit(ChunkId chunk) override {
    sets_.use(chunk);
    touch(chunk);
  }
  void touch(ChunkId chunk) {
    const GroupId set = sets_.group_of(chunk);
    ++touches_[set.value];
    last_interval_[set.value] = misses_ / interval_;
  }
  void remove(ChunkId chunk) override { sets_.remove(chunk); }

  ChunkId replace(const EvictionQueries& queries) override {
    if (strategy_ == Strategy::kUndecided) classify();
    ChunkId victim{};
    if (strategy_ == Strategy::kMru || (strategy_ == Strategy::kEither && mru_now_)) {
      victim = youngest_of_the_old(queries);
    }
    for (GroupId set = sets_.oldest(); set.valid() && !victim.valid(); set = sets_.younger(set)) {
      victim = sets_.oldest_evictable(set, queries);
    }
    if (victim.valid()) {
      evicted_.push(content_of(victim));
      sets_.remove(victim);
    }
    return victim;
  }

  // Classifies the program when memory is full for the first time. A set is regular if all its chunks were touched
  // equally often.
  void classify() {
    std::uint64_t regular = 0, irregular = 0;
    for (GroupId set = sets_.oldest(); set.valid(); set = sets_.younger(set)) {
      ++(touches_[set.value] % set_size_ == 0 ? regular : irregular);
    }
    const auto ratio = static_cast<double>(irregular) / static_cast<double>(std::max<std::uint64_t>(regular, 1));
    strategy_ = ratio <= regular_below_ ? Strategy::kMru : ratio <= lru_below_ ? Strategy::kLru : Strategy::kEither;
  }
  void end_interval() {
    if (wrong_ > wrong_limit_) {
      mru_now_ = !mru_now_;
      skipped_ = skipped_ < sets_limit() ? skipped_ + jump_ : 0;
    }
    wrong_ = 0;
  }
  std::uint64_t sets_limit() const { return chunk_count_ / set_size_; }

  // Searches from the youngest set of the old part on, past `skipped_` sets, for the first set that was fully used.
  ChunkId youngest_of_the_old(const EvictionQueries& queries) const {
    const std::uint64_t now = misses_ / interval_;
    std::uint64_t passed = 0;
    for (GroupId set = sets_.youngest(); set.valid(); set = sets_.older(set)) {
      if (last_interval_[set.value] + 2 > now || passed++ < skipped_ || touches_[set.value] < set_size_) continue;
      const ChunkId victim = sets_.oldest_evictable(set, queries);
      if (victim.valid()) return victim;
    }
    return {};
  }

  std::uint32_t chunk_count_;
  unsigned set_size_;
  std::uint64_t interval_;
  double regular_below_, lru_below_;
  std::uint64_t wrong_limit_, jump_;
  ChunkGroups sets_;
  PerChunk<std::uint64_t> touches_, last_interval_;  // by set
  GhostList<> evicted_;
  Strategy strategy_ = Strategy::kUndecided;
  bool mru_now_ = false;       // for Strategy::kEither
  std::uint64_t skipped_ = 0;  // sets of the old part that the search skips for a regular program
  std::uint64_t misses_ = 0, wrong_ = 0;
};

}  // namespace

UVMSIM_POLICY(hpe_like, HpeLike);

}  // namespace uvmsim::policy
