// SPDX-License-Identifier: Apache-2.0
// Moving pages: make them resident on a GPU or on the host, evict root chunks, release freed blocks.
//
// Follows NVIDIA UVM 580 uvm_va_block.c: unmap, populate, zero, copy, update residency, mark the chunk used. Each call
// advances a Work time line. Policies are told of every change of residency.
#pragma once

#include <array>
#include <span>

#include "sim/driver/context.h"
#include "sim/driver/host_tier.h"
#include "sim/driver/routing.h"

namespace uvmsim::driver {

// What to make resident, and why. `demanded` and `prefetched` are disjoint; either may be empty.
struct Migration {
  PageMask demanded;
  PageMask prefetched;
  TransferCause cause = TransferCause::kFault;  // of the demanded pages; prefetched ones are kPrefetch
  bool duplicate = false;                       // read duplication: sources keep their copies
  bool staged = false;                          // to the host on the way to a GPU: the pages are not mapped there
  const policy::Route* way = nullptr;           // of pages that the host holds; null: it is asked for

  PageMask pages() const { return demanded | prefetched; }
};

class Residency final : private policy::EvictionQueries {
 public:
  explicit Residency(DriverContext& context) : context_(context), host_tier_(context), routing_(context) {}

  // Makes the pages resident on the GPU, evicting when it is full. Pages resident nowhere are populated with zeros.
  // Mapping is the caller's step (map_local).
  void to_gpu(Work& work, BlockIndex block, unsigned gpu, const Migration& migration);

  // Makes the pages resident on the host.
  void to_host(Work& work, BlockIndex block, const Migration& migration);

  // Page-table entries of a GPU for pages resident on it.
  void map_local(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages, const PageMask& writable);
  // Page-table entries of a GPU for pages resident elsewhere.
  void map_remote(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages, const PageMask& writable);
  void unmap_gpu(BlockIndex block, unsigned gpu, const PageMask& pages) { unmap_from_gpu(context_, block, gpu, pages); }

  // The block's own root chunk, which must be evictable, becomes the free chunk that is taken last; nothing waits for
  // the copy. With `drop` its contents are not needed: nothing is copied, and the next touch finds the pages resident
  // nowhere.
  void evict_early(Work& work, unsigned gpu, BlockIndex block, bool drop);

  // The program freed the block's range: drops its pages everywhere, without write-back. Returns populated GPU pages.
  std::uint64_t release(BlockIndex block);
  // The program discarded the pages: their contents are never copied. With `unmap` they are dropped everywhere (GPU
  // memory stays with the block) and the next touch populates them; without, they stay mapped and discarded until a
  // migration by the program.
  void discard(BlockIndex block, const PageMask& pages, bool unmap);

  void note_chunk_used(BlockIndex block, unsigned gpu);

  // For Harvest. The GPU's pages of the block are copied to the host as well, from `start` on; returns when that is
  // done.
  Nanoseconds write_back(BlockIndex block, unsigned spare, Nanoseconds start);
  // The host has them: they leave the spare memory, whose chunk is free when that copy is done. One eviction's work for
  // the operation that needs the chunk: the driver locks, clears and pins it as one that it evicts.
  void drop_spare_copy(Work& work, BlockIndex block, unsigned spare);
  // A block that only the host holds, all of what there is of it, may come to spare memory of a peer on its way to the
  // GPU; the host's copy stays.
  bool may_go_to_spare(BlockIndex block) const;
  // The way of a block on the host that is not needed yet. `full` as Routing::ask.
  policy::Route way_ahead(Work& helper, BlockIndex block, unsigned gpu, TransferCause cause, std::uint32_t full = 0);
  void fetch_to_spare(Work& helper, BlockIndex block, unsigned gpu, unsigned spare, TransferCause cause);
  // Both, for a block of a fault batch. False: it stays on the host.
  bool fetch_nearer(Work& helper, BlockIndex block, unsigned gpu);

  // Whether to_gpu() finds memory for the pages and leaves alone what is spared.
  bool has_room(BlockIndex block, unsigned gpu, const PageMask& pages);
  // Evictions leave memory of the block alone, until it is unpinned or freed.
  void pin(BlockIndex block, bool pinned) { context_.space.pin(block, pinned); }
  // From now on evictions leave memory of these blocks alone, in ascending order; an empty list ends it.
  void spare(std::span<const BlockIndex> blocks) { spared_ = blocks; }

 private:
  // What evictors may ask; memory behind pages (eviction.cpp).
  bool evictable(ChunkId chunk) const override;
  policy::ChunkView view(ChunkId chunk) const override;
  Nanoseconds now() const override { return now_; }
  policy::ContentIndex incoming() const override { return incoming_; }
  std::uint32_t process() const override { return context_.process; }
  std::uint32_t free_chunks() const override;

