// SPDX-License-Identifier: Apache-2.0
// Single parts of the model: links, translation, fault buffer.
#include <benchmark/benchmark.h>

#include "sim/gmmu/fault_buffer.h"
#include "sim/gmmu/gmmu.h"
#include "sim/link/topology.h"
#include "tests/bench/programs.h"

namespace uvmsim::bench {
namespace {

void set_rate(benchmark::State& state, const char* name, std::uint64_t per_iteration) {
  state.counters[name] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(per_iteration), benchmark::Counter::kIsRate);
}

// Pushes of one 64 KB run each, one direction.
void link_runs(benchmark::State& state) {
  link::Topology topology(bench_system());
  link::CopyEngine& engine = topology.engine(0, link::Direction::kHostToDevice);
  for (auto _ : state) {
    engine.begin_push(engine.busy_until());
    benchmark::DoNotOptimize(engine.run(kBigPageBytes));
  }
  set_rate(state, "runs/s", 1);
}
BENCHMARK(link_runs);

// All pages of a block are touched at once by many SMs. Argument: 0 = 2 MB entries, 1 = 64 KB entries.
void gmmu_touch(benchmark::State& state) {
  GmmuCounters counters;
  gmmu::Gmmu mmu(bench_system().gmmu, bench_system().gpus[0].sm_count, counters);
  const auto sizes = gmmu::EntrySizes::all(state.range(0) == 0 ? gmmu::EntrySize::k2M : gmmu::EntrySize::k64K);
  std::uint64_t block = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(mmu.touch(BlockIndex(block), PageMask::all(), sizes, 132));
    block = (block + 1) % 1024;
  }
  set_rate(state, "touches/s", kPagesPerBlock);
}
BENCHMARK(gmmu_touch)->Arg(0)->Arg(1);

// One SM touches one page at a time, with 4 KB entries, over 64 MB in turn.
void gmmu_translate(benchmark::State& state) {
  GmmuCounters counters;
  gmmu::Gmmu mmu(bench_system().gmmu, bench_system().gpus[0].sm_count, counters);
  std::uint64_t page = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(mmu.translate(0, BlockIndex(page / kPagesPerBlock),
                                           static_cast<unsigned>(page % kPagesPerBlock), gmmu::EntrySize::k4K));
    page = (page + 1) % 16384;
  }
  set_rate(state, "touches/s", 1);
}
BENCHMARK(gmmu_translate);

// Puts, fetches and flushes 256 raw faults in pairs.
void fault_buffer(benchmark::State& state) {
  const config::GmmuConfig& config = bench_system().gmmu;
  gmmu::FaultBuffer buffer(config.fault_buffer_entries, 132);
  std::int64_t time = 0;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < 128; ++i) {
      buffer.put({Nanoseconds(++time), PageIndex(i), i, gmmu::FaultAccess::kRead}, 2);
    }
    benchmark::DoNotOptimize(buffer.fetch(Nanoseconds(time), 256, true));
    buffer.flush_update_put(Nanoseconds(time));
  }
  set_rate(state, "raw_faults/s", 256);
}
BENCHMARK(fault_buffer);

}  // namespace
}  // namespace uvmsim::bench
