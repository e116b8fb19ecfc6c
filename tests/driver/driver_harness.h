// SPDX-License-Identifier: Apache-2.0
// A machine of tiny GPUs with the whole driver and without the engine: tests call the driver as the engine would and
// check the address space, the counters and the events.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "sim/driver/access_counters.h"
#include "sim/driver/host_faults.h"
#include "sim/driver/mappings.h"
#include "sim/driver/user_calls.h"
#include "sim/engine/audit.h"
#include "sim/policy/registry.h"

namespace uvmsim::driver {

inline PageMask pages(std::initializer_list<unsigned> list) {
  PageMask mask;
  for (const unsigned page : list) mask.set(page);
  return mask;
}
inline PageMask page_range(unsigned first, unsigned end) { return PageMask::range(first, end - first); }

struct EventLog final : EventSink {
  void on(const TransferEvent& event) override { transfers.push_back(event); }
  void on(const StorageEvent& event) override { storage.push_back(event); }
  void on(const EvictionEvent& event) override { evictions.push_back(event); }
  void on(const CpuFaultEvent& event) override { cpu_faults.push_back(event); }
  void on(const RemoteMapEvent& event) override { remote_maps.push_back(event); }
  void on(const ThrashingEvent& event) override { thrashing.push_back(event); }
  void clear() { *this = EventLog{}; }

  std::vector<TransferEvent> transfers;
  std::vector<StorageEvent> storage;
  std::vector<EvictionEvent> evictions;
  std::vector<CpuFaultEvent> cpu_faults;
  std::vector<RemoteMapEvent> remote_maps;
  std::vector<ThrashingEvent> thrashing;
};

// Returns PCIe GPUs of four SMs, with every cost at its default.
inline config::SystemConfig tiny_system(unsigned gpus = 1) {
  config::SystemConfig system;
  system.name = "tiny";
  config::GpuConfig gpu;
  gpu.memory_bytes = std::uint64_t{1} << 30;
  gpu.sm_count = 4;
  gpu.memory_bytes_per_us = 1000000;
  config::LinkConfig link;
  link.kind = "pcie";
  link.host_to_device = link.device_to_host = {1500, 100, 50000};
  system.gpus.assign(gpus, gpu);
  system.host_links.assign(gpus, link);
  return system;
}

class Machine {
 public:
  // `chunks` root chunks (2 MB) per GPU; the prefetch policy is tree unless `other` is given.
  explicit Machine(std::uint32_t chunks, const config::SystemConfig& config = tiny_system(),
                   const std::string& evictor = "lrm", const policy::GivenParameters& parameters = {},
                   std::shared_ptr<policy::Prefetcher> other = nullptr)
      : system(config),
        space(static_cast<unsigned>(config.gpus.size())),
        host(system.host.memory_bytes, system.host.reclaim_bytes),
        topology(system),
        prefetcher(other ? std::move(other) : policy::built_ins()->create<policy::Prefetcher>("tree", {}, 1, chunks)),
        gpus(make_gpus(chunks, evictor, parameters)),
        context{system, space, gpus, topology, host, *prefetcher, Nanoseconds{}, Nanoseconds{}, counters, &events},
        residency(context),
        thrashing(context),
        faults(context, residency, thrashing),
        access_counters(context, faults),
        host_faults(context, residency, thrashing),
        user(context, residency, thrashing) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Sets the route policy of all GPUs, by its name or as an object.
  void use_router(const std::string& name, const policy::GivenParameters& parameters = {}) {
    const policy::PolicyEntry& entry = policy::built_ins()->find(policy::Slot::kRoute, name);
    for (unsigned gpu = 0; gpu < gpus.size(); ++gpu) {
      gpus[gpu].router = entry.create<policy::Router>(parameters, 1 + gpu, gpus[gpu].memory.chunk_count());
    }
    context.route_label = entry.label_with_origin();
  }
  void use_router(const std::shared_ptr<policy::Router>& router) {
    for (GpuState& gpu : gpus) gpu.router = router;
    context.route_label = "route policy 'script'";
  }

