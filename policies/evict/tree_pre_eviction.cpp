// SPDX-License-Identifier: Apache-2.0
// Tree-based pre-eviction: when a 64 KB chunk is evicted, every node of the tree over its 2 MB that is then less than
// half full is evicted too.
#include "policies/evict/tree_evictor.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class TreePreEviction final : public TreeEvictor {
 public:
  static PolicyInfo info() {
    return {
        .description = "TBNe: the least recently used 64 KB, and all of a tree node that is less than half full then",
        .source = "tree-based pre-eviction of Ganguly et al., ISCA 2019; US 2022/0197811",
        .information = InformationClass::kD2,
        .granularity = Granularity::kBigPage};
  }
  static ParameterTable parameters() { return {}; }

  explicit TreePreEviction(const PolicyContext& context) : TreeEvictor(context) {}
};

}  // namespace

UVMSIM_POLICY(tree_pre_eviction, TreePreEviction);

}  // namespace uvmsim::policy
