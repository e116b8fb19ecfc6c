// SPDX-License-Identifier: Apache-2.0
// Evictors that violate one rule each; kNonsense selects the rule.
#include <stdexcept>

#include "sim/policy/chunk_list.h"
#include "sim/policy/registry.h"
#include "tests/policy/plugins/nonsense.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class NonsenseEvictor final : public Evictor {
 public:
  static PolicyInfo info() { return {.description = "breaks a rule", .source = "this test"}; }
  static ParameterTable parameters() { return {integer("depth", 1, {0, 8}, "levels")}; }

  explicit NonsenseEvictor(const PolicyContext& context) : lists_(context.chunk_count) {
    static std::uint64_t instances = 0;  // wrong: a policy's state must not outlive the instance
    number_ = ++instances;
    if (kNonsense == kBadEdge && context.parameters.integer("depth") == 0) {
      throw std::runtime_error("depth 0 was not thought of");
    }
  }

  void on_migrated(ChunkId chunk) override { lists_.move_to_back(0, chunk); }
  void on_released(ChunkId chunk) override { lists_.remove(chunk); }
  ChunkId select_victim(const EvictionQueries& queries) override {
    switch (kNonsense) {
      case kOutOfRange:
        return ChunkId{1'000'000};
      case kPinned:
        return lists_.front(0);
      case kNobody:
        return {};
      case kAnotherEachTime:
        return number_ % 2 == 0 ? lists_.first_evictable(0, queries) : lists_.last_evictable(0, queries);
      case kByAddress:  // wrong: the order depends on addresses, as in a hash table of pointers
        return (reinterpret_cast<std::uintptr_t>(this) * 0x9e3779b97f4a7c15u >> (++answers_ % 32)) % 2 == 0
                   ? lists_.first_evictable(0, queries)
                   : lists_.last_evictable(0, queries);
      case kThrows:
        throw std::out_of_range("no such thing");
      case kCrashes:
        *reinterpret_cast<volatile int*>(std::uintptr_t{8}) = 1;
        break;
      case kEndless:
        for (volatile bool forever = true; forever;) {
        }
        break;
      case kExits:
        std::quick_exit(0);
      case kTooEarly:
      case kBadEdge:
        break;
    }
    return lists_.first_evictable(0, queries);
  }
  ChunkId select_early_victim(const EvictionQueries&) override {
    return kNonsense == kTooEarly ? ChunkId{0} : ChunkId{};
  }

 private:
  ChunkLists lists_;
  std::uint64_t number_ = 0, answers_ = 0;
};

}  // namespace

UVMSIM_POLICY(nonsense, NonsenseEvictor);
