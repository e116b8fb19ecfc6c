// SPDX-License-Identifier: Apache-2.0
// A plug-in whose name is already used.
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

struct SecondTree final : Prefetcher {
  static PolicyInfo info() { return {.name = "tree", .description = "not the tree", .source = "this test"}; }
  static ParameterTable parameters() { return {}; }
  explicit SecondTree(const PolicyContext&) {}
  PageMask prefetch(const FaultedBlock&) override { return {}; }
};

}  // namespace

UVMSIM_POLICY(second_tree, SecondTree);
