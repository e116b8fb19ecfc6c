// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/access_matrix.h"

namespace uvmsim::driver {

AccessMatrix::AccessMatrix(const link::Topology& topology) : AccessMatrix(topology.gpu_count()) {
  for (unsigned a = 0; a < topology.gpu_count(); ++a) {
    for (unsigned b = a + 1; b < topology.gpu_count(); ++b) {
      if (const auto* peer = topology.peer(a, b)) connect(gpu_processor(a), gpu_processor(b), peer->fast);
    }
  }
}

ProcessorId AccessMatrix::closest(std::uint32_t candidates, ProcessorId from) const {
  ProcessorId best = kNoProcessor;
  unsigned best_rank = ~0u;
  for (unsigned p = 0; p < processors_; ++p) {
    const ProcessorId id{static_cast<std::uint8_t>(p)};
    if ((candidates & id.bit()) == 0) continue;
    const bool fast = (fast_from_[p] & from.bit()) != 0;
    const bool accessible = (accessible_from_[p] & from.bit()) != 0;
    unsigned rank = 5;
    if (id == from) {
      rank = 0;
    } else if (fast) {
      rank = id.is_host() ? 2 : 1;
    } else if (id.is_host()) {
      rank = 4;
    } else if (accessible) {
      rank = 3;
    }
    if (rank < best_rank) {
      best_rank = rank;
      best = id;
    }
  }
  return best;
}

}  // namespace uvmsim::driver
