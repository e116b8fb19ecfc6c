// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/optimizer.h"

#include <algorithm>

#include "sim/link/remote_lane.h"
#include "sim/recommend/find_named.h"

namespace uvmsim::recommend {

namespace {

constexpr std::uint64_t kStateBytes = 4;  // fp32

constexpr Optimizer kOptimizers[] = {
    {"sgd", Optimizer::State::kNone, "EXACT_SGD: no state"},
    {"rowwise_adagrad", Optimizer::State::kPerRow, "EXACT_ROWWISE_ADAGRAD: 4 bytes per row, in GPU memory"},
    {"adagrad", Optimizer::State::kPerElement, "EXACT_ADAGRAD: 4 bytes per element, where the tables lie"},
};

}  // namespace

std::uint64_t Optimizer::bytes_per_row(const Workload& workload) const {
  switch (state) {
    case State::kPerRow:
      return kStateBytes;
    case State::kPerElement:
      return kStateBytes * workload.dimension;
    default:
      return 0;
  }
}

std::uint64_t Optimizer::touched_bytes(const Workload& workload) const {
  return state == State::kNone ? 0 : std::max(link::kSectorBytes, bytes_per_row(workload));
}

std::span<const Optimizer> optimizers() { return kOptimizers; }

const Optimizer& find_optimizer(std::string_view name) { return find_named(optimizers(), "optimizer", name); }

}  // namespace uvmsim::recommend
