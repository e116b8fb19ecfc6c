// SPDX-License-Identifier: Apache-2.0
// Additional events for learned policies: the faults of a batch as the driver reads them, kernels, and uses of
// prefetched pages. A policy of any slot may also derive from FeatureListener; other policies pay nothing for it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::policy {

// An entry of the fault buffer: a fault, or several consecutive ones on one page. The hardware does not report the
// warp.
struct FaultRecord {
  PageIndex page;  // of the simulated address space, as in PageSpan
  Nanoseconds arrival{};
  std::uint32_t sm = 0;
  std::uint32_t instances = 1;
  bool write = false;
};

// The faults of one process in a batch, in the order of the buffer.
struct FaultBatch {
  std::uint32_t process = 0;  // its place among the programs of a server
  Nanoseconds now{};
  std::span<const FaultRecord> faults;
};

// A kernel that begins. Valid during the call only.
struct KernelStart {
  std::string_view name;
  // Its place among the kernels of its marked iteration, or of the program where none is marked.
  std::uint64_t layer = 0;
  std::uint64_t thread_blocks = 1, threads_per_block = 1;
  Nanoseconds now{};
};

class FeatureListener {
 public:
  virtual ~FeatureListener() = default;

  // Called before the blocks of the batch are served.
  virtual void on_faults([[maybe_unused]] const FaultBatch& batch) {}
  // Called before the kernel's first access. Class D3 and up.
  virtual void on_kernel([[maybe_unused]] const KernelStart& kernel) {}
  // Reports prefetched pages that a kernel used for the first time. The core notices uses when a kernel begins, ends or
  // faults. Class D2 and up.
  virtual void on_prefetch_used([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) {}
  // Reports prefetched pages that left the GPU unused. Class D2 and up.
  virtual void on_prefetch_wasted([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) {}
};

}  // namespace uvmsim::policy
