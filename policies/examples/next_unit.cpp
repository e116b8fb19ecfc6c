// SPDX-License-Identifier: Apache-2.0
// An example plug-in: fetches with every faulted page the rest of its 64 KB unit and the next unit.
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class NextUnit final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "the faulted 64 KB unit and the next one", .source = "an example, from no paper"};
  }
  static ParameterTable parameters() {
    return {boolean("backwards", false, "take the unit before the faulted one instead of the one after")};
  }

  explicit NextUnit(const PolicyContext& context) : backwards_(context.parameters.boolean("backwards")) {}

  PageMask prefetch(const FaultedBlock& block) override {
    PageMask pages = block.faulted.grown_to_big_pages();
    block.faulted.for_each([&](unsigned page) {
      const unsigned unit = page / kPagesPerBigPage;
      const unsigned neighbour = backwards_ ? unit - 1 : unit + 1;  // wraps around below unit 0
      if (neighbour < kBigPagesPerBlock) pages.set_range(neighbour * kPagesPerBigPage, kPagesPerBigPage);
    });
    return pages;
  }

 private:
  bool backwards_;
};

}  // namespace

UVMSIM_POLICY(next_unit, NextUnit);
