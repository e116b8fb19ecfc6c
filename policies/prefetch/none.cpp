// SPDX-License-Identifier: Apache-2.0
// Demand paging: a fault fetches its own unit and nothing else.
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class None final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "demand only: what faulted, in units of 4 KB, 64 KB or 2 MB",
            .source =
                "NVIDIA UVM 580 with uvm_perf_prefetch_enable=0 (4k); on-demand migration of Ganguly et al., "
                "ISCA 2019"};
  }
  static ParameterTable parameters() {
    return {choice("granularity", "4k", {"4k", "64k", "2m"}, "the unit that one faulted page brings in")};
  }

  explicit None(const PolicyContext& context)
      : big_pages_(context.parameters.choice("granularity") == "64k"),
        whole_blocks_(context.parameters.choice("granularity") == "2m") {}

  PageMask prefetch(const FaultedBlock& block) override {
    // As in the driver, a unit with a thrashing page is not completed.
    if (big_pages_) return block.faulted.grown_to_big_pages() - block.thrashing.grown_to_big_pages();
    return whole_blocks_ && block.thrashing.empty() ? PageMask::all() : PageMask();
  }

  void add_state(StateDigest&) const override {}  // no state

 private:
  bool big_pages_;
  bool whole_blocks_;
};

}  // namespace

UVMSIM_POLICY(none, None);

}  // namespace uvmsim::policy
