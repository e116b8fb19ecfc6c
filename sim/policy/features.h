// SPDX-License-Identifier: Apache-2.0
// What learned policies are told beside their slot's calls: the faults of a batch as the driver reads them, kernels,
// and which prefetched pages were used. A policy of any slot derives from FeatureListener as well; one that
// does not costs nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::policy {

// An entry of the fault buffer: a fault, or several on one page that followed one another. The hardware names no warp.
struct FaultRecord {
  PageIndex page;  // of the simulated address space, as in PageSpan
  Nanoseconds arrival{};
  std::uint32_t sm = 0;
  std::uint32_t instances = 1;
  bool write = false;
};

// What one process faulted on in a batch; its place in `faults` is the order within the batch, that of the buffer.
struct FaultBatch {
  std::uint32_t process = 0;  // its place among the programs of a server
  Nanoseconds now{};
  std::span<const FaultRecord> faults;
};

// A kernel as it begins. Valid during the call only.
struct KernelStart {
  std::string_view name;
  std::uint64_t layer = 0;  // its place among the kernels of its marked iteration; of the program, where none is marked
  std::uint64_t thread_blocks = 1, threads_per_block = 1;
  Nanoseconds now{};
};

class FeatureListener {
 public:
  virtual ~FeatureListener() = default;

  // Before the blocks of the batch are served.
  virtual void on_faults([[maybe_unused]] const FaultBatch& batch) {}
  // Before its first access. Class D3 and up.
  virtual void on_kernel([[maybe_unused]] const KernelStart& kernel) {}
  // Pages that were prefetched to a GPU and that a kernel used for the first time since, seen where kernels begin and
  // end and where they fault. Class D2 and up.
  virtual void on_prefetch_used([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) {}
  // Pages that were prefetched and left the GPU unused. Class D2 and up.
  virtual void on_prefetch_wasted([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) {}
};

}  // namespace uvmsim::policy
