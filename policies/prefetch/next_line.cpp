// SPDX-License-Identifier: Apache-2.0
// Next-line prefetching: fetches the 64 KB units after the faulted one, across the borders of 2 MB blocks.
#include "sim/policy/registry.h"
#include "sim/policy/unit_prefetcher.h"

namespace uvmsim::policy {
namespace {

class NextLine final : public UnitPrefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "the faulted 64 KB unit and the next ones, also in the next block",
            .source = "one-block lookahead, A. J. Smith, Computing Surveys 1982"};
  }
  static ParameterTable parameters() { return {integer("degree", 2, {1, 1024}, "64 KB units after the faulted one")}; }

  explicit NextLine(const PolicyContext& context) : degree_(context.parameters.integer("degree")) {}

  void add_state(StateDigest&) const override {}  // no state

 private:
  void on_fault(Unit unit) override {
    for (Unit ahead = 1; ahead <= degree_; ++ahead) want(unit + ahead);
  }

  Unit degree_;
};

}  // namespace

UVMSIM_POLICY(next_line, NextLine);

}  // namespace uvmsim::policy
