// SPDX-License-Identifier: Apache-2.0
// A planner that never stops: it fetches again each block that it evicted.
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class NonsensePlanner final : public Planner {
 public:
  static PolicyInfo info() { return {.description = "to and fro", .source = "this test"}; }
  static ParameterTable parameters() { return {}; }
  explicit NonsensePlanner(const PolicyContext&) {}
  PlanCommand next(const PlanQueries& queries) override {
    const BlockIndex block(0);
    if (queries.evictable(block)) return {PlanCommand::Kind::kEvict, block, {}};
    return {PlanCommand::Kind::kPrefetch, block, PageMask::all()};
  }
};

}  // namespace

UVMSIM_POLICY(nonsense, NonsensePlanner);
