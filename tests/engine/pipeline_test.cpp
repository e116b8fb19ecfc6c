// SPDX-License-Identifier: Apache-2.0
// Pipeline-parallel training over two GPUs: the schedule's closed form, and copies over the link between them.
#include <gtest/gtest.h>

#include "sim/config/load_system.h"
#include "sim/engine/simulation.h"
#include "sim/generate/generate.h"
#include "sim/link/topology.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kPass = 1000000;  // ns

trace::GeneratorOptions two_stages() {
  trace::GeneratorOptions options;
  options.pattern = "pipeline";
  options.gpus = 2;
  options.kernels = 2;
  options.bytes = std::uint64_t{5} << 23;
  options.duration_ns = kPass;
  options.host_data = false;
  return options;
}

RunResult run(const config::SystemConfig& system) {
  const auto program = trace::make_program(two_stages());
  RunOptions options;
  options.system = system;
  options.limited = false;
  return simulate(
      program->header(), [&](trace::Record& record) { return program->next(record); }, options);
}

Nanoseconds copy_time(const config::SystemConfig& system) {
  link::Topology topology(system);
  return topology.peer(0, 1)->unloaded_time(std::uint64_t{1} << 20);
}

TEST(Pipeline, TakesWhatItsScheduleSays) {
  const config::SystemConfig system = config::load_system("hgx-h200-x2");
  const RunResult result = run(system);
  // Two micro-batches over two stages: (2 + 2 - 1) forward and backward passes, and three copies between them: the
  // first activation, and both gradients.
  const Nanoseconds expected = Nanoseconds(6 * kPass) + Nanoseconds(3 * copy_time(system).value);
  EXPECT_GE(result.ideal, expected);
  EXPECT_LE(result.ideal, expected + Nanoseconds(kPass / 5)) << "launches";
  EXPECT_EQ(result.counters.dtod_fault_bytes + result.counters.dtoh_fault_bytes, 0u) << "stages share no managed pages";
  EXPECT_EQ(result.counters.kernels, 8u);
}

TEST(Pipeline, CopiesTakeTheLinkBetweenTheGpus) {
  const config::SystemConfig system = config::load_system("p3-8xlarge");
  config::SystemConfig slow = system;
  for (config::PeerLinkConfig& link : slow.peer_links) link.each_way.bytes_per_us /= 100;
  const Nanoseconds longer = copy_time(slow) - copy_time(system);
  ASSERT_GT(longer, Nanoseconds(100000));
  EXPECT_GE(run(slow).total - run(system).total, Nanoseconds(2 * longer.value));
}

}  // namespace
}  // namespace uvmsim
