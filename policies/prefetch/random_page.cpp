// SPDX-License-Identifier: Apache-2.0
// Random prefetching: fetches with every faulted page one page of its 2 MB block, drawn at random.
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// A draw that hits a page which is present, or comes anyway, fetches nothing. A sweep over a block of n pages therefore
// takes about n ln 2 faults.
class RandomPages final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.name = "random",
            .description = "with every faulted page one other of its 2 MB, drawn at random",
            .source = "Rp of Ganguly et al., ISCA 2019 (gpgpu-sim_UVMSmart)"};
  }
  static ParameterTable parameters() {
    return {choice("unit", "4k", {"4k", "64k"}, "what faults, is drawn and comes as one")};
  }

  explicit RandomPages(const PolicyContext& context)
      : pages_per_unit_(context.parameters.choice("unit") == "4k" ? 1 : kPagesPerBigPage), random_(context.random) {}

  PageMask prefetch(const FaultedBlock& block) override {
    PageMask pages = pages_per_unit_ == 1 ? block.faulted : block.faulted.grown_to_big_pages();
    const unsigned first = block.first_page / pages_per_unit_;
    const unsigned units = (block.end_page + pages_per_unit_ - 1) / pages_per_unit_ - first;
    for (unsigned draws = pages.count() / pages_per_unit_; draws > 0; --draws) {
      const unsigned unit = first + static_cast<unsigned>(random_.below(units));
      pages.set_range(unit * pages_per_unit_, pages_per_unit_);
    }
    return pages - block.thrashing;
  }

 private:
  unsigned pages_per_unit_;
  Random random_;
};

}  // namespace

UVMSIM_POLICY(random_page, RandomPages);

}  // namespace uvmsim::policy
