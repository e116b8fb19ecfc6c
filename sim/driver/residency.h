// SPDX-License-Identifier: Apache-2.0
// Migration of pages: makes them resident on a GPU or on the host.
//
// Follows NVIDIA UVM 580 uvm_va_block.c: unmap, populate, zero, copy, update residency, mark the chunk used. A move is
// planned (masks), applied (state), charged (time on a Work time line) and announced (events, counters, policies), in
// this order. The parts are the memory that pages come to (ChunkSupply), how they leave (Departures), links
// (PageCopies) and the host's memory (HostTier).
#pragma once

#include <span>
#include <vector>

#include "sim/driver/chunk_supply.h"
#include "sim/driver/routing.h"

namespace uvmsim::driver {

// The pages to make resident, and why. `demanded` and `prefetched` are disjoint; either may be empty.
struct Migration {
  PageMask demanded;
  PageMask prefetched;
  TransferCause cause = TransferCause::kFault;  // cause of the demanded pages; that of prefetched pages is kPrefetch
  bool duplicate = false;                       // read duplication: sources keep their copies
  bool staged = false;                          // to the host on the way to a GPU: the pages are not mapped there
  const policy::Route* way = nullptr;           // route of pages that the host holds; null: the route policy is asked
  std::span<const BlockIndex> spared = {};      // blocks whose memory is not evicted; ascending

  PageMask pages() const { return demanded | prefetched; }
  Load part(const PageMask& mask) const { return {demanded & mask, prefetched & mask, cause}; }
  policy::MoveCause cause_of(const PageMask& moved) const {
    return demanded.intersects(moved) ? move_cause(cause) : policy::MoveCause::kPrefetch;
  }
};

class Residency {
 public:
  explicit Residency(DriverContext& context)
      : context_(context),
        copies_(context),
        host_tier_(context),
        backing_(context),
        departures_(context, copies_, host_tier_, backing_),
        chunks_(context, backing_, departures_) {}

  // Makes the pages resident on the GPU, evicting when it is full. Pages resident nowhere are populated with zeros. The
  // caller must map them (map_local).
  Moved to_gpu(Work& work, BlockIndex block, unsigned gpu, const Migration& migration);
  Moved to_host(Work& work, BlockIndex block, const Migration& migration);
  Moved move(Work& work, BlockIndex block, ProcessorId destination, const Migration& migration) {
    return destination.is_host() ? to_host(work, block, migration) : to_gpu(work, block, destination.gpu(), migration);
  }

  ChunkSupply& chunks() { return chunks_; }
  Departures& departures() { return departures_; }
  PageCopies& copies() { return copies_; }
  HostTier& host_tier() { return host_tier_; }

 private:
  // The routes of pages on other GPUs to their destination.
  struct Ways {
    std::uint32_t by_host = 0;           // bits of the GPUs whose pages go through the host
    PageMask open;                       // pages that were on the host before: the route policy is asked for them
    Nanoseconds on_host{};               // when pages that go through the host arrive there
    std::vector<policy::Route> detours;  // by GPU that holds the pages; empty: no detour
    Moved moved;                         // moves to the host
    bool by_links(unsigned gpu) const { return (by_host >> gpu & 1) == 0; }
    policy::Route detour(unsigned gpu) const { return detours.empty() ? policy::Route{} : detours[gpu]; }
  };
  // The pages of a move to a GPU, by what is done with them.
  struct Arrival {
    PageMask absent;  // not on the GPU yet: each is in one of the next three sets
    PageMask from_peers, from_host, populated;
    PageMask again;       // were evicted before and return
    PageMask host_loses;  // pages that the host may no longer access (or, with read duplication, write)
    PageMask duplicated;  // including pages that stay where they are
  };
  Ways ways_from_gpus(Work& work, BlockIndex block, unsigned gpu, const Migration& migration);
  Arrival plan(BlockIndex block, unsigned gpu, const Migration& migration, const Ways& ways) const;
  void apply(BlockIndex block, unsigned gpu, const Migration& migration, const Arrival& arrival);
  bool charge(Work& work, BlockIndex block, unsigned gpu, const Migration& migration, const Arrival& arrival,
              const Ways& ways);
  void announce(const Work& work, BlockIndex block, unsigned gpu, const Migration& migration, const Arrival& arrival);
  void copy_from_host(Work& work, BlockIndex block, unsigned gpu, Nanoseconds ready, const PageMask& pages,
                      const PageMask& open, const Migration& migration);
  bool copy_from_peers(Work& work, BlockIndex block, unsigned gpu, Nanoseconds ready, PageMask pages,
                       const Migration& migration, const Ways& ways);
  policy::Route way_to_host(Work& work, BlockIndex block, unsigned gpu, const PageMask& copied,
                            const Migration& migration);

  DriverContext& context_;
  PageCopies copies_;
  HostTier host_tier_;
  Backing backing_;
  Departures departures_;
  ChunkSupply chunks_;
};

}  // namespace uvmsim::driver
