// SPDX-License-Identifier: Apache-2.0
// Memory-aware throttling: while memory is short, fewer SMs compete for it.
#include <algorithm>
#include <cstdint>

#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class EtcLike final : public Batcher {
 public:
  static PolicyInfo info() {
    return {
        .description = "halves the SMs that a replay reaches while batches evict, and doubles them when they do not",
        .source =
            "memory-aware throttling of ETC (Li et al., ASPLOS 2019); its epochs are batches here, the "
            "numbers are ours"};
  }
  static ParameterTable parameters() {
    return {
        integer("least", 25, {1, 100}, "percent of the SMs that go on at least"),
        integer("patience", 4, {1, 1000}, "batches in a row with, or without, evictions before the number changes")};
  }

  explicit EtcLike(const PolicyContext& context)
      : least_(static_cast<std::uint32_t>(context.parameters.integer("least"))),
        patience_(static_cast<std::uint32_t>(context.parameters.integer("patience"))) {}

  std::uint32_t running_sms(const ServedBatch& batch) override {
    const bool evicts = batch.evictions != 0;
    in_a_row_ = evicts == evicted_ ? in_a_row_ + 1 : 1;
    evicted_ = evicts;
    if (in_a_row_ >= patience_) {
      in_a_row_ = 0;
      percent_ = evicts ? std::max(least_, percent_ / 2) : std::min(100u, percent_ * 2);
    }
    return std::max<std::uint32_t>(1, (batch.sms * percent_ + 99) / 100);
  }

  void add_state(StateDigest& digest) const override {
    digest.add(percent_);
    digest.add(in_a_row_);
    digest.add(std::uint64_t{evicted_});
  }

 private:
  const std::uint32_t least_, patience_;
  std::uint32_t percent_ = 100;
  std::uint32_t in_a_row_ = 0;  // consecutive batches like the last one since the number changed
  bool evicted_ = false;        // whether the last batch evicted
};

}  // namespace

UVMSIM_POLICY(etc_like, EtcLike);

}  // namespace uvmsim::policy
