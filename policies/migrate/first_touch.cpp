// SPDX-License-Identifier: Apache-2.0
// What the driver does: every page that a GPU faults on comes to it.
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
  void add_state(StateDigest&) const override {}  // it remembers nothing
};

}  // namespace

UVMSIM_POLICY(first_touch, FirstTouch);

}  // namespace uvmsim::policy
