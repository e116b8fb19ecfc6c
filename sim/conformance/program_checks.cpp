// SPDX-License-Identifier: Apache-2.0
// Checks policies in whole programs on GPUs of a few chunks, with all operations on memory that a program can have.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "sim/conformance/checks.h"
#include "sim/engine/simulation.h"

namespace uvmsim::conformance {
namespace {

constexpr std::uint64_t kQuanta = kBasePageBytes;

// A GPU with four SMs on PCIe.
config::SystemConfig small_system() {
  config::SystemConfig system;
  system.name = "check-policy";
  config::GpuConfig gpu;
  gpu.model = "check-policy";
  gpu.memory_bytes = std::uint64_t{1} << 30;
  gpu.sm_count = 4;
  gpu.memory_bytes_per_us = 1000000;
  system.gpus.push_back(gpu);
  config::LinkConfig link;
  link.kind = "pcie";
  link.host_to_device = link.device_to_host = {1000, 1000, 10000};
  link.zero_copy_read_bytes_per_us = link.zero_copy_write_bytes_per_us = 10000;
  system.host_links.push_back(link);
  return system;
}

// Three of these GPUs: a link joins the first to the second, another the second to the third.
config::SystemConfig three_gpus() {
  config::SystemConfig system = small_system();
  system.gpus.assign(3, system.gpus.front());
  system.host_links.assign(3, system.host_links.front());
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    config::PeerLinkConfig link;
    link.kind = "nvlink";
    link.first_gpu = gpu;
    link.second_gpu = gpu + 1;
    link.each_way = {.latency_ns = 1000, .run_ns = 500, .bytes_per_us = 50000, .remote_read_bytes_per_us = 40000};
    system.peer_links.push_back(link);
  }
  return system;
}

// Adds a small host memory and an SSD below it.
void add_tier(config::SystemConfig& system) {
  system.host.memory_bytes = 2 * kBlockBytes;
  system.ssd = {std::uint64_t{1} << 30, 3200, 3200, 12000, 16000, 8};
}

using State = std::optional<StateDigest::Value>;
using StateObserver = std::function<void(const State&)>;

class RandomProgram {
 public:
  static RandomProgram calls(std::uint64_t seed, unsigned gpus) {
    RandomProgram program(seed, gpus);
    for (int i = 0; i < 60; ++i) program.act();
    program.records_.emplace_back(trace::Sync{});
    return program;
  }

  // Makes two equal iterations of kernels; a run may repeat the second.
  static RandomProgram iterations(std::uint64_t seed, unsigned gpus) {
    RandomProgram program(seed, gpus);
    const std::size_t first = program.records_.size();
    for (std::uint64_t left = 3 + program.below(8); left > 0; --left) program.kernel();
    program.records_.emplace_back(trace::Sync{});
    const std::vector<trace::Record> one(program.records_.begin() + static_cast<std::ptrdiff_t>(first),
                                         program.records_.end());
    program.records_.resize(first);
    for (const std::uint64_t index : {0u, 1u}) {
      program.records_.emplace_back(trace::Range{trace::RangeKind::kIterationBegin, "", index});
      program.records_.insert(program.records_.end(), one.begin(), one.end());
      program.records_.emplace_back(trace::Range{trace::RangeKind::kIterationEnd, "", index});
    }
    return program;
  }

  RunResult run(const RunOptions& options, const StateObserver& state = {}) const {
    trace::Header header;
    header.quantum_bytes = kQuanta;
    const auto open = [this]() -> RecordSource {
      return [this, next = std::size_t{0}](trace::Record& record) mutable {
        if (next == records_.size()) return false;
        record = records_[next++];
        return true;
      };
    };
    RunObserver observer;
    observer.reopen = open;
    observer.state = state;
    return simulate(header, open(), options, observer);
  }

 private:
  RandomProgram(std::uint64_t seed, unsigned gpus) : random_(seed), gpus_(gpus) {
    while (pages_.size() < 4) allocate();
  }

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }

