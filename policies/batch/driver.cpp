// SPDX-License-Identifier: Apache-2.0
// The driver's batches: it takes the faults that are there, up to its batch size, serves them by address and replays
// for all SMs.
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

  void add_state(StateDigest&) const override {}  // no state
};

}  // namespace

UVMSIM_POLICY(driver, DriverBatches);

}  // namespace uvmsim::policy
