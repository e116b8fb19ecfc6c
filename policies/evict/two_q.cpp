// SPDX-License-Identifier: Apache-2.0
// 2Q: new chunks pass through a queue; only those that come back soon after leaving it enter the LRU list.
#include "sim/policy/cache_policy.h"
#include "sim/policy/ghost_list.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class TwoQ final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.name = "2q",
            .description = "2Q: a FIFO queue for new chunks, an LRU list for those that came back after leaving it",
            .source = "Johnson, Shasha, VLDB 1994",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("in", 25, {0, 100}, "length of the queue of new chunks (A1in), in percent of the chunks"),
            integer("out", 50, {0, 1000}, "contents remembered after they left it (A1out), in percent of the chunks")};
  }

  explicit TwoQ(const PolicyContext& context)
      : CachePolicy(context),
        longest_queue_(percent_of(context, "in")),
        lists_(context.chunk_count, kListCount),
        left_(percent_of(context, "out")) {}

  void on_freed(ContentIndex content) override { left_.take(content); }

 private:
  enum List : std::uint32_t { kNew, kProven, kListCount };

  static std::uint64_t percent_of(const PolicyContext& context, const char* parameter) {
    return context.chunk_count * static_cast<std::uint64_t>(context.parameters.integer(parameter)) / 100;
  }

  void miss(ContentIndex content) override { came_back_ = left_.take(content).has_value(); }
  void insert(ChunkId chunk) override { lists_.move_to_back(came_back_ ? kProven : kNew, chunk); }
  void hit(ChunkId chunk) override {
    if (lists_.list_of(chunk) == kProven) lists_.move_to_back(kProven, chunk);
  }
  void remove(ChunkId chunk) override { lists_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    const List first = lists_.size(kNew) > longest_queue_ ? kNew : kProven;
    for (const List list : {first, first == kNew ? kProven : kNew}) {
      const ChunkId victim = lists_.take_first_evictable(list, queries);
      if (victim.valid()) {
        if (list == kNew) left_.push(content_of(victim));
        return victim;
      }
    }
    return {};
  }

  std::uint64_t longest_queue_;
  ChunkLists lists_;
  GhostList<> left_;
  bool came_back_ = false;  // whether the last missing content was a ghost
};

}  // namespace

UVMSIM_POLICY(two_q, TwoQ);

}  // namespace uvmsim::policy