  // Allocates a range; returns its first block.
  BlockIndex allocate(std::uint64_t bytes = kBlockBytes, std::uint64_t offset_in_block = 0) {
    return space.allocate(offset_in_block, bytes);
  }

  // Serves one fault batch of one GPU: distinct pages of one block, all with one access.
  BatchSummary gpu_access(BlockIndex block, const PageMask& faulted, bool write = false, unsigned gpu = 0) {
    std::vector<gmmu::FaultEntry> batch;
    faulted.for_each([&](unsigned page) {
      gmmu::FaultEntry entry;
      entry.fault.page = PageIndex(block.value * kPagesPerBlock + page);
      entry.fault.access = write ? gmmu::FaultAccess::kWrite : gmmu::FaultAccess::kRead;
      entry.fault.arrival = now;
      batch.push_back(entry);
    });
    const BatchSummary summary = faults.service(gpu, batch, now);
    advance_to(summary.end);
    return summary;
  }
  BatchSummary gpu_read(BlockIndex block, const PageMask& faulted, unsigned gpu = 0) {
    return gpu_access(block, faulted, false, gpu);
  }
  BatchSummary gpu_write(BlockIndex block, const PageMask& faulted, unsigned gpu = 0) {
    return gpu_access(block, faulted, true, gpu);
  }
  // Touches one page with the CPU until it may go on.
  void cpu_access(BlockIndex block, unsigned page, bool write) {
    for (int naps = 0; !host_faults.access(block, page, write); ++naps) {
      ASSERT_LT(naps, 100) << "the thread never wakes up";
      advance_to(host_faults.touch(block, page, write, now));
    }
  }
  void cpu_read(BlockIndex block, unsigned page) { cpu_access(block, page, false); }
  void cpu_write(BlockIndex block, unsigned page) { cpu_access(block, page, true); }
  // Writes pages with the CPU one after the other, so that they are resident and mapped there.
  void cpu_fill(BlockIndex block, const PageMask& filled = PageMask::all()) {
    (filled & space.block(block).extent()).for_each([&](unsigned page) { cpu_write(block, page); });
  }
  // Migrates a full block to the GPU by single faults that the tree completes: {0} {16} {32} {64} {128} {256}.
  void gpu_fill(BlockIndex block, bool write = false) {
    for (const unsigned page : {0u, 16u, 32u, 64u, 128u, 256u}) gpu_access(block, pages({page}), write);
  }

  Nanoseconds prefetch(std::initializer_list<BlockIndex> blocks, ProcessorId destination) {
    const std::vector<BlockSpan> spans = whole(blocks);
    const Nanoseconds end = user.prefetch(spans, destination, now).done;
    advance_to(end);
    return end;
  }
  void advise(BlockIndex block, trace::Advice advice, ProcessorId processor = kHost) {
    const std::vector<BlockSpan> spans = whole({block});
    advance_to(user.advise(spans, advice, processor, now));
  }
  // Advises pages [first, first + count).
  void advise_part(BlockIndex block, unsigned first, unsigned count, trace::Advice advice,
                   ProcessorId processor = kHost) {
    const BlockSpan span{block, first, count};
    advance_to(user.advise({&span, 1}, advice, processor, now));
  }
  void discard(BlockIndex block, const PageMask& discarded) {
    std::vector<BlockSpan> spans;
    discarded.for_each_run([&](unsigned first, unsigned count) { spans.push_back({block, first, count}); });
    user.discard(spans);
  }
  static std::vector<BlockSpan> whole(std::initializer_list<BlockIndex> blocks) {
    std::vector<BlockSpan> spans;
    for (const BlockIndex block : blocks) spans.push_back({block, 0, kPagesPerBlock});
    return spans;
  }

