// SPDX-License-Identifier: Apache-2.0
// Memory of malloc, and pinned memory, on machines whose GPUs can access host memory.
//
// In the address modes `ats` and `cdmm`, GPUs use the host's page tables: a page lies where it was touched first, all
// processors access it there, and no fault moves it. Follows NVIDIA UVM 595 uvm_ats_faults.c and
// uvm_migrate_pageable.c:
//   a GPU's fault   populates untouched pages on the GPU, with the prefetcher's additions within the 2 MB. A page
//                   that the CPU only read is the kernel's page of zeros: a write gives it memory on the host.
//   a full GPU      populates pages on the host; nothing is evicted
//   the CPU         populates pages on the host, and never pulls any back
//   access counters move pages to the GPU (coherent_counters.h)
// In the mode `hmm` the memory migrates on faults as managed memory does, and only pinned memory is handled here. Pages
// are populated and moved in whole pages of the host. A block takes a root chunk that no evictor knows.
#pragma once

#include "sim/driver/context.h"

namespace uvmsim::driver {

class SystemMemory {
 public:
  explicit SystemMemory(DriverContext& context);

  // Returns whether the block is memory that no fault moves.
  bool serves(BlockIndex b) const { return in_place_ && context_.space.block(b).kind != MemoryKind::kManaged; }

  // Places a block of pinned memory on the host, where all GPUs map it.
  void pin(BlockIndex block);
  // Begins a fault batch: the first pages that it populates pay for entering the host's page tables.
  void begin_batch() { batch_pays_ = true; }
  // Services a GPU's faults on pages that it cannot access with the requested permission.
  Moved populate(Work& work, unsigned gpu, BlockIndex block, const PageMask& reads, const PageMask& writes);

  // Returns whether the CPU may access the page without a fault.
  bool cpu_may(BlockIndex block, unsigned page, bool write) const;
  // Populates on the host the page that the CPU faulted on. Returns when the CPU goes on.
  Nanoseconds cpu_touch(BlockIndex block, unsigned page, bool write, Nanoseconds now);
  // Returns the additional time of an access to a page that is on a GPU.
  std::uint64_t cpu_detour_ns(BlockIndex block, unsigned page, bool write) const;

  // coming() returns the pages on the host that move to the GPU when an access counter names `page`; none if the GPU is
  // full. move_ns() is the cost of their move, and arrive() ends it.
  PageMask coming(unsigned gpu, BlockIndex block, unsigned page);
  std::uint64_t move_ns(BlockIndex block, const PageMask& pages) const;
  void arrive(unsigned gpu, BlockIndex block, const PageMask& pages, Nanoseconds start, Nanoseconds end);

  // Grows the pages to whole pages of the host.
  PageMask host_pages(BlockIndex b, const PageMask& pages) const {
    return pages.grown_to(pages_per_host_page_) & context_.space.block(b).extent();
  }

 private:
  bool takes(unsigned gpu, BlockIndex block);
  PageMask surroundings(Work& work, BlockIndex block, const PageMask& faulted, const PageMask& there,
                        const PageMask& available);
  std::uint64_t host_page_count(const PageMask& pages) const;
  void put_on_gpu(unsigned gpu, BlockIndex block, const PageMask& pages, ResidencyChange change, Nanoseconds at);
  void put_on_host(BlockIndex block, const PageMask& pages, bool writable);
  void map_everywhere(BlockIndex block, const PageMask& pages, bool writable);

  DriverContext& context_;
  const bool in_place_, on_gpu_;
  bool batch_pays_ = true;
  const unsigned pages_per_host_page_;
};

}  // namespace uvmsim::driver
