// SPDX-License-Identifier: Apache-2.0
// The policy slots: the inputs of a policy, when it is called, and its possible answers.
//
// A policy is one C++ class that derives from one slot, Prefetcher or Evictor below, Planner (planner.h), Migrator
// (migrator.h), Router (router.h), Scheduler (scheduler.h) or Batcher (batcher.h), declares itself with UVMSIM_POLICY
// (registry.h) and lives in one file. Calls are synchronous; they take no simulated time unless
// PolicyInfo::decision_cost says so. The core ensures safety: it clips prefetches to the block and to pages that are
// not resident, checks every victim, and reports an invalid answer as an error that names the policy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/memory/chunk_id.h"
#include "sim/memory/page_mask.h"
#include "sim/policy/parameters.h"

namespace uvmsim::policy {

// The information that a policy may use; printed in every result. A policy of class D0..D3 never receives a call of a
// higher class. There are no queries for the future: constructors of class D4 receive a `Future` (future.h).
enum class InformationClass : std::uint8_t {
  kD0,  // faults and migrations: what today's driver sees
  kD1,  // + access-counter notifications
  kD2,  // + access bits: which chunks a kernel touched
  kD3,  // + kernel boundaries and tensor hints
  kD4,  // the future
};

// The chunk sizes of an evictor that the user may choose with the parameter `granularity`.
enum class Granularity : std::uint8_t {
  kRootChunk,  // 2 MB only: no parameter
  kEither,     // 2m (default) or 64k
  kBigPage,    // 64 KB only: no parameter
};

struct PolicyInfo {
  std::string name = {};         // lower_case, unique within its slot; empty: the name given to UVMSIM_POLICY
  std::string description = {};  // one line
  std::string source = {};       // paper or driver file the policy follows
  InformationClass information = InformationClass::kD0;
  Nanoseconds decision_cost{};  // charged to the driver's time line per decision (one prefetch or victim call)
  Granularity granularity = Granularity::kRootChunk;
  // It chooses between processes on one GPU; with one process it behaves as a policy without this flag.
  bool for_processes = false;
};

// Gives a policy its parameters and its own deterministic random numbers. Valid only during the constructor.
struct PolicyContext {
  const Parameters& parameters;
  Random random;              // seeded from the run's seed, the slot and the policy's name
  std::uint32_t chunk_count;  // chunks of the GPU this instance serves: evictors see ids 0 .. chunk_count - 1
  std::uint64_t chunk_bytes = kBlockBytes;  // size of a chunk; for evictors determined by Granularity
};

// Pages [first, end) of the simulated address space: page p of block b is b * kPagesPerBlock + p.
struct PageSpan {
  PageIndex first, end;
  bool operator==(const PageSpan&) const = default;
};

// One VA block as the driver services faults on it.
struct FaultedBlock {
  BlockIndex block;
  PageSpan allocation = {};  // the whole blocks of the allocation that the block belongs to
  // Pages of the block that belong to its allocation are [first_page, end_page); all masks are within them.
  unsigned first_page = 0;
  unsigned end_page = kPagesPerBlock;
  const PageMask& resident;               // on the destination
  const PageMask& faulted;                // pages of this batch being serviced to the destination
  const PageMask& thrashing;              // pages the thrashing heuristic has flagged
  bool destination_is_preferred = false;  // the destination is the block's preferred location
  bool resident_nowhere = false;          // no page of the block is resident on any processor
  bool to_host = false;                   // a CPU fault: the destination is the host
  std::uint32_t process = 0;              // the process that faulted: its place among the programs of a server
  Nanoseconds now{};
};

// Queries for a prefetcher that fetches beyond the faulted block.
class PrefetchQueries {
 public:
  // Returns pages of the block that belong to a live allocation and are on no GPU; empty for a block that does not
  // exist.
  virtual PageMask missing(BlockIndex block) const = 0;
  // Returns the free memory of the GPU, in chunks of 2 MB.
  virtual std::uint32_t free_chunks() const = 0;

 protected:
  ~PrefetchQueries() = default;
};

// The slot `prefetch`: chooses pages to fetch with the faulting ones.
class Prefetcher {
 public:
  virtual ~Prefetcher() = default;

  // Called once per block of a fault batch (and per CPU fault), before anything moves. Returns pages to migrate with
  // the faulted ones. The core removes pages that are resident, faulted or outside [first_page, end_page).
  // Pages resident nowhere are populated (zero-filled) instead of copied.
  virtual PageMask prefetch(const FaultedBlock& block) = 0;

  // Called after prefetch() for a fault of a GPU: appends pages of other blocks to fetch as well to `spans`, the most
  // urgent first. The core fetches them when all faulted blocks of the batch are served, block by block in this order,
  // if they are in live allocations and on no GPU. It evicts for them as for faults, but never a block that the batch
  // fetched; without room a block is skipped. Blocks with hints, pages with copies on several processors and thrashing
  // pages are skipped.
  virtual void prefetch_beyond(const FaultedBlock& block, const PrefetchQueries& queries,
                               std::vector<PageSpan>& spans) {
    static_cast<void>(block);
    static_cast<void>(queries);
    static_cast<void>(spans);
  }

  // Reports pages that left a GPU by eviction. `touched`, for policies of class D2 and up, are those that a kernel is
  // known to have used since they came.
  virtual void on_evicted(BlockIndex block, const PageMask& pages, const PageMask& touched) {
    static_cast<void>(block);
    static_cast<void>(pages);
    static_cast<void>(touched);
  }

