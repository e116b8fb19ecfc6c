// SPDX-License-Identifier: Apache-2.0
// What every part of the driver works on: the machine's memory, links and translation, the policies, the bill.
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

// One GPU as the driver sees it.
struct GpuState {
  GpuMemory memory;
  std::shared_ptr<policy::Evictor> evictor;
  gmmu::Gmmu mmu;
  bool evictor_sees_touches = false;  // information class D2 or higher
  std::uint64_t resident_pages = 0;
  PlanHooks* plan = nullptr;                        // null: no planner
  std::shared_ptr<policy::Migrator> migrator = {};  // null: what faults comes to the GPU
  bool migrator_hears_kernels = false;              // information class D3 or higher
  bool oversubscribed = false;                      // something was evicted
  std::shared_ptr<policy::Router> router = {};      // null: memory takes the link that joins its ends
  bool router_hears_kernels = false;                // likewise
  std::uint32_t running_kernels = 0;                // copies and memsets with them
  PageTableChannel page_tables = {};
  std::shared_ptr<policy::Batcher> batcher = {};  // null: the driver takes what is there
  Nanoseconds batch_decision_cost{};
  std::string batch_label = {};  // for messages
  // Where processes share the GPU, by region of the address space; else empty.
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

// Marked pages of GPUs: by block, for all GPUs.
class MarkedPages {
 public:
  bool kept = false;  // some policy wants them; else none are ever marked
  void mark(BlockIndex b, const PageMask& pages) {
    if (!kept || pages.empty()) return;
    marked_[b.value] |= pages;
  }
  // They are marked no more. Returns which of them were.
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

// Pages that were prefetched and that no kernel is known to have used since. Who listens hears of their first use, and
// of those that leave unused.
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

// The future as an evictor or the prefetcher of class D4 knows it, and the size of its contents.
struct KnownFuture {
  policy::Future* future;
  std::uint64_t content_bytes;
};

inline MoveHooks no_hooks;
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
  EventSink* events = nullptr;    // may be null
  EventSink* accounts = nullptr;  // the same if it wants accounts, else null
  std::uint64_t host_resident_pages = 0;
  std::vector<KnownFuture> futures = {};  // of the policies that know it
  MarkedPages access_bits = {};           // pages that kernels have used since they came, as far as was looked
  PrefetchHistory prefetch_history = {};
  std::vector<policy::FeatureListener*> listeners = {};  // policies that hear of faults and kernels; mostly none

  Nanoseconds migrate_decision_cost{};
  Nanoseconds route_decision_cost{};
  std::string evict_label = {}, route_label = {};  // for messages
  MoveHooks* hooks = &no_hooks;                    // who takes part in moving memory; never null
  SystemMemory* system_memory = nullptr;           // null: GPUs reach no memory but managed
  // Of a program that shares GPUs with others: what the driver keeps of each process, by region of the address space,
  // and from whom this one's evictions took memory. Empty: not shared.
  std::vector<DriverContext*> processes = {};
  std::uint32_t process = 0;  // its own place there
  std::vector<std::uint64_t> evicted_from = {};

  // Of the process that the block belongs to.
  DriverContext& owner(BlockIndex b) { return processes.empty() ? *this : *processes[space.block(b).region]; }

  // Within a call of the program, whose work is charged as a whole, what its steps cost beside that; else null.
  const config::DriverCosts* call_costs = nullptr;
  const config::DriverCosts& costs() const { return call_costs != nullptr ? *call_costs : system.costs; }
  // Pages with the hint.
  PageMask read_mostly(BlockIndex b) const {
    return space.pages_where(b, [](const Hints& hints) { return hints.read_mostly; });
  }
  PageMask accessed_by(BlockIndex b, ProcessorId processor) const {
    return space.pages_where(b, [&](const Hints& hints) { return (hints.accessed_by & processor.bit()) != 0; });
  }
  // What of the block the given pages take as whole pages of the driver (`driver.page_bytes`).
  PageMask whole_pages(BlockIndex b, const PageMask& pages) const {
    return pages.grown_to(static_cast<unsigned>(system.driver.page_bytes / kBasePageBytes)) & space.block(b).extent();
  }
};

// The time line of one driver operation: what its CPU thread has done, and when the last of the GPU work that it pushed
// (copies, memsets, page-table writes) completes. The two overlap until one waits.
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

// Pages of a block came to a GPU or left it: an event per contiguous run.
inline void tell_residency(EventSink& sink, unsigned gpu, BlockIndex block, const PageMask& pages,
                           ResidencyChange change, Nanoseconds at) {
  pages.for_each_run([&](unsigned first, unsigned count) {
    sink.on(ResidentPagesEvent{static_cast<std::int32_t>(gpu), change, virtual_address(block, first),
                               count * kBasePageBytes, at});
  });
}

}  // namespace uvmsim::driver
