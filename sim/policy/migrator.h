// SPDX-License-Identifier: Apache-2.0
// The slot `migrate`: which of the pages that a GPU faults on come to it, and which rest on the host and are used from
// there, over the link (zero copy).
//
// The core maps what rests: further accesses raise no faults, cost their bytes on the link, and are counted by the
// GPU's access counters, which the policy hears of when the kernel ends. One instance serves one GPU. Blocks with hints
// of the program, read duplication or thrashing pages are the driver's.
#pragma once

#include <cstdint>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::policy {

// How full the GPU is, in root chunks.
struct GpuMemoryUse {
  std::uint32_t chunks = 0, free_chunks = 0;
  bool oversubscribed = false;  // something was evicted since the program began
};

// Pages of one VA block on which the GPU faults, as the driver serves a batch. They are on no GPU.
struct FaultedPages {
  BlockIndex block;
  BlockIndex range;  // first block of its allocation
  const PageMask& reads;
  const PageMask& writes;   // apart from the reads
  const PageMask& on_host;  // of the whole block: resident there (other faulted pages hold nothing yet)
  GpuMemoryUse memory;
  Nanoseconds now{};
  std::uint32_t process = 0;  // whose pages they are: its place among the programs of a server
};

// Pages of one VA block that rest on the host and that a kernel which just ended touched there.
struct RemoteAccesses {
  BlockIndex block;
  BlockIndex range;
  const PageMask& pages;
  std::uint64_t accesses = 0;  // of 128 bytes, evenly over the pages
  GpuMemoryUse memory;
  std::uint32_t process = 0;  // as above
};

struct RestingPages {
  PageMask pages;
  PageMask writable;  // of them; a write to another one faults again
};

class Migrator {
 public:
  virtual ~Migrator() = default;

  // Called once per block of a fault batch, before the prefetcher, which is not asked for what rests. Faulted pages not
  // in the answer come to the GPU. The answer may name pages of the block that did not fault: they are mapped too, and
  // begin on the host if they hold nothing yet. The core leaves out what lies on a GPU or outside the allocation.
  virtual RestingPages rest(const FaultedPages& faulted) = 0;

  // Which of the touched pages come to the GPU now. Class D1 and up.
  virtual PageMask fetch([[maybe_unused]] const RemoteAccesses& accesses) { return {}; }
  // Pages of the block were evicted from the GPU to the host. True: they stay mapped and rest there from now on.
  virtual bool on_evicted([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) { return false; }
  // Pages of the block came to the GPU, for whatever reason.
  virtual void on_migrated([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) {}
  // A kernel of the process begins on the GPU. Class D3 and up.
  virtual void on_kernel([[maybe_unused]] std::uint32_t process) {}
  // The block's allocation was freed: what the policy remembers of it is void.
  virtual void on_freed([[maybe_unused]] BlockIndex block) {}

  // As Prefetcher::add_state.
  virtual void add_state(StateDigest& digest) const { digest.refuse(); }
};

}  // namespace uvmsim::policy
