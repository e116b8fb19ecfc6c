// SPDX-License-Identifier: Apache-2.0
// Every parameter of a system must change some counter or some time of some small program.
//
// Names, descriptions and sources of a system file are not parameters (sim/config/schema.h). configs/system.schema.json
// is made from the same tables of parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/config/load_system.h"
#include "sim/config/schema.h"
#include "sim/config/system_text.h"
#include "tests/bounds/random_program.h"
#include "tests/engine/hosted_programs.h"

namespace uvmsim {
namespace {

using config::Parameter;
using config::SystemConfig;
using trace::AccessMode;
using trace::Advice;

// Keys that change nothing here, with the reasons. The test fails if such a key changes something, or does not exist.
const std::map<std::string, std::string> kExceptions = {
    {"gpus.model", "a name: recordings are matched with it before a run"},
    {"ssd.memory_bytes", "programs either fit or are refused: tests/driver/host_tier_test.cpp"},
    {"costs.plan_block_ns", "planners, which no program here has: tests/engine/plan_test.cpp"},
    {"runtime.remote_requests_per_us", "reads of one or two sectors of every line: tests/link/remote_lane_test.cpp"},
    {"runtime.remote_words_per_us", "stores of single words, atomics: tests/link/remote_lane_test.cpp"},
    {"runtime.remote_both_ways_bytes_per_us", "where both directions limit a kernel: tests/link/remote_lane_test.cpp"},
    {"listener.copy_ns", "only where a listener is present: tests/driver/listener_test.cpp"},
    {"listener.raw_fault_ns", "only where a listener is present: tests/driver/listener_test.cpp"},
    {"listener.batch_ns", "only where a listener is present: tests/driver/listener_test.cpp"},
    {"host_links.kind", "a word that describes the link; its rates are keys of their own"},
    {"driver.version_minor", "access counters on coherent links only: tests/engine/coherent_test.cpp"},
    {"driver.version_patch", "access counters on coherent links only: tests/engine/coherent_test.cpp"},
    {"runtime.device_memory_beside", "only with device memory: tests/engine/device_memory_test.cpp"},
    {"coherence.address_mode", "memory of malloc only: tests/engine/coherent_test.cpp, as all below"},
    {"coherence.host_page_bytes", "only with another address_mode"},
    {"coherence.local_latency_ns", "only with another address_mode"},
    {"coherence.store_latency_ns", "only with another address_mode"},
    {"coherence.first_touch_ns", "only with another address_mode"},
    {"coherence.first_touch_page_ns", "only with another address_mode"},
    {"coherence.host_touch_ns", "only with another address_mode"},
    {"coherence.host_touch_page_ns", "only with another address_mode"},
    {"coherence.access_counters", "only with another address_mode"},
    {"coherence.counted_read_bytes", "only with another address_mode"},
    {"coherence.counted_write_bytes", "only with another address_mode"},
    {"coherence.notification_delay_ns", "only with another address_mode"},
    {"coherence.notification_ns", "only with another address_mode"},
    {"coherence.moved_page_ns", "only with another address_mode"},
    {"coherence.moved_used_page_ns", "only with another address_mode"},
    {"coherence.cpu_first_touch_page_ns", "only with another address_mode"},
    {"coherence.cpu_read_gpu_page_ns", "only with another address_mode"},
    {"coherence.cpu_write_gpu_page_ns", "only with another address_mode"},
    {"coherence.hmm_page_ns", "only with another address_mode"},
};

// Many kinds of calls.
Program anything(unsigned gpus, std::uint64_t seed) {
  Random random(seed);
  RandomProgramOptions options;
  options.gpus = gpus;
  options.largest_object_pages = 700;
  return random_program(random, options);
}
Program anything(unsigned gpus) { return anything(gpus, 2); }
Program anything_else(unsigned gpus) { return anything(gpus, 3); }

// Allocation, free and copies of every kind of memory.
Program calls(unsigned gpus) {
  Program program;
  const trace::ObjectId untouched = program.alloc(16 * kMiB), touched = program.alloc(16 * kMiB);
  program.kernel("touch", 1000, {}, {touched});
  for (const bool blocking : {true, false}) {
    trace::Memcpy copy;
    copy.dst.object = touched;
    copy.bytes = 2 * kMiB;
    copy.kind = trace::CopyKind::kHostToDevice;
    copy.blocking = blocking;
    program.add(copy);
  }
  constexpr trace::ObjectId kOnDevice = 100;  // and the GPU's number
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    program.add(trace::ObjectAlloc{kOnDevice + gpu, trace::ObjectKind::kDevice, 16 * kMiB, 0, static_cast<int>(gpu)});
  }
  for (const std::uint64_t bytes : {64 * kKiB, 8 * kMiB}) {  // within and beyond the ramp of copies between GPUs
    if (gpus == 1) break;
    trace::Memcpy copy;
    copy.src.object = kOnDevice;
    copy.dst.object = kOnDevice + gpus - 1;
    copy.bytes = bytes;
    program.add(copy);
  }
  program.sync();
  for (unsigned gpu = 0; gpu < gpus; ++gpu) program.free(kOnDevice + gpu);
  program.free(untouched);
  program.free(touched);
  const trace::ObjectId of_host = program.alloc(8 * kMiB);
  program.host(of_host);
  program.free(of_host);
  return program;
}

// A single thread, on memory of the host and on unpopulated memory; long pauses between faults.
Program chase(unsigned) {
  Program program;
  const trace::ObjectId walked = program.alloc(8 * kMiB);
  program.host(walked, 0, 600, AccessMode::kWrite);
  program.walk("reads", walked, 0, 300);
  program.sync();
  program.host(walked, 0, 1, AccessMode::kRead, 400000);
  program.walk("writes", walked, 256, 600, AccessMode::kWrite);
  return program;
}

// Processors alternately write the same pages.
Program quarrel(unsigned gpus) {
  Program program;
  const trace::ObjectId shared = program.alloc(4 * kMiB);
  for (unsigned round = 0; round < 16; ++round) {
    program.kernel("pull", 20000, {}, {shared}).device = static_cast<std::int32_t>(round % gpus);
    if (round % 3 == 0) program.host(shared, 0, 100, AccessMode::kWrite);
  }
  program.sync();
  return program;
}

// One page bounces between a GPU and the host until it is pinned.
Program duel(unsigned) {
  Program program;
  const trace::ObjectId shared = program.alloc(2 * kMiB);
  for (unsigned round = 0; round < 60; ++round) {
    program.walk("strike", shared, 0, 1, AccessMode::kWrite);
    program.sync();
    program.host(shared, 0, 1, AccessMode::kWrite);
  }
  return program;
}

// Two GPUs contend for pages, the host does not.
Program rivals(unsigned gpus) {
  Program program;
  const trace::ObjectId shared = program.alloc(4 * kMiB);
  for (unsigned round = 0; round < 12; ++round) {
    trace::Kernel& kernel = program.kernel("pull", 20000);
    kernel.accesses = {{shared, {{0, 40, AccessMode::kWrite}, {200, 40, AccessMode::kWrite}}}};
    kernel.device = static_cast<std::int32_t>(round % 2 * (gpus - 1));
    program.sync();
  }
  return program;
}

// A GPU and the host contend for pages, with pauses after which the driver has forgotten this.
Program truce(unsigned gpus) {
  Program program = quarrel(gpus);
  const trace::ObjectId shared = 1;
  for (unsigned pause = 0; pause < 3; ++pause) {
    for (unsigned round = 0; round < 4; ++round) {
      trace::Kernel& kernel = program.kernel("again", 20000, {}, {shared});
      kernel.device = static_cast<std::int32_t>(round % gpus);
      if (round == 0) kernel.host_gap_ns = 3000000000;
      program.sync();
      program.host(shared, 0, 40, AccessMode::kWrite);
    }
  }
  return program;
}

// Accesses to memory that stays in place, on the host or on the last GPU: short and long ones, in each direction.
Program in_place(unsigned gpus) {
  Program program;
  const std::int32_t home = gpus == 1 ? -1 : static_cast<std::int32_t>(gpus - 1);
  const trace::ObjectId data = program.alloc(8 * kMiB);
  program.prefetch(data, home);
  program.sync();
  program.advise(data, Advice::kSetPreferredLocation, home);
  program.advise(data, Advice::kSetAccessedBy, 0);
  for (const AccessMode mode : {AccessMode::kRead, AccessMode::kWrite, AccessMode::kReadWrite}) {
    program.kernel("long", 1000).accesses = {{data, {{0, 1024, mode}}}};
    program.sync();
  }
  trace::Kernel& words = program.kernel("short", 1000);
  words.accesses = {{data, {{0, 1024, AccessMode::kRead}}}};
  words.distribution = trace::Distribution::kThreadChunk;
  words.grid.x = 64;
  words.bytes_per_thread_access = 32;
  for (std::uint64_t page = 0; page < 1024; ++page) words.touches.push_back({0, page, AccessMode::kRead});
  program.sync();
  return program;
}

// A program with accesses that GPUs count: to memory that may migrate, a few of every block at a time.
Program counted(unsigned) {
  Program program;
  const trace::ObjectId data = program.alloc(8 * kMiB);
  program.host(data);
  program.advise(data, Advice::kSetAccessedBy);
  std::vector<trace::Extent> pages;
  for (std::uint64_t page = 0; page < program.pages(data); page += kPagesPerBlock) {
    pages.push_back({page, 16, AccessMode::kRead});
  }
  for (unsigned round = 0; round < 12; ++round) {
    program.kernel("reads", 10000).accesses = {{data, pages}};
    program.sync();
  }
  return program;
}

// Read copies, followed by writes to them.
Program duplicates(unsigned gpus) {
  Program program;
  const trace::ObjectId data = program.alloc(4 * kMiB);
  program.host(data);
  program.advise(data, Advice::kSetReadMostly);
  program.advise(data, Advice::kSetPreferredLocation, -1);
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    program.walk("reads", data, 0, 40).device = static_cast<std::int32_t>(gpu);
    program.sync();
  }
  program.walk("writes", data, 0, 20, AccessMode::kWrite);
  program.sync();
  program.advise(data, Advice::kUnsetReadMostly);
  program.walk("writes more", data, 0, 40, AccessMode::kWrite);
  program.sync();
  return program;
}

