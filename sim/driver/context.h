// SPDX-License-Identifier: Apache-2.0
// State that every part of the driver works on: the machine's memory, links and translation, the policies, the costs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/common/sparse_table.h"
#include "sim/common/units.h"
#include "sim/config/system.h"
#include "sim/driver/hooks.h"
#include "sim/driver/page_table_channel.h"
#include "sim/events/counters.h"
#include "sim/events/event_sink.h"
#include "sim/gmmu/gmmu.h"
#include "sim/link/topology.h"
#include "sim/memory/address_space.h"
#include "sim/memory/gpu_memory.h"
#include "sim/memory/host_memory.h"
#include "sim/policy/batcher.h"
#include "sim/policy/features.h"
#include "sim/policy/future.h"
#include "sim/policy/migrator.h"
#include "sim/policy/policy.h"
#include "sim/policy/router.h"

namespace uvmsim::driver {

struct GpuState {
  GpuMemory memory;
  std::shared_ptr<policy::Evictor> evictor;
  gmmu::Gmmu mmu;
  bool evictor_sees_touches = false;  // information class D2 or higher
  std::uint64_t resident_pages = 0;
  PlanHooks* plan = nullptr;                        // null: no planner
  std::shared_ptr<policy::Migrator> migrator = {};  // null: every faulted page migrates to the GPU
  bool migrator_hears_kernels = false;              // information class D3 or higher
  bool oversubscribed = false;                      // evictions have happened
  std::shared_ptr<policy::Router> router = {};      // null: copies take the direct link between their ends
  bool router_hears_kernels = false;                // information class D3 or higher
  std::uint32_t running_kernels = 0;                // copies and memsets included
  PageTableChannel page_tables = {};
  std::shared_ptr<policy::Batcher> batcher = {};  // null: the batches of the driver, by address
  Nanoseconds batch_decision_cost{};
  std::string batch_label = {};  // for messages
  // Pages per process, indexed by region of the address space; empty unless processes share the GPU.
  struct ProcessPages {
    std::uint64_t resident = 0, most_resident = 0;
  };
  std::vector<ProcessPages> process_pages = {};

  void add_resident(const VaBlock& block, std::uint64_t pages) {
    resident_pages += pages;
    if (process_pages.empty()) return;
    ProcessPages& process = process_pages[block.region];
    process.resident += pages;
    if (process.resident > process.most_resident) process.most_resident = process.resident;
  }
  void drop_resident(const VaBlock& block, std::uint64_t pages) {
    resident_pages -= pages;
    if (!process_pages.empty()) process_pages[block.region].resident -= pages;
  }
};

// A set of pages, by block, common to all GPUs.
class MarkedPages {
 public:
  bool kept = false;  // a policy wants the marks; otherwise no page is marked
  void mark(BlockIndex b, const PageMask& pages) {
    if (!kept || pages.empty()) return;
    marked_[b.value] |= pages;
  }
  // Clears the marks of the pages. Returns the pages that were marked.
  PageMask take(BlockIndex b, const PageMask& pages) {
    PageMask* const marked = marked_.find(b.value);
    if (marked == nullptr) return {};
    const PageMask taken = *marked & pages;
    *marked -= taken;
    return taken;
  }
  void add_state(StateDigest& digest) const {
    marked_.for_each([&](std::uint64_t b, const PageMask& marked) {
      if (marked.empty()) return;
      digest.add(b);
      add_mask(digest, marked);
    });
  }

 private:
  SparseTable<PageMask> marked_;
};

// Pages that were prefetched and that no kernel is known to have used since. Listeners hear of their first use, and of
// pages that leave unused.
class PrefetchHistory : public MarkedPages {
 public:
  std::vector<policy::FeatureListener*> listeners = {};

  void used(BlockIndex b, const PageMask& pages) {
    if (!kept) return;
    const PageMask first = take(b, pages);
    if (first.empty()) return;
    for (policy::FeatureListener* listener : listeners) listener->on_prefetch_used(b, first);
  }
  void left(BlockIndex b, const PageMask& pages) {
    if (!kept) return;
    const PageMask wasted = take(b, pages);
    if (wasted.empty()) return;
    for (policy::FeatureListener* listener : listeners) listener->on_prefetch_wasted(b, wasted);
  }
};

// The future that an evictor or prefetcher of class D4 (policies that know the future) is told, and the size of the
// pieces of memory that it names.
struct KnownFuture {
  policy::Future* future;
  std::uint64_t content_bytes;
};

class ChunkPrefetch;
class Harvest;
class HarvestMoves;
class SystemMemory;

struct DriverContext {
  const config::SystemConfig& system;
  AddressSpace& space;
  std::vector<GpuState>& gpus;
  link::Topology& topology;
  HostMemory& host_memory;
  policy::Prefetcher& prefetcher;
  Nanoseconds prefetch_decision_cost{};
  Nanoseconds evict_decision_cost{};
  Counters& counters;
  EventSink* events = nullptr;
  EventSink* accounts = nullptr;  // equal to `events` if that sink wants accounts, else null
  std::uint64_t host_resident_pages = 0;
  std::vector<KnownFuture> futures = {};  // of policies of class D4
  MarkedPages access_bits = {};           // pages that kernels are known to have used since they arrived
  PrefetchHistory prefetch_history = {};
  std::vector<policy::FeatureListener*> listeners = {};  // policies that hear of faults and kernels; mostly none

