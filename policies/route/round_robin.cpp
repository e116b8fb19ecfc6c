// SPDX-License-Identifier: Apache-2.0
// HUVM's target as in its paper: spare memory of the peers in turn.
#include "policies/route/spare_target.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class RoundRobin final : public Router {
 public:
  static PolicyInfo info() {
    return {.description = "a victim goes to spare memory of the next peer in turn; all else direct",
            .source = "HUVM (Choi et al., USENIX ATC 2022)"};
  }
  static ParameterTable parameters() { return {}; }

  explicit RoundRobin(const PolicyContext&) {}

  // Prefetches take the GPU's own link ("LPF"); faults of a batch may come over those of peers ("PLF").
  Route route(const Move& move, const RouteQueries& queries) override {
    return move.may_stay && move.cause != MoveCause::kPrefetch ? target_.pick(queries) : Route{};
  }
  void add_state(StateDigest& digest) const override { target_.add_state(digest); }

 private:
  SpareTarget target_{SpareTarget::Order::kInTurn};
};

}  // namespace

UVMSIM_POLICY(round_robin, RoundRobin);

}  // namespace uvmsim::policy