// Blocks of threads that fill an SM in each of the ways in which that is possible.
Program occupied(unsigned) {
  Program program;
  const trace::ObjectId data = program.alloc(16 * kMiB);
  struct Shape {
    std::uint32_t threads, registers, shared_bytes;
  };
  for (const Shape shape : {Shape{32, 0, 0}, Shape{1024, 0, 0}, Shape{128, 64, 0}, Shape{64, 0, 48 * 1024}}) {
    program.host(data, 0, 1, AccessMode::kWrite);
    trace::Kernel& kernel = program.kernel("blocks", 100000);
    kernel.accesses = {{data, {{0, 4096, AccessMode::kRead}}}, {data, {{0, 4096, AccessMode::kWrite}}}};
    kernel.grid.x = 400;
    kernel.block.x = shape.threads;
    kernel.registers_per_thread = shape.registers;
    kernel.shared_bytes_per_block = shape.shared_bytes;
    program.sync();
    program.prefetch(data, -1);
    program.sync();
  }
  return program;
}

// A program whose kernels' time is limited by each kind of arithmetic, memory, and their start and end.
Program arithmetic(unsigned) {
  Program program;
  const trace::ObjectId little = program.alloc(64 * kKiB), much = program.alloc(16 * kMiB);
  for (const char* name : {"sgemm", "tf32_gemm", "hgemm", "other"}) program.kernel(name, 100000, {little});
  program.kernel("short", 3000, {little});
  program.kernel("stream", 6000, {much});
  return program;
}