  bool spared(BlockIndex block) const;
  policy::ContentIndex content(BlockIndex block, unsigned unit, unsigned gpu) const;
  ChunkId take(unsigned gpu, ChunkId victim);
  ChunkId select_victim(Work& work, unsigned gpu, policy::ContentIndex incoming, bool early);
  Nanoseconds unmap_victim(const Work& work, BlockIndex block, unsigned gpu, const PageMask& gone);
  PageMask push_out(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages, bool whole);
  void count_eviction(Work& work, unsigned gpu, std::uint64_t address, std::uint64_t copied_bytes);
  void empty_root(Work& work, unsigned gpu, ChunkId victim);
  void empty_small(Work& work, unsigned gpu);
  void leave_evicted(Work& work, BlockIndex block, unsigned gpu, const PageMask& gone);
  bool may_leave_to_spare(BlockIndex block) const;
  void evict_to_spare(Work& work, unsigned gpu, BlockIndex block, unsigned spare, const PageMask& gone,
                      const PageMask& copied);
  Nanoseconds arrive_in_spare(BlockIndex block, unsigned spare, const PageMask& pages);
  void keep_reserve(Work& work, BlockIndex served, unsigned gpu);
  ChunkId own_chunk(BlockIndex block, unsigned gpu) const;
  void serve_early_victims(Work& work, BlockIndex served, unsigned gpu);
  void drop_contents(Nanoseconds now, unsigned gpu, BlockIndex block);
  void spend_page_tables(Work& work, BlockIndex block, unsigned gpu);
  void back(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages);
  void back_small(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages);
  void tell_allocated(unsigned gpu, ChunkId chunk, policy::ContentIndex content, BlockIndex block);
  ChunkId allocate_root(Work& work, BlockIndex block, unsigned gpu);
  void reclaim_batch(Work& work, BlockIndex block, unsigned gpu);
  void refuse_no_victim(const GpuMemory& memory) const;
  [[noreturn]] void nothing_to_evict(unsigned gpu) const;
  Nanoseconds chunk_ready(BlockIndex block, unsigned gpu, const PageMask& pages) const;
  void unpin(unsigned gpu);
  void tell_if_emptied(BlockIndex block, unsigned gpu, const PageMask& gone);
  void tell_if_discarded(BlockIndex block, unsigned gpu, const PageMask& here);
  void release_backing(BlockIndex block, unsigned gpu);

  void back_on_host(Work& work, BlockIndex block, const PageMask& pages);
  struct Path {
    ProcessorId from, to;  // one of them the host, or two GPUs
  };
  void copy(Work& work, BlockIndex block, const Path& path, Nanoseconds start, const PageMask& demanded,
            const PageMask& prefetched, TransferCause cause);
  Nanoseconds carry(Work& work, BlockIndex block, const Path& path, const policy::Route& way, Nanoseconds start,
                    const PageMask& demanded, const PageMask& prefetched, TransferCause cause);
  // Of pages on other GPUs, by GPU: how they come to the destination.
  struct Ways {
    std::uint32_t by_host = 0;  // a bit per GPU: through the host
    Nanoseconds on_host{};      // when what went through the host is there
    bool by_links(unsigned gpu) const { return (by_host >> gpu & 1) == 0; }
  };
  Ways ways_from_gpus(Work& work, BlockIndex block, unsigned gpu, const Migration& migration);
  void copy_from_host(Work& work, BlockIndex block, unsigned gpu, Nanoseconds ready, const PageMask& pages,
                      const PageMask& staged, const Migration& migration);
  void copy_from_peers(Work& work, BlockIndex block, unsigned gpu, Nanoseconds ready, PageMask pages,
                       const Migration& migration, const Ways& ways);
  void protect_on_peers(BlockIndex block, unsigned gpu, const PageMask& pages);
  void drop_copies(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages);
  void count_transfer(TransferDirection direction, TransferCause cause, std::uint64_t bytes);
  void emit_residency(unsigned gpu, Nanoseconds at);

  DriverContext& context_;
  HostTier host_tier_;
  Routing routing_;
  std::array<policy::Route, kMaxGpus> detours_;  // of the Ways in hand, by GPU that holds the pages; direct: none
  // Of the eviction in progress, for the queries.
  unsigned gpu_ = 0;
  Nanoseconds now_{};
  policy::ContentIndex incoming_;
  bool early_ = false;  // nothing waits for the victim,
  BlockIndex served_;   // and it must not be of the block that was just served
  std::span<const BlockIndex> spared_;
  std::vector<ChunkId> leaving_;  // victims of one operation that are emptied together
  std::vector<ChunkId> pinned_;   // chunks taken by the operation in progress
  std::vector<TransferEvent> runs_;
};

}  // namespace uvmsim::driver
