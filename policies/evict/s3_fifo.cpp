// SPDX-License-Identifier: Apache-2.0
// S3-FIFO: a small queue that most new chunks leave soon, a main queue with second chances, and a queue of ghosts.
#include <algorithm>
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/ghost_list.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class S3Fifo final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "S3-FIFO: a small queue on trial, a main queue with second chances, ghosts of the first",
            .source = "Yang et al., SOSP 2023; as libCacheSim's s3fifo",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("small", 10, {1, 99}, "length of the small queue, in percent of the chunks, at least one chunk"),
            integer("ghosts", 90, {0, 1000}, "contents remembered after they left it, in percent of the chunks"),
            integer("threshold", 2, {1, kMostUses}, "hits in the small queue that take a chunk to the main queue")};
  }

  explicit S3Fifo(const PolicyContext& context)
      : CachePolicy(context),
        main_length_(context.chunk_count - std::max<std::uint64_t>(1, percent_of(context, "small"))),
        threshold_(static_cast<unsigned>(context.parameters.integer("threshold"))),
        queues_(context.chunk_count, kListCount),
        ghosts_(percent_of(context, "ghosts")) {}

  void on_freed(ContentIndex content) override { ghosts_.take(content); }

 private:
  enum List : std::uint32_t { kSmall, kMain, kListCount };
  static constexpr unsigned kMostUses = 3;  // two bits

  static std::uint64_t percent_of(const PolicyContext& context, const char* parameter) {
    return context.chunk_count * static_cast<std::uint64_t>(context.parameters.integer(parameter)) / 100;
  }

  void miss(ContentIndex content) override { came_back_ = ghosts_.take(content).has_value(); }
  void insert(ChunkId chunk) override {
    uses_[chunk.value] = 0;
    queues_.move_to_back(came_back_ ? kMain : kSmall, chunk);
  }
  void hit(ChunkId chunk) override { uses_[chunk.value] = std::min(uses_[chunk.value] + 1, kMostUses); }
  void remove(ChunkId chunk) override { queues_.remove(chunk); }

  ChunkId replace(const EvictionQueries& queries) override {
    ChunkId victim{};
    if (queues_.size(kMain) <= main_length_) victim = leave_small(queries);
    if (!victim.valid()) victim = leave_main(queries);
    if (!victim.valid()) victim = leave_small(queries);    // all of the main queue is pinned
    return victim.valid() ? victim : leave_main(queries);  // the small queue moved all its chunks there
  }
  ChunkId leave_small(const EvictionQueries& queries) {
    for (;;) {
      const ChunkId chunk = queues_.take_first_evictable(kSmall, queries);
      if (!chunk.valid()) return {};
      if (uses_[chunk.value] < threshold_) {
        ghosts_.push(content_of(chunk));
        return chunk;
      }
      uses_[chunk.value] = 0;
      queues_.move_to_back(kMain, chunk);
    }
  }
  ChunkId leave_main(const EvictionQueries& queries) {
    for (;;) {
      const ChunkId chunk = queues_.take_first_evictable(kMain, queries);
      if (!chunk.valid() || uses_[chunk.value] == 0) return chunk;
      --uses_[chunk.value];
      queues_.move_to_back(kMain, chunk);
    }
  }

  std::uint64_t main_length_;
  unsigned threshold_;
  ChunkLists queues_;
  PerChunk<unsigned> uses_;
  GhostList<> ghosts_;
  bool came_back_ = false;  // whether the last missing content was a ghost
};

}  // namespace

UVMSIM_POLICY(s3_fifo, S3Fifo);

}  // namespace uvmsim::policy
