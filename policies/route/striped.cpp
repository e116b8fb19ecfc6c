// SPDX-License-Identifier: Apache-2.0
// Every move uses all paths at once: one stripe over the link of its ends, and one through each GPU that has links to
// both. A stripe's size is proportional to the speed of its path.
#include <algorithm>
#include <limits>

#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Striped final : public Router {
 public:
  static PolicyInfo info() {
    return {.description = "in stripes over the direct link and through other GPUs, by the bandwidth of each way",
            .source = "ours; the stripes of HUVM's multi-path prefetch are whole blocks"};
  }
  static ParameterTable parameters() {
    return {
        integer("gpus", 16, {0, 16}, "that a move goes through beside its direct link, at most; lowest numbers first"),
        integer("least_bytes", 512 << 10, {1, 2 << 20}, "smaller moves go directly")};
  }

  explicit Striped(const PolicyContext& context)
      : gpus_(static_cast<unsigned>(context.parameters.integer("gpus"))),
        least_bytes_(static_cast<std::uint64_t>(context.parameters.integer("least_bytes"))) {}

  Route route(const Move& move, const RouteQueries& queries) override {
    if (move.bytes < least_bytes_) return {};
    Route striped{Route::Way::kStriped, 0};
    if (queries.joined(move.from, move.to)) {
      striped.direct = weight(queries.unloaded_time(move.from, move.to, kBlockBytes));
    }
    unsigned left = gpus_;
    for (unsigned gpu = 0; gpu < queries.gpu_count() && left != 0; ++gpu) {
      const ProcessorId hop = gpu_processor(gpu);
      if (hop == move.from || hop == move.to || !queries.joined(move.from, hop) || !queries.joined(hop, move.to)) {
        continue;
      }
      // Each block's second hop waits for the first.
      striped.through[gpu] =
          weight(queries.unloaded_time(move.from, hop, kBlockBytes) + queries.unloaded_time(hop, move.to, kBlockBytes));
      --left;
    }
    return left == gpus_ ? Route{} : striped;
  }
  void add_state(StateDigest&) const override {}  // no state

 private:
  // The weight is the number of blocks in 50 ms: 500 if one takes 100 us, as over PCIe, and 65535 only below 0.8 us,
  // which is 2.7 TB/s.
  static std::uint16_t weight(Nanoseconds block) {
    const std::int64_t blocks = 50'000'000 / std::max<std::int64_t>(block.value, 1);
    return static_cast<std::uint16_t>(std::clamp<std::int64_t>(blocks, 1, std::numeric_limits<std::uint16_t>::max()));
  }

  unsigned gpus_;
  std::uint64_t least_bytes_;
};

}  // namespace

UVMSIM_POLICY(striped, Striped);

}  // namespace uvmsim::policy
