// SPDX-License-Identifier: Apache-2.0
// Measures the speed of the driver alone: batches of 256 faults for FaultService, with the tree prefetcher and LRM
// eviction, without the engine.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "sim/driver/fault_service.h"
#include "sim/policy/registry.h"
#include "tests/bench/programs.h"

namespace uvmsim::bench {
namespace {

constexpr std::uint32_t kChunks = 1024;
constexpr std::uint64_t kBlocks = 2 * kChunks;
constexpr std::uint64_t kBatch = 256;

std::vector<driver::GpuState> one_gpu(Counters& counters) {
  std::vector<driver::GpuState> gpus;
  const config::SystemConfig& system = bench_system();
  gpus.push_back({GpuMemory(kChunks), policy::built_ins()->create<policy::Evictor>("lrm", {}, 1, kChunks),
                  gmmu::Gmmu(system.gmmu, system.gpus[0].sm_count, counters.gmmu)});
  return gpus;
}

// Repeatedly walks over twice the memory of the GPU: after the first round, every service evicts one block and fetches
// another from the host. Argument: faults per block, evenly spaced.
void block_service(benchmark::State& state) {
  const auto faults = static_cast<std::uint64_t>(state.range(0));
  Counters counters;
  AddressSpace space(1);
  HostMemory host{0, kBlockBytes};
  link::Topology topology(bench_system());
  std::vector<driver::GpuState> gpus = one_gpu(counters);
  const std::shared_ptr<policy::Prefetcher> prefetcher =
      policy::built_ins()->create<policy::Prefetcher>("tree", {}, 1, kChunks);
  driver::DriverContext context{bench_system(), space, gpus, topology, host, *prefetcher, {}, {}, counters};
  driver::Residency residency(context);
  driver::Thrashing thrashing(context);
  driver::FaultService service(context, residency, thrashing);
  const BlockIndex first = space.allocate(0, kBlocks * kBlockBytes);

  std::vector<gmmu::FaultEntry> batch(kBatch);
  std::uint64_t block = 0;
  Nanoseconds now{};
  const auto service_batch = [&] {
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      const std::uint64_t page = i % faults * (kPagesPerBlock / faults);
      const std::uint64_t turned = kBatch - 1 - i;  // blocks descend: the batch is not in order
      const std::uint64_t in_block = (block + turned / faults) % kBlocks;
      batch[i].fault.page = PageIndex((first.value + in_block) * kPagesPerBlock + page);
    }
    block = (block + kBatch / faults) % kBlocks;
    now = service.service(0, batch, now).end;
  };
  for (std::uint64_t done = 0; done < kBlocks; done += kBatch / faults) service_batch();
  const Counters before = counters;
  for (auto _ : state) service_batch();
  const auto rate = [&](const char* name, std::uint64_t count) {
    state.counters[name] = benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate);
  };
  rate("blocks/s", counters.blocks_serviced - before.blocks_serviced);
  rate("migrations/s", (counters.htod_fault_bytes + counters.htod_prefetch_bytes - before.htod_fault_bytes -
                        before.htod_prefetch_bytes) /
                           kBasePageBytes);
  rate("evictions/s", counters.evictions - before.evictions);
}
BENCHMARK(block_service)->Arg(1)->Arg(4)->Arg(16)->Arg(64);

}  // namespace
}  // namespace uvmsim::bench
