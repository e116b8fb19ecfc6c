// SPDX-License-Identifier: Apache-2.0
// Waits for more faults before it takes a batch, as a network card coalesces interrupts, and serves the batch in a
// configurable order.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Coalesce final : public Batcher {
 public:
  static PolicyInfo info() {
    return {.description = "waits for a full batch up to a limit of time, serves it in an order, holds SMs back",
            .source = "interrupt coalescing; larger batches of Kim et al., ASPLOS 2020 (without its runahead warps)"};
  }
  static ParameterTable parameters() {
    return {integer("delay_us", 20, {0, 10000}, "how long a batch waits at most for more faults, microseconds"),
            integer("faults", 256, {1, 1024}, "raw faults that a batch waits for, and takes at most"),
            choice("order", "address", {"address", "arrival", "fullest"},
                   "which blocks are served first: as the driver; whose fault came first; with the most faults"),
            integer("sms", 100, {1, 100}, "percent of the SMs that a replay reaches")};
  }

  explicit Coalesce(const PolicyContext& context)
      : delay_(context.parameters.integer("delay_us") * 1000),
        faults_(static_cast<std::uint32_t>(context.parameters.integer("faults"))),
        order_(context.parameters.choice("order")),
        percent_(static_cast<std::uint32_t>(context.parameters.integer("sms"))) {}

  BatchShape shape(const BatchMoment& moment) override {
    const std::uint32_t faults = std::min(faults_, moment.buffer_entries);
    // A single look half way would miss a buffer that fills early, so the policy looks four times during the delay.
    const Nanoseconds left = delay_ - moment.waited;
    const Nanoseconds look(std::max<std::int64_t>(delay_.value / 4, 1));
    const bool waits = moment.waiting < faults && left > Nanoseconds{};
    return {.faults = faults, .delay = waits ? std::min(left, look) : Nanoseconds{}};
  }

  void arrange(const FaultBatch& batch, std::vector<BlockIndex>& first) override {
    if (order_ == "address") return;
    blocks_.clear();
    for (const FaultRecord& fault : batch.faults) {
      const BlockIndex block(fault.page.value / kPagesPerBlock);
      const auto known =
          std::find_if(blocks_.begin(), blocks_.end(), [&](const Faults& f) { return f.block == block; });
      if (known == blocks_.end()) {
        blocks_.push_back({block, fault.instances});
      } else {
        known->count += fault.instances;
      }
    }
    if (order_ == "fullest") {
      std::stable_sort(blocks_.begin(), blocks_.end(),
                       [](const Faults& a, const Faults& b) { return a.count > b.count; });
    }
    for (const Faults& faults : blocks_) first.push_back(faults.block);
  }

  std::uint32_t running_sms(const ServedBatch& batch) override {
    return std::max<std::uint32_t>(1, (batch.sms * percent_ + 99) / 100);
  }

  void add_state(StateDigest&) const override {}  // no state between batches

 private:
  struct Faults {
    BlockIndex block;
    std::uint32_t count = 0;
  };
  const Nanoseconds delay_;
  const std::uint32_t faults_;
  const std::string order_;
  const std::uint32_t percent_;
  std::vector<Faults> blocks_;  // of the current batch
};

}  // namespace

UVMSIM_POLICY(coalesce, Coalesce);

}  // namespace uvmsim::policy
