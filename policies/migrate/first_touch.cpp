// SPDX-License-Identifier: Apache-2.0
// The driver's behaviour: every page that a GPU faults on migrates to it.
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class FirstTouch final : public Migrator {
 public:
  static PolicyInfo info() {
    return {.description = "every page comes to the GPU that faults on it",
            .source = "the UVM driver, uvm_va_block.c (block_select_processor_residency)"};
  }
  static ParameterTable parameters() { return {}; }

  explicit FirstTouch(const PolicyContext&) {}

  RestingPages rest(const FaultedPages&) override { return {}; }
  void add_state(StateDigest&) const override {}  // no state
};

}  // namespace

UVMSIM_POLICY(first_touch, FirstTouch);

}  // namespace uvmsim::policy
