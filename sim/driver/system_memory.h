// SPDX-License-Identifier: Apache-2.0
// Memory of malloc, and pinned memory, on machines whose GPUs reach memory of the host.
//
// Where the address mode is `ats` or `cdmm`, GPUs use the host's page tables: a page lies where it was touched first,
// is used from there by everybody, and no fault moves it. Follows NVIDIA UVM 595 uvm_ats_faults.c and
// uvm_migrate_pageable.c:
//   a GPU's fault   populates what nobody has touched, on the GPU; with what the prefetcher adds within the 2 MB. A
//   page
//                   that the CPU only read is the kernel's page of zeros: a write gives it memory on the host.
//   a full GPU      what is populated comes to the host; nothing is evicted
//   the CPU         populates on the host, and never pulls anything back
//   access counters move pages to the GPU (coherent_counters.h)
// Under `hmm` the memory migrates on faults as managed memory does, and only pinned memory is this file's.
// Pages count by pages of the host. A block takes a whole root chunk of the GPU, of which no evictor hears.
#pragma once

#include "sim/driver/context.h"

namespace uvmsim::driver {

class SystemMemory {
 public:
  explicit SystemMemory(DriverContext& context);

  // The block is memory that no fault moves.
  bool serves(BlockIndex b) const { return in_place_ && context_.space.block(b).kind != MemoryKind::kManaged; }

  // Pinned memory was allocated: it lies on the host, and all map it.
  void pin(BlockIndex block);
  // A fault batch begins: what it populates first pays for going to the host's page tables at all.
  void begin_batch() { batch_pays_ = true; }
  // A GPU faulted on pages that it does not map so. Returns how many faults were serviced.
  std::uint32_t populate(Work& work, unsigned gpu, BlockIndex block, const PageMask& reads, const PageMask& writes);

  // Whether the CPU may access the page without a fault.
  bool cpu_may(BlockIndex block, unsigned page, bool write) const;
  // It may not: what it touches is populated on the host. Returns when the CPU goes on.
  Nanoseconds cpu_touch(BlockIndex block, unsigned page, bool write, Nanoseconds now);
  // What an access takes longer because the page lies on a GPU.
  std::uint64_t cpu_detour_ns(BlockIndex block, unsigned page, bool write) const;

  // Of the block's pages on the host, those that come to the GPU when an access counter names `page`; none where the
  // GPU is full. What their move costs; they have arrived.
  PageMask coming(unsigned gpu, BlockIndex block, unsigned page);
  std::uint64_t move_ns(BlockIndex block, const PageMask& pages) const;
  void arrive(unsigned gpu, BlockIndex block, const PageMask& pages, Nanoseconds start, Nanoseconds end);

  // Pages of the host that hold the given ones.
  PageMask host_pages(BlockIndex b, const PageMask& pages) const {
    return pages.grown_to(pages_per_host_page_) & context_.space.block(b).extent();
  }
  unsigned pages_per_host_page() const { return pages_per_host_page_; }

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