  void advance_to(Nanoseconds time) {
    if (time > now) now = time;
  }
  void wait(Nanoseconds time) { now += time; }

  ProcessorPages& on_host(BlockIndex block) { return space.pages(block, kHost); }
  ProcessorPages& on_gpu(BlockIndex block, unsigned gpu = 0) { return space.pages(block, gpu_processor(gpu)); }
  bool has_chunk(BlockIndex block, unsigned gpu = 0) const { return gpus[gpu].memory.whole(block).valid(); }

  // Checks the model's invariants; call it at the end of a test.
  void check() const;

  config::SystemConfig system;
  Counters counters;
  EventLog events;
  AddressSpace space;
  HostMemory host;
  link::Topology topology;
  std::shared_ptr<policy::Prefetcher> prefetcher;
  std::vector<GpuState> gpus;
  DriverContext context;
  Residency residency;
  Thrashing thrashing;
  FaultService faults;
  AccessCounters access_counters;
  HostFaults host_faults;
  UserCalls user;
  Nanoseconds now = microseconds(1000);

 private:
  std::vector<GpuState> make_gpus(std::uint32_t chunks, const std::string& evictor,
                                  const policy::GivenParameters& parameters) {
    const policy::PolicyEntry& entry = policy::built_ins()->find(policy::Slot::kEvict, evictor);
    const bool small_chunks = entry.chunk_bytes(parameters) != kBlockBytes;
    std::vector<GpuState> states;
    for (const config::GpuConfig& gpu : system.gpus) {
      states.push_back({GpuMemory(chunks, small_chunks),
                        policy::built_ins()->create<policy::Evictor>(evictor, parameters, 1, chunks),
                        gmmu::Gmmu(system.gmmu, gpu.sm_count, counters.gmmu)});
    }
    return states;
  }
};

inline void Machine::check() const {
  std::vector<std::uint64_t> resident(space.processor_count());
  for (std::uint64_t b = 0; b < space.block_count(); ++b) {
    const VaBlock& block = space.block(BlockIndex(b));
    PageMask once, twice;
    for (unsigned p = 0; p < space.processor_count(); ++p) {
      const ProcessorPages& here = space.pages(BlockIndex(b), ProcessorId{static_cast<std::uint8_t>(p)});
      twice |= once & here.resident;
      once |= here.resident;
      resident[p] += here.resident.count();
      EXPECT_TRUE(block.extent().contains(here.resident)) << "block " << b << " processor " << p;
      EXPECT_TRUE(here.mapped.contains(here.writable)) << "block " << b << " processor " << p;
      if (p == 0) {
        EXPECT_TRUE(here.resident.contains(here.mapped)) << "block " << b << ": the CPU maps what it does not hold";
      } else {
        const PageMask held = here.resident | space.pages(BlockIndex(b), kHost).resident;
        EXPECT_TRUE(held.contains(here.mapped)) << "block " << b << ": GPU " << p - 1 << " maps pages of nobody";
        PageMask backed = has_chunk(BlockIndex(b), p - 1) ? PageMask::all() : PageMask{};
        for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
          if (!gpus[p - 1].memory.slot(BlockIndex(b), unit).valid()) continue;
          backed.set_range(unit * kPagesPerBigPage, kPagesPerBigPage);
        }
        EXPECT_TRUE(backed.contains(here.resident)) << "block " << b << ": GPU " << p - 1 << " holds unbacked pages";
      }
    }
    EXPECT_TRUE(block.read_duplicated.contains(twice)) << "block " << b << ": pages in two places";
  }
  EXPECT_EQ(resident[0], context.host_resident_pages);
  EXPECT_NO_THROW(engine::audit_host(space, context.host_memory, system.ssd.memory_bytes));
  for (unsigned gpu = 0; gpu < space.gpu_count(); ++gpu) {
    EXPECT_EQ(resident[gpu + 1], gpus[gpu].resident_pages) << "GPU " << gpu;
  }
}

}  // namespace uvmsim::driver
