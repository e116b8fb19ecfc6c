// SPDX-License-Identifier: Apache-2.0
// Evicts the chunk of a random sample that a trained regressor expects to be used last.
//
// The policy follows Learning Relaxed Belady (Song et al., NSDI 2020), which predicts the time to the next request from
// the times between the last ones and evicts from a sample. Here the regressor is a sum of three integer tables (age
// and last gap together, the gap before, the number of uses), trained ahead of time; time counts uses of chunks.
// analysis/train_policies.py makes the tables.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "policies/evict/learned_reuse_weights.h"
#include "policies/weights.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class LearnedReuse final : public Evictor {
 public:
  static PolicyInfo info() {
    return {.description = "the chunk of a sample whose next use a trained model expects last",
            .source =
                "Learning Relaxed Belady, Song et al., NSDI 2020; trained ahead of time, with tables instead of trees",
            .information = InformationClass::kD2,
            .decision_cost = Nanoseconds(1000)};
  }
  static ParameterTable parameters() {
    return {
        path("weights", "integers, one a line, as analysis/train_policies.py --text writes them; none: the built-in"),
        integer("sample", 64, {1, 4096}, "chunks that a victim is chosen from")};
  }

  explicit LearnedReuse(const PolicyContext& context)
      : weights_(weights_of(context.parameters, "weights", kReuseWeights)),
        sample_(static_cast<std::uint32_t>(context.parameters.integer("sample"))),
        random_(context.random),
        chunk_count_(context.chunk_count) {}

  void on_allocated(ChunkId chunk, ContentIndex content) override {
    Chunk& taken = chunks_[chunk.value];
    taken = {.content = content, .state = State::kEmpty};
    use(taken);
  }
  void on_migrated(ChunkId chunk) override { chunks_[chunk.value].state = State::kUsed; }
  void on_emptied(ChunkId chunk) override { chunks_[chunk.value].state = State::kEmpty; }
  void on_released(ChunkId chunk) override { chunks_[chunk.value].state = State::kFree; }
  void on_freed(ContentIndex content) override { history_.erase(content.value); }
  void on_touched(ChunkId chunk) override { use(chunks_[chunk.value]); }

  // Takes the first evictable chunks from a random place on as the sample. Empty chunks are evicted first.
  ChunkId select_victim(const EvictionQueries& queries) override {
    const auto start = static_cast<std::uint32_t>(random_.below(chunk_count_));
    ChunkId best;
    std::int64_t latest = 0;
    std::uint32_t seen = 0;
    for (std::uint32_t i = 0; i < chunk_count_ && seen < sample_; ++i) {
      const ChunkId chunk{static_cast<std::uint32_t>((std::uint64_t{start} + i) % chunk_count_)};
      if (chunk.value >= chunks_.size()) continue;
      const Chunk& candidate = chunks_[chunk.value];
      if (candidate.state == State::kFree || !queries.evictable(chunk)) continue;
      if (candidate.state == State::kEmpty) return chunk;
      ++seen;
      const std::int64_t expected = next_use(candidate);
      if (best.valid() && expected <= latest) continue;
      best = chunk;
      latest = expected;
    }
    return best;
  }

 private:
  static constexpr unsigned kBuckets = 20, kCounts = 8;
  static constexpr unsigned kPairs = 1, kBefore = kPairs + kBuckets * kBuckets, kCount = kBefore + kBuckets;
  static_assert(std::size(kReuseWeights) == kCount + kCounts);

  enum class State : std::uint8_t { kFree, kEmpty, kUsed };
  // The uses of a content, in memory or not.
  struct Uses {
    std::uint64_t last = 0, gap = 0, before = 0;
    std::uint32_t count = 0;
  };
  struct Chunk {
    ContentIndex content;
    State state = State::kFree;
  };

  static unsigned bucket(std::uint64_t value, unsigned buckets) {
    return std::min(static_cast<unsigned>(std::bit_width(value)), buckets - 1);
  }

  void use(Chunk& chunk) {
    Uses& uses = history_[chunk.content.value];
    ++clock_;
    if (uses.count != 0) {
      uses.before = uses.gap;
      uses.gap = clock_ - uses.last;
    }
    uses.last = clock_;
    ++uses.count;
  }
  std::int64_t next_use(const Chunk& chunk) const {
    const auto found = history_.find(chunk.content.value);
    const Uses uses = found == history_.end() ? Uses{} : found->second;
    return std::int64_t{
               weights_[kPairs + bucket(clock_ - uses.last, kBuckets) * kBuckets + bucket(uses.gap, kBuckets)]} +
           weights_[kBefore + bucket(uses.before, kBuckets)] + weights_[kCount + bucket(uses.count, kCounts)];
  }

  const std::vector<std::int32_t> weights_;
  const std::uint32_t sample_;
  Random random_;
  const std::uint32_t chunk_count_;
  PerChunk<Chunk> chunks_;
  std::unordered_map<std::uint64_t, Uses> history_;  // by content; only looked up
  std::uint64_t clock_ = 0;                          // number of uses so far
};

}  // namespace

UVMSIM_POLICY(learned_reuse, LearnedReuse);

}  // namespace uvmsim::policy
