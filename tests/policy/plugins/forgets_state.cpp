// SPDX-License-Identifier: Apache-2.0
// A prefetcher that fetches whole blocks until its hundredth answer and nothing afterwards, but whose add_state leaves
// out the count: before that answer, iterations seem to recur.
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class ForgetsState final : public Prefetcher {
 public:
  static PolicyInfo info() { return {.description = "leaves a counter out of its state", .source = "this test"}; }
  static ParameterTable parameters() { return {}; }
  explicit ForgetsState(const PolicyContext&) {}
  PageMask prefetch(const FaultedBlock& block) override {
    if (++batches_ >= 100) return {};
    return PageMask::range(block.first_page, block.end_page - block.first_page);
  }
  void add_state(StateDigest&) const override {}

 private:
  std::uint64_t batches_ = 0;
};

}  // namespace

UVMSIM_POLICY(nonsense, ForgetsState);
