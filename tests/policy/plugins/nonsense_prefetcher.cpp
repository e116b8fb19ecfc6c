// SPDX-License-Identifier: Apache-2.0
// A prefetcher whose answers depend on the number of instances before it.
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class NonsensePrefetcher final : public Prefetcher {
 public:
  static PolicyInfo info() { return {.description = "remembers what it must not", .source = "this test"}; }
  static ParameterTable parameters() { return {}; }
  explicit NonsensePrefetcher(const PolicyContext&) {}
  PageMask prefetch(const FaultedBlock&) override {
    static unsigned calls = 0;
    return PageMask::range(calls++ % kPagesPerBlock, 1);
  }
};

}  // namespace

UVMSIM_POLICY(nonsense, NonsensePrefetcher);
