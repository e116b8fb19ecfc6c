// SPDX-License-Identifier: Apache-2.0
// What the driver does: it takes what is there, up to its batch size, serves it by address and replays for all SMs.
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class DriverBatches final : public Batcher {
 public:
  static PolicyInfo info() {
    return {.description = "what is in the buffer, up to the driver's batch size, by address; all SMs go on",
            .source = "the UVM driver, uvm_gpu_replayable_faults.c"};
  }
  static ParameterTable parameters() { return {}; }

  explicit DriverBatches(const PolicyContext&) {}

  void add_state(StateDigest&) const override {}  // it remembers nothing
};

}  // namespace

UVMSIM_POLICY(driver, DriverBatches);

}  // namespace uvmsim::policy
