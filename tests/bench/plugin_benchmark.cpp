// SPDX-License-Identifier: Apache-2.0
// Compares the speed of built-in policies with the same sources built as plug-ins: whole runs alternate, and the best
// of each count.
#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"
#include "tests/bench/programs.h"

namespace uvmsim::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Counts instructions of this thread outside the kernel, if the machine allows it.
class InstructionCounter {
 public:
  InstructionCounter() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof(attributes);
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
  }
  ~InstructionCounter() {
    if (available()) close(file_);
  }
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;

  bool available() const { return file_ >= 0; }
  // Returns the count so far; 0 if events cannot be counted.
  std::uint64_t read() const {
    std::uint64_t count = 0;
    if (!available() || ::read(file_, &count, sizeof(count)) != sizeof(count)) return 0;
    return count;
  }

 private:
  int file_ = -1;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Returns the built-ins, and one of them from a plug-in under another name.
std::shared_ptr<const policy::Registry> with_again(const std::string& other) {
  policy::Registry staged;
  policy::load_plugin(staged, UVMSIM_TEST_PLUGINS "/" + other + ".so");
  policy::PolicyEntry entry = *staged.list().front();
  entry.info.name = other;
  const auto registry = std::make_shared<policy::Registry>(*policy::built_ins());
  registry->add(std::move(entry));
  return registry;
}

struct Best {
  double seconds = 1e9;
  std::uint64_t instructions = ~std::uint64_t{0};
};

// A program twice as large as memory that is scanned four times, with batches of every size.
void linked_and_loaded(benchmark::State& state, policy::Slot slot, const char* name) {
  static const Program program =
      scan_program({.bytes = 512 * kMiB, .kernels = 4, .host_data = true, .spread = trace::Distribution::kBlockLinear});
  std::array<RunOptions, 2> options;  // linked, loaded
  options.fill(bench_options(2'000, 512 * kMiB, "recorded"));
  (options[0].*choice_of(slot)).name = name;
  (options[1].*choice_of(slot)).name = std::string(name) + "_again";
  options[1].registry = with_again(std::string(name) + "_again");
  const InstructionCounter counter;
  std::array<Best, 2> best;
  std::array<Nanoseconds, 2> simulated;
  std::size_t first = 0;
  for (auto _ : state) {
    for (const std::size_t which : {first, 1 - first}) {
      const double started = cpu_seconds();
      const std::uint64_t before = counter.read();
      simulated[which] = simulate(program.header, program.source(), options[which]).total;
      best[which].instructions = std::min(best[which].instructions, counter.read() - before);
      best[which].seconds = std::min(best[which].seconds, cpu_seconds() - started);
    }
    first = 1 - first;
  }
  if (simulated[0] != simulated[1]) throw std::logic_error("the plug-in gives another result");
  state.counters["linked_ms"] = best[0].seconds * 1e3;
  state.counters["loaded/linked"] = best[1].seconds / best[0].seconds;
  if (counter.available()) {
    state.counters["instructions_loaded/linked"] =
        static_cast<double>(best[1].instructions) / static_cast<double>(best[0].instructions);
  }
}
BENCHMARK_CAPTURE(linked_and_loaded, tree, policy::Slot::kPrefetch, "tree")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(linked_and_loaded, lrm, policy::Slot::kEvict, "lrm")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(linked_and_loaded, lru, policy::Slot::kEvict, "lru")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(linked_and_loaded, deepum, policy::Slot::kPlan, "deepum")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(linked_and_loaded, delayed, policy::Slot::kMigrate, "delayed")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace uvmsim::bench
