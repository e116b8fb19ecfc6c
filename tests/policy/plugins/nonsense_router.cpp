// SPDX-License-Identifier: Apache-2.0
// A router that routes all transfers through a GPU that does not exist and keeps a count of them across instances.
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class NonsenseRouter final : public Router {
 public:
  static PolicyInfo info() { return {.description = "nowhere", .source = "this test"}; }
  static ParameterTable parameters() { return {boolean("far", true, "GPU 99 instead of now and then the host")}; }
  explicit NonsenseRouter(const PolicyContext& context) : far_(context.parameters.boolean("far")) {}
  Route route(const Move&, const RouteQueries&) override {
    if (far_) return {Route::Way::kGpu, 99};
    static int asked = 0;
    return {++asked % 7 == 0 ? Route::Way::kHost : Route::Way::kDirect, 0};
  }

 private:
  bool far_;
};

}  // namespace

UVMSIM_POLICY(nonsense, NonsenseRouter);