// Small page-table entries: a quarter of the 64 KB units of several blocks, in ascending and in random order.
Program scattered(unsigned) {
  Program program;
  Random random(1);
  const trace::ObjectId data = program.alloc(32 * kMiB);
  std::vector<trace::Extent> units;
  for (std::uint64_t page = 0; page < program.pages(data); page += 64) units.push_back({page, 16, AccessMode::kWrite});
  for (unsigned round = 0; round < 2; ++round) {
    program.kernel("units", 20000).accesses = {{data, units}};
    trace::Kernel& lone = program.walk("walk", data, 0, 1000);
    for (trace::Touch& touch : lone.touches) touch.quantum = units[random.below(units.size())].first;
    program.sync();
  }
  return program;
}

// All links at once, in all directions.
Program traffic(unsigned gpus) {
  Program program;
  std::vector<trace::ObjectId> data;
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    data.push_back(program.alloc(kMiB));
    program.host(data.back(), 0, 64, AccessMode::kWrite);
  }
  const auto move = [&](unsigned from, std::int32_t to) {
    program.kernel("before", 200000, {}, {}, from);  // on an idle stream the host would make one copy after the other
    program.add(trace::Prefetch{data[from], 0, program.bytes(data[from]), to, from, 0});
  };
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned gpu = 0; gpu < gpus; ++gpu) move(gpu, static_cast<std::int32_t>(gpu));
    program.sync();
    for (unsigned gpu = 0; gpu < gpus; ++gpu) move(gpu, static_cast<std::int32_t>(gpus - 1 - gpu));
    program.sync();
    for (unsigned gpu = 0; gpu < gpus; ++gpu) {
      if (gpu % 2 == 0) move(gpu, -1);
    }
    for (unsigned gpu = 0; gpu < gpus; ++gpu) move(gpu, static_cast<std::int32_t>((gpu + 1) % gpus));
    program.sync();
    for (unsigned gpu = 0; gpu < gpus; ++gpu) move(gpu, -1);
    program.sync();
  }
  return program;
}

