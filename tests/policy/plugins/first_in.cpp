// SPDX-License-Identifier: Apache-2.0
// A plug-in that works: it evicts the chunk that was allocated first.
#include "sim/policy/chunk_list.h"
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class FirstIn final : public Evictor {
 public:
  static PolicyInfo info() { return {.description = "first in, first out", .source = "this test"}; }
  static ParameterTable parameters() { return {integer("skip", 0, {0, 3}, "chunks to pass over")}; }

  explicit FirstIn(const PolicyContext& context)
      : lists_(context.chunk_count), skip_(context.parameters.integer("skip")) {}

  void on_migrated(ChunkId chunk) override {
    if (!lists_.contains(chunk)) lists_.move_to_back(0, chunk);
  }
  void on_released(ChunkId chunk) override { lists_.remove(chunk); }
  ChunkId select_victim(const EvictionQueries& queries) override {
    ChunkId victim = lists_.first_evictable(0, queries);
    for (std::int64_t i = 0; i < skip_ && victim.valid(); ++i) victim = lists_.next(victim);
    return victim;
  }

 private:
  ChunkLists lists_;
  std::int64_t skip_;
};

}  // namespace

UVMSIM_POLICY(first_in, FirstIn);
