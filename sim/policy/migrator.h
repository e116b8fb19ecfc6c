// SPDX-License-Identifier: Apache-2.0
// The slot `migrate`: which of the faulted pages migrate to the GPU, and which stay on the host and are remote-mapped,
// so that the GPU accesses them over the link (zero copy).
//
// Further accesses to remote-mapped pages raise no faults, cost their bytes on the link, and are counted by the GPU's
// access counters, which the policy is given when the kernel ends. One instance serves one GPU. The driver itself
// handles blocks with hints of the program, read duplication or thrashing pages.
#pragma once

#include <cstdint>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::policy {

// The use of the GPU's memory, in root chunks.
struct GpuMemoryUse {
  std::uint32_t chunks = 0, free_chunks = 0;
  bool oversubscribed = false;  // something was evicted since the program began
};

// Faulted pages of one VA block, as the driver serves a batch. They are on no GPU.
struct FaultedPages {
  BlockIndex block;
  BlockIndex range;  // first block of its allocation
  const PageMask& reads;
  const PageMask& writes;  // without the reads
  // All pages of the block that are resident on the host (other faulted pages hold nothing yet).
  const PageMask& on_host;
  GpuMemoryUse memory;
  Nanoseconds now{};
  std::uint32_t process = 0;  // the process that owns the pages: its place among the programs of a server
};

// Remote-mapped pages of one VA block that a kernel which just ended accessed on the host.
struct RemoteAccesses {
  BlockIndex block;
  BlockIndex range;
  const PageMask& pages;
  std::uint64_t accesses = 0;  // 128-byte accesses, evenly over the pages
  GpuMemoryUse memory;
  std::uint32_t process = 0;  // as above
};

struct RestingPages {
  PageMask pages;
  PageMask writable;  // a subset; a write to another page faults again
};

class Migrator {
 public:
  virtual ~Migrator() = default;

  // Called once per block of a fault batch, before the prefetcher, which is not asked about remote-mapped pages.
  // Faulted pages that are not in the answer migrate to the GPU. The answer may name pages of the block that did not
  // fault: they are mapped too, and are populated on the host if they hold nothing yet. The core ignores pages that are
  // on a GPU or outside the allocation.
  virtual RestingPages rest(const FaultedPages& faulted) = 0;

  // Returns the touched pages that migrate to the GPU now. Class D1 and up.
  virtual PageMask fetch([[maybe_unused]] const RemoteAccesses& accesses) { return {}; }
  // Reports pages of the block that were evicted from the GPU to the host. If it returns true, they stay remote-mapped.
  virtual bool on_evicted([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) { return false; }
  // Reports pages of the block that migrated to the GPU for any reason.
  virtual void on_migrated([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) {}
  // Reports that a kernel of the process begins on the GPU. Class D3 and up.
  virtual void on_kernel([[maybe_unused]] std::uint32_t process) {}
  // Reports that the block's allocation was freed; the policy's state for it is no longer valid.
  virtual void on_freed([[maybe_unused]] BlockIndex block) {}

  // Adds everything that later answers depend on (policy.h: Prefetcher::add_state).
  virtual void add_state(StateDigest& digest) const { digest.refuse(); }
};

}  // namespace uvmsim::policy