// Every kind of advice and of prefetch, for different locations of the memory.
Program hints(unsigned) {
  Program program;
  for (const Advice advice : {Advice::kSetPreferredLocation, Advice::kSetAccessedBy, Advice::kSetReadMostly}) {
    const trace::ObjectId data = program.alloc(4 * kMiB), untouched = program.alloc(4 * kMiB);
    program.host(data);
    program.advise(data, advice, 0);
    program.host(data);
    for (const trace::ObjectId id : {data, untouched}) {
      for (const bool busy : {false, true}) {
        for (const std::int32_t to : {0, 0, -1}) {
          if (busy) program.kernel("before", 50000);
          program.prefetch(id, to);
          program.sync();
        }
      }
    }
    program.add(trace::Memset{data, 0, kMiB, 0, 0, true});
  }
  return program;
}

// A system and a program that show the effect of one part of it.
struct Scene {
  Program (*program)(unsigned gpus);
  std::string system;
  std::vector<std::string> settings = {};
  unsigned gpus = 1;
  std::uint64_t chunks = 0;  // capacity; 0: the GPU's own memory
  bool by_factor = false;    // the capacity is half of a footprint
  bool recorded_elsewhere = false;
  bool twice = false;  // two processes on one GPU
};

const std::vector<Scene>& scenes() {
  static const std::string kH200 = "h200-sxm-pcie5";
  static const std::vector<Scene> all = {
      {chase, kH200},
      {calls, kH200},
      {calls, "hgx-h200-x2", {}, 2},
      {calls, "p3-8xlarge", {}, 4},
      {in_place, kH200},
      {in_place, "hgx-h200-x2", {}, 2},
      {in_place, "p3-8xlarge", {}, 4},
      {duplicates, kH200},
      {hints, kH200},
      {duplicates, "hgx-h200-x2", {}, 2},
      {duel, kH200},
      {duel, kH200, {"driver.thrashing_adaptive_lapse=true"}},
      {quarrel, kH200},
      {quarrel, "hgx-h200-x2", {}, 2},
      {quarrel, "hgx-h200-x2", {"driver.thrashing_lapse_ns=50000000", "driver.thrashing_pin_ns=100000"}, 2},
      {rivals, "p3-8xlarge", {}, 4},
      {counted,
       kH200,
       {"driver.access_counter_migration=true", "driver.access_counter_threshold=1024",
        "driver.access_counter_batch_count=2"}},
      {occupied, kH200, {"gpus.0.sm_count=2"}},
      {arithmetic, kH200, {}, 1, 0, false, true},
      {anything, kH200, {"runtime.time_slice_ns=20000"}, 1, 2, false, false, true},
      {anything,
       kH200,
       {"gpus.0.memory_bytes=24MiB", "gpus.0.reserved_bytes=8MiB", "runtime.context_bytes=2MiB"},
       1,
       0,
       false,
       false,
       true},
      {scattered,
       kH200,
       {"gmmu.l1_tlb_entries=64", "gmmu.l1_tlb_ways=2", "gmmu.l2_tlb_entries=128", "gmmu.l2_tlb_ways=2",
        "gmmu.walk_cache_entries=128"}},
      {truce, "hgx-h200-x2", {}, 2},
      {traffic, "hgx-h200-x2", {}, 2},
      {traffic, "p3-8xlarge", {}, 4},
      {anything, kH200},
      {anything, kH200, {}, 1, 2},
      {anything, kH200, {"gpus.0.memory_bytes=12MiB", "gpus.0.reserved_bytes=8MiB"}},
      {anything, kH200, {}, 1, 2, true},
      {anything, "a100-pcie-80g-nvme", {"host.memory_bytes=4MiB"}, 1, 2},
      {anything, "a100-pcie-80g-nvme", {"host.memory_bytes=4MiB", "host.watermark_scale_factor=3000"}, 1, 2},
      {anything_else, kH200, {"driver.fault_replay_policy=batch", "driver.reclaim_waits=true"}, 1, 6},
      {anything_else, kH200, {"gmmu.fault_buffer_entries=64", "driver.fault_batch_count=32"}, 1, 6},
      {traffic, "hgx-a100", {}, 8},
      {traffic, "hgx-a100", {"peer_switches.0.gpu_count=6", "uplinks.1.gpu_count=1", "uplinks.1.first_gpu=3"}, 8},
      {traffic, "dgx-v100", {"peer_links.0.first_gpu=2", "peer_links.0.second_gpu=5"}, 8},
  };
  return all;
}

