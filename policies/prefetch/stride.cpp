// SPDX-License-Identifier: Apache-2.0
// Stride prefetching: if the faults of an allocation come at a constant distance, fetches further units along it.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "sim/policy/registry.h"
#include "sim/policy/unit_prefetcher.h"

namespace uvmsim::policy {
namespace {

class Stride final : public UnitPrefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "units at the distance at which an allocation's faults follow one another",
            .source = "stride prefetcher after Baer and Chen 1991; parameters of Pythia's and gpu_ext's"};
  }
  static ParameterTable parameters() {
    return {integer("degree", 2, {1, 1024}, "64 KB units fetched along the stride"),
            integer("confidence", 2, {1, 16}, "how often the stride must have been seen, less the exceptions"),
            integer("max_stride", 128, {1, 1'000'000}, "largest stride that is followed, in 64 KB units"),
            integer("trackers", 256, {1, 65536}, "allocations that are followed at once")};
  }

  explicit Stride(const PolicyContext& context)
      : degree_(context.parameters.integer("degree")),
        confidence_(context.parameters.integer("confidence")),
        max_stride_(context.parameters.integer("max_stride")),
        trackers_(static_cast<std::size_t>(context.parameters.integer("trackers"))) {}

 private:
  struct Tracker {
    Unit allocation = -1;
    Unit last = 0, stride = 0;
    std::int64_t confidence = 0;
    Unit ahead = 0;  // units along the stride that the last prefetch fetched: they do not fault
  };

  // Returns whether the fault continues the pattern, perhaps from among faults that were served together.
  static bool follows(const Tracker& tracker, Unit distance) {
    return tracker.stride != 0 && distance % tracker.stride == 0 && distance / tracker.stride >= 1 &&
           distance / tracker.stride <= tracker.ahead + 1;
  }

  void on_fault(Unit unit) override {
    Tracker& tracker = trackers_[static_cast<std::size_t>(allocation() / kBigPagesPerBlock) % trackers_.size()];
    if (tracker.allocation != allocation()) {
      tracker = {allocation(), unit, 0, 0, 0};
      return;
    }
    const Unit distance = unit - tracker.last;
    if (distance == 0) return;  // another part of a unit that is being served
    tracker.last = unit;
    if (follows(tracker, distance)) {
      tracker.confidence = std::min(tracker.confidence + 1, confidence_ + 1);
    } else if (tracker.confidence > 0) {
      --tracker.confidence;  // one exception does not end a pattern
    } else {
      tracker.stride = distance;
      tracker.confidence = 1;
    }
    tracker.ahead = tracker.confidence >= confidence_ && std::abs(tracker.stride) <= max_stride_ ? degree_ : 0;
    for (Unit step = 1; step <= tracker.ahead; ++step) want(unit + step * tracker.stride);
  }

  Unit degree_;
  std::int64_t confidence_, max_stride_;
  std::vector<Tracker> trackers_;  // by allocation
};

}  // namespace

UVMSIM_POLICY(stride, Stride);

}  // namespace uvmsim::policy
