// SPDX-License-Identifier: Apache-2.0
// Fetches whole 2 MB blocks: the first fault on a block fetches all of it.
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class AlwaysTwoMegabytes final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "the whole 2 MB block with its first fault",
            .source = "always_max of gpu_ext, arXiv 2512.12615"};
  }
  static ParameterTable parameters() { return {}; }

  explicit AlwaysTwoMegabytes(const PolicyContext&) {}

  PageMask prefetch(const FaultedBlock& block) override {
    return PageMask::range(block.first_page, block.end_page - block.first_page) - block.thrashing;
  }

  void add_state(StateDigest&) const override {}  // no state
};

}  // namespace

UVMSIM_POLICY(always_2mb, AlwaysTwoMegabytes);

}  // namespace uvmsim::policy