const config::GpuConfig& other_gpu() {
  static const SystemConfig system = config::load_system("a100-pcie-80g");
  return system.gpus.front();
}

using Outcome = std::vector<std::uint64_t>;  // the time and every counter; empty: the system was refused

// Runs the program together with another process that does the same.
RunResult run_twice(const Program& program, const RunOptions& options) {
  return run_together({hosted("a", program, options, {0}), hosted("b", program, options, {0})}).front();
}

Outcome outcome_of(const Scene& scene, const SystemConfig& system, const Program& program) {
  RunOptions options;
  options.system = system;
  options.limited = scene.chunks != 0;
  if (scene.by_factor) {
    options.osf_thousandths = 2000;
    options.footprint_bytes = 2 * scene.chunks * kBlockBytes;
  } else {
    options.capacity_bytes = scene.chunks * kBlockBytes;
  }
  if (scene.recorded_elsewhere) options.time_scale.recorded_on = other_gpu();
  try {
    config::check_system(system, scene.system);
    const RunResult result = scene.twice ? run_twice(program, options) : program.run(options);
    Outcome out{static_cast<std::uint64_t>(result.total.value), static_cast<std::uint64_t>(result.ideal.value)};
    for_each_counter(result.counters, [&](const char*, std::uint64_t value) { out.push_back(value); });
    return out;
  } catch (const InputError&) {
    return {};
  }
}