  void allocate() {
    // Whole blocks, tails that end in a 64 KB unit or inside one, small allocations.
    const std::uint64_t pages = 1 + below(3) * kPagesPerBlock + below(2) * below(kPagesPerBlock);
    pages_.push_back(pages);
    live_.push_back(pages_.size());
    trace::ObjectAlloc object;
    object.id = pages_.size();
    object.bytes = pages * kBasePageBytes;
    object.va = next_va_;
    next_va_ += (object.bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    records_.emplace_back(object);
  }
  // Most accesses go to few objects.
  trace::ObjectId object() { return live_[below(1 + below(live_.size()))]; }
  trace::Extent part_of(trace::ObjectId id, trace::AccessMode mode) {
    const std::uint64_t pages = pages_[id - 1];
    const std::uint64_t first = below(2) == 0 ? 0 : below(pages);
    return {first, below(2) == 0 ? pages - first : 1 + below(pages - first), mode};
  }
  void kernel() {
    trace::Kernel kernel;
    kernel.name = "kernel";
    kernel.grid.x = static_cast<std::uint32_t>(1 + below(64));
    kernel.block.x = 128;
    kernel.duration_ns = static_cast<std::int64_t>(1000 + below(100000));
    kernel.stream = static_cast<std::uint32_t>(below(2));
    if (gpus_ > 1) {  // one at a time: two writers could take the same pages from each other for ever
      records_.emplace_back(trace::Sync{});
      kernel.device = static_cast<std::int32_t>(below(gpus_));
      kernel.stream = static_cast<std::uint32_t>(kernel.device);
    }
    kernel.distribution = below(3) == 0 ? trace::Distribution::kGridStride : trace::Distribution::kBlockLinear;
    const trace::ObjectId first = object(), second = object();
    kernel.accesses.push_back({first, {part_of(first, trace::AccessMode::kRead)}});
    if (second != first) kernel.accesses.push_back({second, {part_of(second, trace::AccessMode::kWrite)}});
    records_.emplace_back(std::move(kernel));
  }
  void act() {
    const trace::ObjectId id = object();
    const trace::Extent part = part_of(id, trace::AccessMode::kWrite);
    const std::uint64_t offset = part.first * kQuanta, bytes = part.count * kQuanta;
    switch (below(12)) {
      case 0:
        records_.emplace_back(trace::Sync{});
        records_.emplace_back(trace::HostAccess{id, {part}, {}, 0});
        break;
      case 1:
        records_.emplace_back(trace::Prefetch{id, offset, bytes, below(3) == 0 ? -1 : 0, 0, 0});
        break;
      case 2:
        records_.emplace_back(trace::Discard{id, offset, bytes, 0});
        break;
      case 3:
        records_.emplace_back(trace::Sync{});
        if (live_.size() > 2) {
          records_.emplace_back(trace::ObjectFree{id});
          std::erase(live_, id);
        }
        allocate();
        break;
      case 4:
        if (gpus_ > 1) break;  // hints are for one GPU
        records_.emplace_back(
            trace::Advise{id, 0, pages_[id - 1] * kBasePageBytes,
                          below(2) == 0 ? trace::Advice::kSetReadMostly : trace::Advice::kSetPreferredLocation,
                          below(2) == 0 ? -1 : 0});
        break;
      default:
        kernel();
    }
  }

  Random random_;
  unsigned gpus_;
  std::vector<trace::Record> records_;
  std::vector<std::uint64_t> pages_;  // by object
  std::vector<trace::ObjectId> live_;
  std::uint64_t next_va_ = 0x7f0000000000;
};

using Numbers = std::vector<std::pair<std::string_view, std::uint64_t>>;
Numbers numbers_of(Nanoseconds time, const Counters& counters) {
  Numbers numbers = {{"ns", static_cast<std::uint64_t>(time.value)}};
  for_each_counter(counters, [&](const char* name, std::uint64_t value) { numbers.emplace_back(name, value); });
  return numbers;
}

// Returns the first number that differs, "evictions 3 and 4"; empty if none does.
std::string difference_of(const IterationResult& one, const IterationResult& other) {
  const Numbers first = numbers_of(one.end - one.begin, one.counters);
  const Numbers second = numbers_of(other.end - other.begin, other.counters);
  const auto [a, b] = std::ranges::mismatch(first, second);
  return a == first.end() ? std::string() : fmt::format("{} {} and {}", a->first, a->second, b->second);
}

Numbers numbers_of(const RunResult& result) {
  Numbers numbers = numbers_of(result.total, result.counters);
  for (const IterationResult& iteration : result.iterations) {
    numbers.emplace_back("iteration", static_cast<std::uint64_t>((iteration.end - iteration.begin).value));
  }
  return numbers;
}

// Two iterations that begin in the same state and continue differently, and the number of compared pairs.
struct Difference {
  std::uint64_t pairs = 0;
  std::optional<std::pair<std::size_t, std::size_t>> first = {};
  std::string what = {};
};

// `states` belong to the last iterations, which are repetitions.
Difference difference_of(const std::vector<State>& states, const std::vector<IterationResult>& iterations) {
  Difference result;
  const std::size_t recorded = iterations.size() - states.size();
  for (std::size_t later = 0; later < states.size(); ++later) {
    if (!states[later]) continue;
    // Only the latest equal state: earlier ones were compared with that one.
    for (std::size_t earlier = later; earlier-- > 0;) {
      if (states[earlier] != states[later]) continue;
      ++result.pairs;
      result.what = difference_of(iterations[recorded + earlier], iterations[recorded + later]);
      const bool next_differs = later + 1 < states.size() && states[earlier + 1] != states[later + 1];
      if (result.what.empty() && next_differs) result.what = "the states behind them";
      if (!result.what.empty()) {
        result.first = {recorded + earlier, recorded + later};
        return result;
      }
      break;
    }
  }
  return result;
}

// The policy in all of its slots, on a GPU of a few chunks; a route policy can choose between three GPUs.
RunOptions run_of(const policy::PolicyEntry& entry, const CheckOptions& options, const policy::GivenParameters& given,
                  std::uint64_t number) {
  RunOptions run;
  run.registry = options.registry;
  for (const policy::Slot slot : entry.slots) run.*choice_of(slot) = {entry.info.name, given};
  run.system = std::ranges::count(entry.slots, policy::Slot::kRoute) != 0 ? three_gpus() : small_system();
  run.capacity_bytes = (2 + number % 5) * kBlockBytes;
  run.seed = options.seed;
  return run;
}

std::string place_of(std::uint64_t number, const RunOptions& run) {
  return fmt::format("program {} on a GPU with {} x 2 MB", number, run.capacity_bytes / kBlockBytes);
}

}  // namespace

