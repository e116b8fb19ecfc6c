// SPDX-License-Identifier: Apache-2.0
// Measures the speed of the whole model: simulate() from the first record to the last.
#include <benchmark/benchmark.h>

#include "tests/bench/programs.h"

namespace uvmsim::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// The total work of a benchmark's runs, as rates.
class Rates {
 public:
  void add(const RunResult& result) {
    const Counters& c = result.counters;
    touches_ += c.gmmu.lookups;
    migrated_ += c.htod_fault_bytes / kBasePageBytes + c.htod_prefetch_bytes / kBasePageBytes + c.populated_pages;
    blocks_ += c.blocks_serviced;
    batches_ += c.fault_batches;
    raw_faults_ += c.raw_faults + c.flushed_faults;
    kernels_ += c.kernels;
  }
  void report(benchmark::State& state) const {
    const auto rate = [&](const char* name, std::uint64_t count) {
      if (count == 0) return;
      state.counters[name] = benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate);
    };
    rate("touches/s", touches_);
    rate("migrations/s", migrated_);
    rate("blocks/s", blocks_);
    rate("batches/s", batches_);
    rate("raw_faults/s", raw_faults_);
    rate("kernels/s", kernels_);
  }

 private:
  std::uint64_t touches_ = 0, migrated_ = 0, blocks_ = 0, batches_ = 0, raw_faults_ = 0, kernels_ = 0;
};

void replay(benchmark::State& state, const Program& program, const RunOptions& options) {
  Rates rates;
  for (auto _ : state) rates.add(simulate(program.header, program.source(), options));
  rates.report(state);
}

// Everything stays resident after the first kernel. Argument: kernels; the rate must not fall as the trace grows.
void hit_replay(benchmark::State& state) {
  const Program program = scan_program({.bytes = 64 * kMiB, .kernels = static_cast<std::uint64_t>(state.range(0))});
  replay(state, program, bench_options(0, 0, "recorded"));
}
BENCHMARK(hit_replay)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Each page faults once and is populated with zeros.
void first_touch(benchmark::State& state, trace::Distribution spread) {
  replay(state, scan_program({.bytes = 4096 * kMiB, .spread = spread}), bench_options(0, 0, "recorded"));
}
BENCHMARK_CAPTURE(first_touch, block_linear, trace::Distribution::kBlockLinear)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(first_touch, grid_stride, trace::Distribution::kGridStride)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(first_touch, thread_chunk, trace::Distribution::kThreadChunk)->Unit(benchmark::kMillisecond);

// In every kernel the whole object comes from the host, half of it after an eviction.
void refault(benchmark::State& state, trace::Distribution spread) {
  const std::uint64_t bytes = 2048 * kMiB;
  replay(state, scan_program({.bytes = bytes, .kernels = 4, .host_data = true, .spread = spread}),
         bench_options(2'000, bytes, "recorded"));
}
BENCHMARK_CAPTURE(refault, block_linear, trace::Distribution::kBlockLinear)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(refault, grid_stride, trace::Distribution::kGridStride)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(refault, thread_chunk, trace::Distribution::kThreadChunk)->Unit(benchmark::kMillisecond);

// Replays the shipped recordings, with one allocation per tensor. Argument: OSF * 1000; 0: all of the GPU's memory.
void recording(benchmark::State& state, const std::string& name) {
  const Program program = load_program(UVMSIM_SOURCE_DIR "/workloads/" + name + ".uvmt");
  const std::uint64_t footprint = measure_footprint(program.source(), "none");
  replay(state, program, bench_options(static_cast<std::uint64_t>(state.range(0)), footprint, "none"));
}
BENCHMARK_CAPTURE(recording, gpt2_h200, "gpt2_h200")->Arg(0)->Arg(2'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(recording, resnet50_h200, "resnet50_h200")->Arg(0)->Arg(2'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace uvmsim::bench
