// SPDX-License-Identifier: Apache-2.0
// Measures the memory of the model: bytes of heap at the peak of a run, per 4 KB page of footprint beyond those of a
// small run.
#include <benchmark/benchmark.h>

#include <malloc.h>

#include <cstdlib>
#include <new>

#include "tests/bench/programs.h"

namespace {

std::size_t live_bytes = 0, peak_bytes = 0;

}  // namespace

// Counts all memory that the process (with one thread) allocates with `new`.
void* operator new(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(memory);
  if (live_bytes > peak_bytes) peak_bytes = live_bytes;
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace uvmsim::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::size_t peak_of(std::uint64_t bytes, std::uint64_t osf_thousandths) {
  const Program program = scan_program({.bytes = bytes, .kernels = 2, .host_data = true});
  const RunOptions options = bench_options(osf_thousandths, bytes, "recorded");
  const std::size_t before = live_bytes;
  peak_bytes = live_bytes;
  benchmark::DoNotOptimize(simulate(program.header, program.source(), options));
  return peak_bytes - before;
}

// Argument: OSF * 1000.
void state_size(benchmark::State& state) {
  const auto osf_thousandths = static_cast<std::uint64_t>(state.range(0));
  constexpr std::uint64_t kSmall = 64 * kMiB;
  constexpr std::uint64_t kLarge = 8192 * kMiB;
  double bytes_per_page = 0;
  for (auto _ : state) {
    const std::size_t small = peak_of(kSmall, osf_thousandths);
    const std::size_t large = peak_of(kLarge, osf_thousandths);
    bytes_per_page = (static_cast<double>(large) - static_cast<double>(small)) /
                     static_cast<double>((kLarge - kSmall) / kBasePageBytes);
    state.counters["fixed_bytes"] = static_cast<double>(small);
  }
  state.counters["bytes/page"] = bytes_per_page;
}
BENCHMARK(state_size)->Arg(1'000)->Arg(2'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace uvmsim::bench
