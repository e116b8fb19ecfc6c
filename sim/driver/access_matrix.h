// SPDX-License-Identifier: Apache-2.0
// A table of the processors that can map each processor's memory, from the driver's peer and coherence masks.
#pragma once

#include <array>
#include <cstdint>

#include "sim/common/check.h"
#include "sim/link/topology.h"
#include "sim/memory/page_mask.h"
#include "sim/memory/processor.h"

namespace uvmsim::driver {

class AccessMatrix {
 public:
  // Without links, each GPU can map host memory, slowly, and only the GPU itself can map its memory.
  explicit AccessMatrix(unsigned gpu_count) : processors_(gpu_count + 1) {
    UVMSIM_CHECK(gpu_count <= kMaxGpus, "{} GPUs", gpu_count);
    for (unsigned p = 0; p < processors_; ++p) accessible_from_[p] = fast_from_[p] = std::uint32_t{1} << p;
    for (unsigned gpu = 0; gpu < gpu_count; ++gpu) accessible_from_[0] |= gpu_processor(gpu).bit();
  }

  // Adds the links between GPUs.
  explicit AccessMatrix(const link::Topology& topology);

  // Lets two processors map each other's memory; `fast`: over NVLink or C2C, with native atomics.
  void connect(ProcessorId a, ProcessorId b, bool fast) {
    accessible_from_[a.index] |= b.bit();
    accessible_from_[b.index] |= a.bit();
    if (!fast) return;
    fast_from_[a.index] |= b.bit();
    fast_from_[b.index] |= a.bit();
  }

  unsigned processor_count() const { return processors_; }
  // Returns ProcessorId::bit() of every processor that can map memory of `owner`, itself included.
  std::uint32_t accessible_from(ProcessorId owner) const { return owner.is_none() ? 0 : accessible_from_[owner.index]; }
  std::uint32_t fast_from(ProcessorId owner) const { return owner.is_none() ? 0 : fast_from_[owner.index]; }

  // Returns the nearest of `candidates` (bits) to `from`; kNoProcessor if there are none. (Driver: itself, fast GPUs,
  // the fast host, accessible GPUs, the host, anything; lowest id first.)
  ProcessorId closest(std::uint32_t candidates, ProcessorId from) const;

 private:
  unsigned processors_;
  std::array<std::uint32_t, kMaxGpus + 1> accessible_from_{}, fast_from_{};
};

}  // namespace uvmsim::driver
