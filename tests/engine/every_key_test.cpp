// No key that does nothing: every parameter of a system changes some counter or some time of some small program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/config/load_system.h"
#include "sim/config/schema.h"
#include "tests/bounds/random_program.h"

namespace uvmsim {
namespace {

using config::Parameter;
using config::SystemConfig;

// Keys that may do nothing here, and why.
const std::map<std::string, std::string> kExceptions = {
    {"costs.protect_block_ns", "read duplication between GPUs: tests/driver/in_engine_test.cpp"},
    {"driver.thrashing_epoch_ns", "needs a second between events on a block: longer than these programs"},
    {"driver.thrashing_max_resets", "the same"},
    {"driver.version_major", "faults away from a preferred location: tests/driver/hints_test.cpp"},
    {"gpus.model", "a name: recordings are matched with it"},
    {"host_links.kind", "a name"},
    {"peer_links.kind", "a name"},
    {"uplinks.first_gpu", "says which GPUs an element of the list joins; another value is another server"},
    {"uplinks.gpu_count", "the same"},
    {"peer_links.first_gpu", "the same"},
    {"peer_links.second_gpu", "the same"},
    {"peer_switches.first_gpu", "the same"},
    {"peer_switches.gpu_count", "the same"},
};

// A system and programs that bring out one part of it.
struct Scene {
  std::string system;
  std::vector<std::string> settings;
  unsigned gpus = 1;
  std::uint64_t chunks = 6;  // of capacity; 0: the GPU's own
  bool recorded_elsewhere = false;
};

const std::vector<Scene>& scenes() {
  static const std::vector<Scene> all = {
      {"h200-sxm-pcie5", {}},
      {"h200-sxm-pcie5", {}, 1, 40},
      {"h200-sxm-pcie5", {"gpus.0.memory_bytes=16MiB", "gpus.0.reserved_bytes=4MiB"}, 1, 0},
      {"h200-sxm-pcie5", {}, 1, 40, true},
      {"h200-sxm-pcie5",
       {"driver.access_counter_migration=true", "driver.access_counter_threshold=16",
        "driver.access_counter_batch_count=2"}},
      {"h200-sxm-pcie5", {"host.memory_bytes_per_us=20000", "host_links.0.both_ways_bytes_per_us=60000"}},
      {"h200-sxm-pcie5", {"runtime.remote_runs_per_us=4", "runtime.remote_both_ways_bytes_per_us=9000"}},
      {"h200-sxm-pcie5", {"driver.fault_replay_policy=batch", "driver.reclaim_waits=true"}},
      {"h200-sxm-pcie5", {"gmmu.fault_buffer_entries=64", "driver.fault_batch_count=32"}},
      {"hgx-h200-x2", {}, 2},
      {"hgx-h200-x2", {"driver.thrashing_lapse_ns=50000000", "driver.thrashing_pin_threshold=2"}, 2},
      {"hgx-h200-x2", {"driver.thrashing_lapse_ns=50000000", "driver.thrashing_pin_ns=100000"}, 2, 40},
      {"p3-8xlarge", {}, 4},
      {"hgx-a100", {}, 4},
      {"dgx-v100-x4", {}, 4},
      {"a100-pcie-80g-nvme", {"host.memory_bytes=8MiB"}},
      {"a100-pcie-80g-nvme", {"host.memory_bytes=8MiB", "host.watermark_scale_factor=3000"}},
  };
  return all;
}

// One small program of many kinds of calls per seed, then a long lone thread: what the random ones do rarely.
Program program_of(const Scene& scene, std::uint64_t seed) {
  Random random(seed);
  RandomProgramOptions options;
  options.gpus = scene.gpus;
  options.largest_object_pages = 1500;
  Program program = random_program(random, options);
  if (seed % 2 != 0) return program;
  const trace::ObjectId walked = program.alloc(8 * kMiB), shared = program.alloc(4 * kMiB);
  program.host(walked, 0, 600, trace::AccessMode::kWrite);
  program.walk("chase", walked, 0, 300);
  program.walk("chase too", walked, 256, 600, trace::AccessMode::kWrite);
  for (unsigned round = 0; round < 12; ++round) {  // who has it last?
    trace::Kernel& kernel = program.kernel("pull", 20000, {}, {shared});
    kernel.device = static_cast<std::int32_t>(round % scene.gpus);
    if (round % 3 == 0) program.host(shared, 0, 200, trace::AccessMode::kWrite);
  }
  program.sync();
  return program;
}

using Outcome = std::vector<std::uint64_t>;  // the time and every counter; empty: refused

Outcome outcome_of(const Scene& scene, const SystemConfig& system, const Program& program) {
  RunOptions options;
  options.system = system;
  options.limited = scene.chunks != 0;
  options.capacity_bytes = scene.chunks * kBlockBytes;
  if (scene.recorded_elsewhere) options.time_scale.recorded_on = config::load_system("a100-pcie-80g").gpus.front();
  try {
    config::check_system(system, scene.system);
    const RunResult result = program.run(options);
    Outcome out{static_cast<std::uint64_t>(result.total.value), static_cast<std::uint64_t>(result.ideal.value)};
    for_each_counter(result.counters, [&](const char*, std::uint64_t value) { out.push_back(value); });
    return out;
  } catch (const InputError&) {
    return {};
  }
}

// Other values, far from the one there.
std::vector<config::ParameterValue> others(const Parameter& parameter) {
  const config::ParameterValue value = value_of(parameter);
  if (const bool* flag = std::get_if<bool>(&value)) return {!*flag};
  if (std::holds_alternative<std::string>(value)) {
    std::vector<config::ParameterValue> words;
    for (const std::string_view word : parameter.choices) {
      if (word != std::get<std::string>(value)) words.emplace_back(std::string(word));
    }
    return words;
  }
  const std::uint64_t now = std::get<std::uint64_t>(value);
  std::set<std::uint64_t> numbers;
  for (const std::uint64_t number : {now * 8 + 1000, now / 8, now + 1}) {
    numbers.insert(std::clamp(number, parameter.minimum, parameter.maximum));
  }
  numbers.erase(now);
  return {numbers.begin(), numbers.end()};
}

constexpr std::uint64_t kPrograms = 4;

class EveryKey : public ::testing::Test {
 protected:
  struct Run {
    const Scene* scene;
    SystemConfig system;
    Program program;
    Outcome outcome;
  };

