// SPDX-License-Identifier: Apache-2.0
// ARC: a list of chunks used once and a list of chunks used again; a miss on a content that left a list lengthens it.
#include <algorithm>

#include "sim/policy/cache_policy.h"
#include "sim/policy/ghost_list.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// T1 and T2 of the paper are kOnce and kAgain; B1 and B2, the ghosts of the two, are once_left_ and again_left_.
class Arc final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "ARC: recency and frequency lists whose shares follow the misses on what left them",
            .source = "Megiddo, Modha, FAST 2003",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  explicit Arc(const PolicyContext& context)
      : CachePolicy(context),
        chunk_count_(context.chunk_count),
        lists_(context.chunk_count, kListCount),
        once_left_(2 * std::size_t{context.chunk_count}),
        again_left_(2 * std::size_t{context.chunk_count}) {}

  void on_freed(ContentIndex content) override {
    once_left_.take(content);
    again_left_.take(content);
  }

 private:
  enum List : std::uint32_t { kOnce, kAgain, kListCount };
  enum class Ghosts : std::uint8_t { kNone, kOnce, kAgain };
  // Fraction bits of target_, and how many of them count: three thirds must add up to one.
  static constexpr unsigned kFraction = 40;
  static constexpr unsigned kExact = 20;

  void miss(ContentIndex content) override {
    const std::size_t once_left = once_left_.size(), again_left = again_left_.size();
    came_from_ = Ghosts::kNone;
    if (once_left_.take(content).has_value()) {
      came_from_ = Ghosts::kOnce;
      target_ = std::min(target_ + step(again_left, once_left), std::uint64_t{chunk_count_} << kFraction);
    } else if (again_left_.take(content).has_value()) {
      came_from_ = Ghosts::kAgain;
      target_ -= std::min(target_, step(once_left, again_left));
    }
  }
  void insert(ChunkId chunk) override { lists_.move_to_back(came_from_ == Ghosts::kNone ? kOnce : kAgain, chunk); }
  void hit(ChunkId chunk) override { lists_.move_to_back(kAgain, chunk); }
  void remove(ChunkId chunk) override { lists_.remove(chunk); }

  ChunkId replace(const EvictionQueries& queries) override {
    const std::size_t once = lists_.size(kOnce) + once_left_.size();
    const std::size_t again = lists_.size(kAgain) + again_left_.size();
    bool remember = true;
    if (came_from_ == Ghosts::kNone && once >= chunk_count_) {
      remember = once_left_.size() > 0;  // otherwise all chunks were used once, and none can be remembered
      if (remember) once_left_.drop_oldest();
    } else if (came_from_ == Ghosts::kNone && once + again >= 2 * std::size_t{chunk_count_} && again_left_.size() > 0) {
      again_left_.drop_oldest();
    }

    const std::uint64_t target = ((target_ >> (kFraction - kExact - 1)) + 1) >> 1;
    const std::uint64_t length = std::uint64_t{lists_.size(kOnce)} << kExact;
    const bool over_target = length > target || (length == target && came_from_ == Ghosts::kAgain);
    const List first = over_target || !remember ? kOnce : kAgain;
    for (const List list : {first, first == kOnce ? kAgain : kOnce}) {
      const ChunkId victim = lists_.take_first_evictable(list, queries);
      if (victim.valid()) {
        if (remember) (list == kOnce ? once_left_ : again_left_).push(content_of(victim));
        return victim;
      }
    }
    return {};
  }

  // The change of the target after a ghost hit in one list: larger if the other list is longer.
  static std::uint64_t step(std::size_t other, std::size_t hit) {
    const std::uint64_t one = std::uint64_t{1} << kFraction;
    return std::max((std::uint64_t{other} << kFraction) / hit, one);
  }

  std::uint32_t chunk_count_;
  ChunkLists lists_;
  GhostList<> once_left_;
  GhostList<> again_left_;
  std::uint64_t target_ = 0;          // target length of kOnce, with kFraction fraction bits
  Ghosts came_from_ = Ghosts::kNone;  // the list that the last missing content had left
};

}  // namespace

UVMSIM_POLICY(arc, Arc);

}  // namespace uvmsim::policy
