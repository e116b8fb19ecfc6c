// SPDX-License-Identifier: Apache-2.0
// HUVM's target: spare memory of the peer with the fewest blocks of which the host has no copy.
#include "policies/route/spare_target.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class MinPending final : public Router {
 public:
  static PolicyInfo info() {
    return {.description =
                "a victim goes to spare memory of the peer where the fewest blocks wait to be saved; all else direct",
            .source = "HUVM's released driver (github.com/casys-kaist/HUVM), uvm_va_block_evict_chunks"};
  }
  static ParameterTable parameters() { return {}; }

  explicit MinPending(const PolicyContext&) {}

  // Prefetches take the GPU's own link ("LPF"); faults of a batch may come over those of peers ("PLF").
  Route route(const Move& move, const RouteQueries& queries) override {
    return move.may_stay && move.cause != MoveCause::kPrefetch ? target_.pick(queries) : Route{};
  }
  void add_state(StateDigest&) const override {}  // the order of turns is not used

 private:
  SpareTarget target_{SpareTarget::Order::kFewestPending};
};

}  // namespace

UVMSIM_POLICY(min_pending, MinPending);

}  // namespace uvmsim::policy
