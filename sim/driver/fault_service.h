// SPDX-License-Identifier: Apache-2.0
// Service of GPU faults: of one VA block of a fault batch, and of a whole batch.
//
// Follows NVIDIA UVM 580: uvm_gpu_replayable_faults.c (preprocess, service per block) and uvm_va_block.c
// (block_select_processor_residency, uvm_va_block_service_locked). The engine decides when batches are fetched.
#pragma once

#include <span>
#include <vector>

#include "sim/driver/context.h"
#include "sim/driver/residency.h"
#include "sim/driver/thrashing.h"
#include "sim/gmmu/fault_buffer.h"

namespace uvmsim::driver {

struct BatchSummary {
  Nanoseconds end{};  // all CPU and GPU work of the batch is done; the replay can be issued
  std::uint64_t lowest_address = 0;
  std::uint32_t duplicates = 0;      // raw faults beyond the first of each page
  std::uint32_t faulting_pages = 0;  // distinct pages serviced
  std::uint32_t blocks = 0;
  bool lowest_is_write = false;
  bool throttled = false;
  Moved moved;

  // Returns whether the replay waits for the GPU's work on pages.
  bool gpu_memory_changed() const { return moved.copied || moved.populated; }
};

class FaultService {
 public:
  FaultService(DriverContext& context, Residency& residency, Thrashing& thrashing)
      : context_(context), residency_(residency), thrashing_(thrashing) {}

  // Services the fetched entries, in any order. `start` is the end of the fetch.
  BatchSummary service(unsigned gpu, std::span<const gmmu::FaultEntry> entries, Nanoseconds start);

  // Migrates remotely mapped pages of one block to the GPU that keeps accessing them (access counters). Returns the
  // number of pages that migrate.
  std::uint32_t migrate_remote(Work& work, unsigned gpu, BlockIndex block, const PageMask& pages);

 private:
  struct SortedFault {
    std::uint64_t key;  // page, then the most intrusive access first, so that one comparison sorts
    std::uint32_t instances;
    static constexpr std::uint64_t kLeast = 7;
    SortedFault(std::uint64_t page, gmmu::FaultAccess access, std::uint32_t count)
        : key(page << 3 | (kLeast - static_cast<std::uint64_t>(access))), instances(count) {}
    std::uint64_t page() const { return key >> 3; }
    bool write() const { return (key & kLeast) <= kLeast - static_cast<std::uint64_t>(gmmu::FaultAccess::kWrite); }
  };
  // Destinations of the faulted pages of one block.
  struct Destinations {
    TransferCause cause = TransferCause::kFault;
    PageMask thrashing;  // pages of the block that prefetches leave alone
    PageMask written;    // faulted for writing, as whole pages of the driver: each moves and becomes writable as one
    PageMask local;      // migrate to the faulting GPU
    PageMask duplicate;  // copy to the faulting GPU, sources stay
    PageMask host;       // migrate to the host, mapped remotely
    struct OnPeer {
      ProcessorId gpu;
      PageMask pages;
    };
    std::vector<OnPeer> peers;                                       // migrate to other GPUs, mapped remotely
    PageMask throttled;                                              // not serviced in this batch
    policy::RestingPages resting;                                    // stay on the host by the policy, mapped remotely
    std::vector<Thrashing::Verdict::RemoteMapping> pinned_mappings;  // for other processors, of pages pinned now

    // Returns whether all moving pages have one destination; otherwise no pages are prefetched with them.
    bool one_place() const {
      return ((local | duplicate).empty() ? 0u : 1u) + (host.empty() ? 0u : 1u) + peers.size() == 1;
    }
    void place(ProcessorId requester, ProcessorId at, const PageMask& pages);
  };

  void tell_batch(std::span<const gmmu::FaultEntry> entries, Nanoseconds now, policy::Batcher* batcher);
  std::size_t gather_block(std::size_t first, PageMask& reads, PageMask& writes, BatchSummary& summary) const;
  void service_part(Work& work, unsigned gpu, BlockIndex block, const BlockPart& part, const PageMask& reads,
                    const PageMask& writes, BatchSummary& summary);
  void serve(Work& work, unsigned gpu, BlockIndex block, const BlockPart& part, const PageMask& reads,
             const PageMask& writes, BatchSummary& summary);
  Destinations choose(BlockIndex block, const BlockPart& part, unsigned gpu, const PageMask& reads,
                      const PageMask& writes, Nanoseconds now, TransferCause cause);
  void tell_faulted(const Work& work, unsigned gpu, BlockIndex block, const PageMask& reads,
                    const PageMask& writes) const;
  void let_rest(Work& work, unsigned gpu, BlockIndex block, const PageMask& reads, const PageMask& writes,
                Destinations& to);
  // carry_out() moves and maps the pages of one part: come() moves those for the GPU, go() those for another
  // destination.
  Moved carry_out(Work& work, unsigned gpu, BlockIndex block, const BlockPart& part, const Destinations& to);
  Moved come(Work& work, unsigned gpu, BlockIndex block, const BlockPart& part, const Destinations& to);
  Moved go(Work& work, unsigned gpu, BlockIndex block, const BlockPart& part, const Destinations& to,
           ProcessorId destination, const PageMask& pages);

  // Migrates the pages that the prefetcher requested beyond the faulted blocks, after all of these are served.
  void bring_beyond(Work& work, unsigned gpu, std::vector<BlockIndex>& served, Moved& moved);
  bool bring(Work& work, unsigned gpu, BlockIndex block, const PageMask& wanted, std::span<const BlockIndex> spared,
             Moved& moved);

  DriverContext& context_;
  Residency& residency_;
  Thrashing& thrashing_;
  std::vector<SortedFault> sorted_;
  std::vector<policy::FaultRecord> records_;
  std::vector<BlockIndex> first_;
  std::vector<policy::PageSpan> beyond_;  // pages in other blocks that the prefetcher requested
  std::vector<BlockIndex> served_;        // blocks that must not be evicted for these
};

// Describes to the prefetcher the faulted pages of a block that go to one destination. Keeps references to the masks.
policy::FaultedBlock describe_fault(const DriverContext& context, BlockIndex block, const PageMask& resident,
                                    const PageMask& faulted, const PageMask& thrashing, Nanoseconds now);
// Asks the GPU's migrate policy, which must exist, which pages stay on the host.
policy::RestingPages ask_migrator(DriverContext& context, Work& work, unsigned gpu, BlockIndex block,
                                  const PageMask& reads, const PageMask& writes);

// The queries about other blocks that the prefetcher may make, and where its answer about them goes.
struct LookBeyond {
  const policy::PrefetchQueries& queries;
  std::vector<policy::PageSpan>& spans;
};

// The prefetcher's answer for one part of a block and a destination, limited to pages that may be prefetched. The
// prefetcher is asked about other blocks if `beyond` is not null. Pages in `unmapped` count as migrating although they
// are at the destination: the faulting processor has no mapping of them, or none that allows it to write.
struct Prefetched {
  PageMask coming;
  PageMask there;  // other pages that the prefetcher named and that are at the destination already
};
Prefetched prefetch_pages(DriverContext& context, Work& work, BlockIndex block, const BlockPart& part,
                          ProcessorId destination, const PageMask& faulted, const PageMask& thrashing,
                          const PageMask& unmapped, const LookBeyond* beyond = nullptr);

}  // namespace uvmsim::driver