// Returns other values, one far from the current one and one next to it.
std::vector<config::ParameterValue> others(const Parameter& parameter) {
  const config::ParameterValue value = value_of(parameter);
  if (const bool* flag = std::get_if<bool>(&value)) return {!*flag};
  if (const std::string* text = std::get_if<std::string>(&value)) {
    if (parameter.choices.empty()) return {*text + " of another name"};
    std::vector<config::ParameterValue> words;
    for (const std::string_view word : parameter.choices) {
      if (word != *text) words.emplace_back(std::string(word));
    }
    return words;
  }
  const std::uint64_t now = std::get<std::uint64_t>(value);
  std::set<std::uint64_t> numbers;
  std::vector<std::uint64_t> candidates = {now * 8 + 1000, now * 2, now / 8};
  if (now < 16) candidates.insert(candidates.end(), {now + 1, now - std::min<std::uint64_t>(now, 1)});
  for (const std::uint64_t number : candidates) {
    numbers.insert(std::clamp(number, parameter.minimum, parameter.maximum));
  }
  if (parameter.unit == config::Unit::kBytes) numbers.insert({kPage, kBigPageBytes, kBlockBytes});
  numbers.erase(now);
  return {numbers.rbegin(), numbers.rend()};
}

// The outcome of a scene without changes, for comparison.
struct Baseline {
  const Scene* scene;
  SystemConfig system;
  Program program;
  Outcome outcome;
};

const std::vector<Baseline>& runs() {
  static const std::vector<Baseline> all = [] {
    std::vector<Baseline> made;
    for (const Scene& scene : scenes()) {
      Baseline run{&scene, config::load_system(scene.system), scene.program(scene.gpus), {}};
      config::apply_overrides(run.system, scene.settings);
      run.outcome = outcome_of(scene, run.system, run.program);
      made.push_back(std::move(run));
    }
    return made;
  }();
  return all;
}

// The first element of a list represents all elements.
bool moves(const std::string& key, const Baseline& run) {
  SystemConfig changed = run.system;
  const std::vector<Parameter> all = parameters(changed);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return config::without_indices(p.key) == key; });
  if (found == all.end()) return false;
  const auto differs = [&](const config::ParameterValue& other) {
    store(*found, other);
    const Outcome outcome = outcome_of(*run.scene, changed, run.program);
    return !outcome.empty() && outcome != run.outcome;
  };
  const std::vector<config::ParameterValue> values = others(*found);
  return std::any_of(values.begin(), values.end(), differs);
}

std::vector<std::string> all_keys() {
  SystemConfig system = config::with_every_key();
  std::vector<std::string> keys;
  for (const Parameter& parameter : parameters(system)) keys.push_back(config::without_indices(parameter.key));
  return keys;
}

TEST(EveryKey, ScenesRun) {
  for (const Baseline& run : runs()) EXPECT_FALSE(run.outcome.empty()) << run.scene->system << " refuses its program";
}

TEST(EveryKey, MovesACounterOrATimeOfSomeProgram) {
  for (const std::string& key : all_keys()) {
    const auto mover = std::find_if(runs().begin(), runs().end(), [&](const Baseline& run) { return moves(key, run); });
    const auto exception = kExceptions.find(key);
    if (exception == kExceptions.end()) {
      EXPECT_TRUE(mover != runs().end()) << key << " changes nothing";
    } else {
      EXPECT_TRUE(mover == runs().end()) << key << " changes something on " << mover->scene->system
                                         << ", and is listed as: " << exception->second;
    }
  }
}

TEST(EveryKey, ExceptionsAreKeys) {
  const std::vector<std::string> keys = all_keys();
  for (const auto& [key, why] : kExceptions) EXPECT_THAT(keys, ::testing::Contains(key)) << why;
}

}  // namespace
}  // namespace uvmsim