  static const std::vector<Run>& runs() {
    static const std::vector<Run> all = [] {
      std::vector<Run> made;
      for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
        for (const Scene& scene : scenes()) {
          SystemConfig system = config::load_system(scene.system);
          config::apply_overrides(system, scene.settings);
          Program program = program_of(scene, seed);
          Outcome outcome = outcome_of(scene, system, program);
          if (!outcome.empty()) made.push_back({&scene, std::move(system), std::move(program), std::move(outcome)});
        }
      }
      return made;
    }();
    return all;
  }

  static bool moves(const std::string& key, const Run& run) {
    SystemConfig changed = run.system;
    for (const Parameter& parameter : parameters(changed)) {
      // Of a list one element stands for all.
      if (config::without_indices(parameter.key) != key || parameter.key.find(".1.") != std::string::npos) continue;
      if (parameter.key.find(".2.") != std::string::npos || parameter.key.find(".3.") != std::string::npos) continue;
      const config::ParameterValue before = value_of(parameter);
      for (const config::ParameterValue& other : others(parameter)) {
        store(parameter, other);
        const Outcome outcome = outcome_of(*run.scene, changed, run.program);
        if (!outcome.empty() && outcome != run.outcome) return true;
      }
      store(parameter, before);
    }
    return false;
  }
};

// Takes minutes, and gmmu, gpus, host, links and runtime still need programs that bring out all of their keys: run it
// with
// --gtest_also_run_disabled_tests.
TEST_F(EveryKey, DISABLED_MovesACounterOrATimeOfSomeProgram) {
  std::set<std::string> keys;
  for (const Scene& scene : scenes()) {
    SystemConfig system = config::load_system(scene.system);
    for (const Parameter& parameter : parameters(system)) keys.insert(config::without_indices(parameter.key));
  }
  ASSERT_GT(keys.size(), 150u);
  for (const std::string& key : keys) {
    if (kExceptions.contains(key)) continue;
    EXPECT_TRUE(std::any_of(runs().begin(), runs().end(), [&](const Run& run) { return moves(key, run); }))
        << key << " changes nothing";
  }
  for (const auto& [key, why] : kExceptions) EXPECT_TRUE(keys.contains(key)) << key << " is no key any more";
}

}  // namespace
}  // namespace uvmsim
