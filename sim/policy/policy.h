// The policy slots: what a policy sees, when it is called, what it may answer.
//
// A policy is one C++ class that derives from one slot, Prefetcher or Evictor below or Planner (planner.h), declares
// itself with UVMSIM_POLICY (registry.h) and lives in one file. Calls are synchronous; they take no simulated time
// unless PolicyInfo::decision_cost says so. The core owns safety: it clips prefetches to the block and to pages that
// are not resident, checks every victim, and reports nonsense as an error that names the policy.
#pragma once

#include <cstdint>
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

enum class Slot : std::uint8_t { kPrefetch, kEvict, kPlan };

// What a policy may know; printed in every result. A slot object of class D0..D3 is never given a call of a higher one.
enum class InformationClass : std::uint8_t {
  kD0,  // faults and migrations: what today's driver sees
  kD1,  // + access-counter notifications
  kD2,  // + access bits: which chunks a kernel touched
  kD3,  // + kernel boundaries and tensor hints
  kD4,  // the future
};

struct PolicyInfo {
  std::string name = {};         // lower_case, unique within its slot; empty: the name given to UVMSIM_POLICY
  std::string description = {};  // one line
  std::string source = {};       // paper or driver file the policy follows
  InformationClass information = InformationClass::kD0;
  Nanoseconds decision_cost{};  // charged to the driver's time line per decision (one prefetch or victim call)
};

// Gives a policy its parameters and its own deterministic random numbers. Valid only during the constructor.
struct PolicyContext {
  const Parameters& parameters;
  Random random;              // seeded from the run's seed, the slot and the policy's name
  std::uint32_t chunk_count;  // root chunks of the GPU this instance serves: evictors see ids 0 .. chunk_count - 1
};

// One VA block as the driver services faults on it.
struct FaultedBlock {
  BlockIndex block;
  // Pages of the block that belong to its allocation are [first_page, end_page); all masks lie inside.
  unsigned first_page = 0;
  unsigned end_page = kPagesPerBlock;
  const PageMask& resident;               // on the destination
  const PageMask& faulted;                // pages of this batch being serviced to the destination
  const PageMask& thrashing;              // pages the thrashing heuristic has flagged
  bool destination_is_preferred = false;  // the destination is the block's preferred location
  bool resident_nowhere = false;          // no page of the block is resident on any processor
  bool to_host = false;                   // a CPU fault: the destination is the host
  Nanoseconds now{};
};

// Slot `prefetch`: which more pages of a block come along with its faulting pages.
class Prefetcher {
 public:
  virtual ~Prefetcher() = default;

  // Called once per block of a fault batch (and per CPU fault), before anything moves. Returns pages to migrate with
  // the faulted ones. The core removes pages that are resident, faulted or outside [first_page, end_page).
  // Pages resident nowhere are populated (zero-filled) instead of copied.
  virtual PageMask prefetch(const FaultedBlock& block) = 0;

  // Called when the block's allocation was freed: what the policy remembers of the block is void.
  virtual void on_freed(BlockIndex block) { static_cast<void>(block); }

  // Adds all that later answers depend on, so that a repeated iteration which finds everything as an earlier one did
  // need not be replayed. Without it every iteration is.
  virtual void add_state(StateDigest& digest) const { digest.refuse(); }
};

struct ChunkView {
  BlockIndex block;              // VA block it backs (the first of several when the chunk is split)
  std::uint32_t resident_pages;  // 4 KB pages resident in it
};

// What an evictor may ask while it selects a victim.
class EvictionQueries {
 public:
  // False for chunks that are free, pinned by the operation in progress, or already being evicted.
  virtual bool evictable(ChunkId chunk) const = 0;
  virtual ChunkView view(ChunkId chunk) const = 0;
  virtual Nanoseconds now() const = 0;

 protected:
  ~EvictionQueries() = default;
};

// Slot `evict`: which root chunk gives way when an allocation on a full GPU fails.
//
// Events come in driver order. A chunk is on exactly one of: free, used, unused (allocated, nothing resident),
// discarded. chunk_list.h has lists of chunks that are linked and unlinked without allocation.
class Evictor {
 public:
  virtual ~Evictor() = default;

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
  // A kernel touched resident pages of the chunk. Only for policies of class D2 and up; once per kernel phase and
  // chunk, in the order of first touch.
  virtual void on_touched(ChunkId chunk) { static_cast<void>(chunk); }

  // Called when an allocation fails. Must return a chunk for which queries.evictable() holds, and ChunkId{} only when
  // there is none. Must not change the policy's lists: on_released follows for the chunk that really went.
  virtual ChunkId select_victim(const EvictionQueries& queries) = 0;

  // As Prefetcher::add_state. `names`, by chunk: what to add instead of a chunk's id.
  virtual void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const {
    static_cast<void>(names);
    digest.refuse();
  }
};

}  // namespace uvmsim::policy
