// SPDX-License-Identifier: Apache-2.0
// An evictor that works for every value of each parameter, but fails for one pair of values.
#include "sim/policy/chunk_list.h"
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class BadPair final : public Evictor {
 public:
  static PolicyInfo info() { return {.description = "breaks a rule", .source = "this test"}; }
  static ParameterTable parameters() {
    return {integer("small", 10, {1, 99}, "percent"), integer("threshold", 2, {1, 3}, "hits")};
  }
  explicit BadPair(const PolicyContext& context)
      : lists_(context.chunk_count),
        idle_(context.parameters.integer("small") == 99 && context.parameters.integer("threshold") == 1) {}
  void on_migrated(ChunkId chunk) override { lists_.move_to_back(0, chunk); }
  void on_released(ChunkId chunk) override { lists_.remove(chunk); }
  ChunkId select_victim(const EvictionQueries& queries) override {
    return idle_ ? ChunkId{} : lists_.first_evictable(0, queries);
  }

 private:
  ChunkLists lists_;
  bool idle_;
};

}  // namespace

UVMSIM_POLICY(nonsense, BadPair);
