// SPDX-License-Identifier: Apache-2.0
// The driver's behaviour: memory takes the link that joins its ends, and evicted memory goes to the host.
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Direct final : public Router {
 public:
  static PolicyInfo info() {
    return {.description = "the link that joins the two ends, else through the host; what is evicted goes to the host",
            .source = "the UVM driver, uvm_va_block.c (block_copy_resident_pages, uvm_va_block_evict_chunks)"};
  }
  static ParameterTable parameters() { return {}; }

  explicit Direct(const PolicyContext&) {}

  Route route(const Move&, const RouteQueries&) override { return {}; }
  void add_state(StateDigest&) const override {}  // no state
};

}  // namespace

UVMSIM_POLICY(direct, Direct);

}  // namespace uvmsim::policy
