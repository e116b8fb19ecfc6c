// SPDX-License-Identifier: Apache-2.0
// Sequential-local prefetching: the faulted page's 64 KB unit and a number of units after it, within the block.
#include <algorithm>

#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Sequential final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "sequential-local: the faulted 64 KB unit and the units that follow it",
            .source = "SLp of Ganguly et al., ISCA 2019 (units_ahead=0); looking further ahead is this project's"};
  }
  static ParameterTable parameters() {
    return {integer("units_ahead", 0, {0, kBigPagesPerBlock - 1}, "64 KB units fetched after the faulted one")};
  }

  explicit Sequential(const PolicyContext& context)
      : pages_per_fault_(kPagesPerBigPage * (1 + static_cast<unsigned>(context.parameters.integer("units_ahead")))) {}

  PageMask prefetch(const FaultedBlock& block) override {
    PageMask pages;
    for (unsigned page = block.faulted.next_set(0); page < block.end_page;) {
      const unsigned unit_end = (page / kPagesPerBigPage + 1) * kPagesPerBigPage;
      const unsigned first = unit_end - kPagesPerBigPage;
      const unsigned count = std::min(pages_per_fault_, kPagesPerBlock - first);
      pages.set_range(first, count);
      page = block.faulted.next_set(unit_end);  // the rest of this unit adds nothing
    }
    return pages - block.thrashing;
  }

  void add_state(StateDigest&) const override {}  // no state

 private:
  unsigned pages_per_fault_;
};

}  // namespace

UVMSIM_POLICY(sequential, Sequential);

}  // namespace uvmsim::policy
