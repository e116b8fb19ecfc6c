// SPDX-License-Identifier: Apache-2.0
// Makes no copies between GPUs: everything goes through the host, as on a server without links between them.
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class HostBounce final : public Router {
 public:
  static PolicyInfo info() {
    return {.description = "memory moves between GPUs through the host alone, also where a link joins them",
            .source = "the UVM driver where GPUs are no peers, uvm_va_block.c (block_copy_resident_pages)"};
  }
  static ParameterTable parameters() { return {}; }

  explicit HostBounce(const PolicyContext&) {}

  Route route(const Move&, const RouteQueries&) override { return {Route::Way::kHost, 0}; }
  void add_state(StateDigest&) const override {}  // no state
};

}  // namespace

UVMSIM_POLICY(host_bounce, HostBounce);

}  // namespace uvmsim::policy