std::string check_programs(const policy::PolicyEntry& entry, const CheckOptions& options) {
  std::uint64_t evictions = 0, prefetched = 0;
  for (std::uint64_t number = 0; number < options.programs; ++number) {
    policy::GivenParameters given = options.given;
    if (entry.info.granularity == policy::Granularity::kEither && number % 2 == 1) {
      std::erase_if(given, [](const auto& pair) { return pair.first == "granularity"; });
      given.emplace_back("granularity", "64k");
    }
    RunOptions run = run_of(entry, options, given, number);
    const auto gpus = static_cast<unsigned>(run.system.gpus.size());
    const RandomProgram program = RandomProgram::calls(options.seed * 1000 + number, gpus);
    if (gpus > 1 && number % 2 == 0 && entry.info.granularity == policy::Granularity::kRootChunk) {
      run.harvest = {.victims = true,
                     .pre_evict = number % 4 == 0,
                     .parallel_fetch = true,
                     .reserve_chunks = 1,
                     .prefetch = number % 5 > 2,  // on smaller GPUs it evicts pages that faults wait for
                     .prefetch_chunks = 2,
                     .prefetch_stride = 1};
    }
    if (number % 3 == 2) add_tier(run.system);
    try {
      const RunResult first = program.run(run);
      if (numbers_of(first) != numbers_of(program.run(run))) throw Wrong("another result when it ran again");
      evictions += first.counters.evictions;
      prefetched += first.counters.prefetched_pages;
    } catch (const std::exception& error) {
      throw Wrong(fmt::format("{}: {}", place_of(number, run), error.what()));
    }
  }
  return fmt::format(
      "{} random programs on GPUs of 2 to 6 chunks, a third of them above an SSD, each twice; {} evictions, {} pages "
      "prefetched",
      options.programs, evictions, prefetched);
}

std::string results_of_programs(const policy::PolicyEntry& entry, const CheckOptions& options) {
  std::string text;
  for (std::uint64_t number = 0; number < options.programs; ++number) {
    const RunOptions run = run_of(entry, options, options.given, number);
    const RandomProgram program =
        RandomProgram::calls(options.seed * 1000 + number, static_cast<unsigned>(run.system.gpus.size()));
    try {
      for (const auto& [name, value] : numbers_of(program.run(run))) text += fmt::format("{}={} ", name, value);
    } catch (const std::exception& error) {
      throw Wrong(fmt::format("{}: {}", place_of(number, run), error.what()));
    }
  }
  return text;
}

// Checks that add_state() covers the whole state: a run that skips recurring iterations must have the result of a full
// replay, and equal states must have equal futures, on which this relies.
std::string check_skipped_iterations(const policy::PolicyEntry& entry, const CheckOptions& options) {
  constexpr std::uint64_t kIterations = 30;
  constexpr const char* kForgotten = "add_state does not tell all that its answers depend on";
  std::uint64_t pairs = 0;
  for (std::uint64_t number = 0; number < options.programs; ++number) {
    RunOptions run = run_of(entry, options, options.given, number);
    run.iterations = kIterations;
    run.replay_all = true;
    const RandomProgram program =
        RandomProgram::iterations(options.seed * 1000 + number, static_cast<unsigned>(run.system.gpus.size()));
    const std::string where = place_of(number, run);
    std::vector<State> states;
    const RunResult all = program.run(run, [&](const State& state) { states.push_back(state); });
    const Difference difference = difference_of(states, all.iterations);
    if (difference.first) {
      throw Wrong(fmt::format("{}: iterations {} and {} begin in the same state, but do not go on alike ({}): {}",
                              where, difference.first->first, difference.first->second, difference.what, kForgotten));
    }
    pairs += difference.pairs;
    run.replay_all = false;
    if (numbers_of(program.run(run)) == numbers_of(all)) continue;
    throw Wrong(
        fmt::format("{}: with iterations left out because they recur, another result than with all of them "
                    "replayed: {}",
                    where, kForgotten));
  }
  return fmt::format(
      "{} random programs of {} iterations on GPUs of 2 to 6 chunks, with recurring iterations left out and with all "
      "of them replayed; {} pairs of iterations begin in the same state",
      options.programs, kIterations, pairs);
}

}  // namespace uvmsim::conformance