  Nanoseconds migrate_decision_cost{};
  Nanoseconds route_decision_cost{};
  std::string evict_label = {}, route_label = {};  // for messages
  Harvest* harvest = nullptr;                      // memory that GPUs lend to each other; null: none
  HarvestMoves* harvest_moves = nullptr;           // this process's part of it
  ChunkPrefetch* ahead = nullptr;                  // null: no prefetch beyond fault batches
  SystemMemory* system_memory = nullptr;           // null: GPUs can access managed memory only
  // The contexts of all processes that share the GPUs, by region of the address space; empty if GPUs are not shared.
  // `evicted_from` counts the evictions that this process made, by the region that lost memory.
  std::vector<DriverContext*> processes = {};
  std::uint32_t process = 0;  // the index of this process in `processes`
  std::vector<std::uint64_t> evicted_from = {};

  // Returns the context of the process that the block belongs to.
  DriverContext& owner(BlockIndex b) { return processes.empty() ? *this : *processes[space.block(b).region]; }

  // Costs of the steps within a call of the program, because the call is charged as a whole; null outside of calls.
  const config::DriverCosts* call_costs = nullptr;
  const config::DriverCosts& costs() const { return call_costs != nullptr ? *call_costs : system.costs; }
  // Returns the pages with the hint.
  PageMask read_mostly(BlockIndex b) const {
    return space.pages_where(b, [](const Hints& hints) { return hints.read_mostly; });
  }
  PageMask accessed_by(BlockIndex b, ProcessorId processor) const {
    return space.pages_where(b, [&](const Hints& hints) { return (hints.accessed_by & processor.bit()) != 0; });
  }
  // Grows the pages to whole pages of the driver (`driver.page_bytes`), within the block.
  PageMask whole_pages(BlockIndex b, const PageMask& pages) const {
    return pages.grown_to(static_cast<unsigned>(system.driver.page_bytes / kBasePageBytes)) & space.block(b).extent();
  }
};

// The effects of moves of pages, for the operation that they belong to.
struct Moved {
  bool copied = false;          // demanded pages crossed a link
  bool populated = false;       // pages were populated on a GPU
  std::uint32_t evictions = 0;  // chunks that were emptied to make room
  std::uint64_t evicted_pages = 0;

  Moved& operator+=(const Moved& other) {
    copied = copied || other.copied;
    populated = populated || other.populated;
    evictions += other.evictions;
    evicted_pages += other.evicted_pages;
    return *this;
  }
};

// The time line of one driver operation: the time that its CPU thread has reached, and the end of the last GPU work
// that it pushed (copies, memsets, page-table writes). Both proceed independently until one waits for the other.
struct Work {
  Nanoseconds cpu{};
  Nanoseconds pushed{};

  explicit Work(Nanoseconds start) : cpu(start), pushed(start) {}
  void spend(std::uint64_t ns) { cpu += Nanoseconds(static_cast<std::int64_t>(ns)); }
  void await(Nanoseconds completion) {
    if (completion > pushed) pushed = completion;
  }
  Nanoseconds done() const { return cpu > pushed ? cpu : pushed; }
};

inline policy::GpuMemoryUse memory_use(const GpuState& gpu) {
  return {gpu.memory.chunk_count(), gpu.memory.free_chunks(), gpu.oversubscribed};
}

constexpr std::uint64_t virtual_address(BlockIndex block, unsigned page) {
  return block.value * kBlockBytes + page * kBasePageBytes;
}

// Reports pages of a block that came to a GPU or left it: one event per contiguous run.
inline void tell_residency(EventSink& sink, unsigned gpu, BlockIndex block, const PageMask& pages,
                           ResidencyChange change, Nanoseconds at) {
  pages.for_each_run([&](unsigned first, unsigned count) {
    sink.on(ResidentPagesEvent{static_cast<std::int32_t>(gpu), change, virtual_address(block, first),
                               count * kBasePageBytes, at});
  });
}

}  // namespace uvmsim::driver
