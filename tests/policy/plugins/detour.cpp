// SPDX-License-Identifier: Apache-2.0
// A route policy in a plug-in: it sends all transfers through one GPU where links allow it, and it is notified of
// kernels.
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class Detour final : public Router {
 public:
  static PolicyInfo info() {
    return {.description = "through one GPU", .source = "this test", .information = InformationClass::kD3};
  }
  static ParameterTable parameters() { return {integer("gpu", 1, {0, 15}, "the GPU")}; }

  explicit Detour(const PolicyContext& context) : gpu_(static_cast<unsigned>(context.parameters.integer("gpu"))) {}

  Route route(const Move& move, const RouteQueries& queries) override {
    const Route around{Route::Way::kGpu, gpu_};
    return route_error(around, move, queries).empty() ? around : Route{};
  }

 private:
  unsigned gpu_;
};

}  // namespace

UVMSIM_POLICY(detour, Detour);