  // Called when the block's allocation was freed: the policy's state for the block is no longer valid.
  virtual void on_freed(BlockIndex block) { static_cast<void>(block); }

  // Adds everything that later answers depend on, so that an iteration that begins in the same state as an earlier one
  // need not be replayed. Without it every iteration is replayed.
  virtual void add_state(StateDigest& digest) const { digest.refuse(); }
};

// The content of a chunk as a number: virtual address / chunk size. Neighbours in memory are neighbours in number. With
// 2 MB chunks it is the VA block's index.
using ContentIndex = Quantity<struct ContentIndexTag, std::uint64_t>;

struct ChunkView {
  ContentIndex content;              // if several short blocks share the root chunk, the first
  std::uint32_t resident_pages = 0;  // 4 KB pages resident in it
  std::uint32_t unsaved_pages = 0;   // those without a valid copy elsewhere: an eviction has to write them back
};

// The content of memory for device allocations, which holds no managed memory.
inline constexpr ContentIndex kNoContent{~std::uint64_t{0}};

// Queries for an evictor while it selects a victim.
class EvictionQueries {
 public:
  // Returns false for chunks that are free, pinned by the operation in progress, or already being evicted.
  virtual bool evictable(ChunkId chunk) const = 0;
  virtual ChunkView view(ChunkId chunk) const = 0;
  virtual Nanoseconds now() const = 0;
  // The content that needs the memory; kNoContent for a device allocation.
  virtual ContentIndex incoming() const = 0;
  virtual std::uint32_t free_chunks() const = 0;
  // The process that needs the memory: its place among the programs of a server.
  virtual std::uint32_t process() const { return 0; }

 protected:
  ~EvictionQueries() = default;
};

// The slot `evict`: chooses the chunk of GPU memory to evict when an allocation on a full GPU fails. A chunk is a root
// chunk of 2 MB, as in the driver, or 64 KB if the user asks for it and the policy offers it (PolicyInfo::granularity).
//
// Events come in driver order. A chunk is on exactly one of: free, used, unused (allocated, nothing resident),
// discarded. chunk_list.h and chunk_heap.h order chunks without allocation, ghost_list.h remembers what left;
// cache_policy.h turns these events into those of a cache.
class Evictor {
 public:
  virtual ~Evictor() = default;

  // The chunk was taken for `content`, which was not in GPU memory; on_migrated() follows when it has arrived. (A root
  // chunk that short blocks share is taken for the first of them.)
  virtual void on_allocated(ChunkId chunk, ContentIndex content) {
    static_cast<void>(chunk);
    static_cast<void>(content);
  }
  // Follows on_allocated() if several processes share the GPU: the chunk holds memory of this process, named by its
  // place among the programs of a server. Not called with one process.
  virtual void on_process(ChunkId chunk, std::uint32_t process) {
    static_cast<void>(chunk);
    static_cast<void>(process);
  }
  // Called at turns if several processes share the GPU in time: the first process computes from now on, and the others
  // follow in the order that the scheduler expects (scheduler.h).
  virtual void on_turn(std::span<const std::uint32_t> processes) { static_cast<void>(processes); }
  // A residency operation with this GPU as destination finished on the chunk's block, or the chunk was just unpinned
  // after its allocation: the chunk is in use. Called again on every later fault service, prefetch call or migration
  // that ends in the chunk, also when every page was resident already. (Driver: moved to the tail of USED.)
  virtual void on_migrated(ChunkId chunk) = 0;
  // The chunk lost its last resident page without eviction. (Driver: tail of UNUSED.)
  virtual void on_emptied(ChunkId chunk) { on_migrated(chunk); }
  // Every page of the chunk was discarded by the program. (Driver: tail of DISCARDED.)
  virtual void on_discarded(ChunkId chunk) { on_emptied(chunk); }
  // The chunk left the evictor's care: it was evicted (after select_victim returned it) or its allocation was freed.
  virtual void on_released(ChunkId chunk) = 0;
  // The allocation of `content` was freed, resident or not: the policy's state for it is no longer valid. Called after
  // on_released().
  virtual void on_freed(ContentIndex content) { static_cast<void>(content); }
  // A kernel touched resident pages of the chunk. Class D2 and up only; once per kernel phase and chunk, in the order
  // of first touch.
  virtual void on_touched(ChunkId chunk) { static_cast<void>(chunk); }

  // Called when an allocation fails. Must return a chunk for which queries.evictable() holds, or ChunkId{} if there is
  // none; any other answer ends the run. The chunk is evicted: on_released() follows at once. The policy may therefore
  // move its clock hand, learn from queries.incoming() or remember the victim here, once per call.
  virtual ChunkId select_victim(const EvictionQueries& queries) = 0;
  // Called after an operation that migrated pages to this GPU, until it returns ChunkId{}: returns a chunk to evict
  // although nothing waits for memory. The same rules hold; the memory stays free. By default nothing is evicted early.
  virtual ChunkId select_early_victim(const EvictionQueries& queries) {
    static_cast<void>(queries);
    return {};
  }

  // See Prefetcher::add_state. `names` holds by chunk the value to add instead of the chunk's id.
  virtual void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const {
    static_cast<void>(names);
    digest.refuse();
  }
};

}  // namespace uvmsim::policy
