// SPDX-License-Identifier: Apache-2.0
#include "sim/link/topology.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/common/error.h"

namespace uvmsim::link::topology_test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr Nanoseconds kStart(0);

config::SystemConfig machine(std::size_t gpus) {
  config::LinkConfig link;
  link.kind = "pcie";
  link.host_to_device = {2000, 200, 55480};
  link.device_to_host = {1500, 100, 55340};
  link.both_ways_bytes_per_us = 101650;
  config::SystemConfig system;
  system.gpus.resize(gpus);
  system.host_links.assign(gpus, link);
  return system;
}

TEST(Topology, GivesEveryGpuItsOwnLink) {
  Topology topology(machine(2));
  EXPECT_EQ(topology.gpu_count(), 2u);
  EXPECT_FALSE(topology.has_ssd());
  const Nanoseconds alone = topology.engine(0, Direction::kHostToDevice).unloaded_time(64 * kMiB);
  EXPECT_EQ(topology.engine(0, Direction::kHostToDevice).submit(kStart, 64 * kMiB).end, alone);
  EXPECT_EQ(topology.engine(1, Direction::kHostToDevice).submit(kStart, 64 * kMiB).end, alone);
  EXPECT_GT(topology.engine(0, Direction::kDeviceToHost).submit(kStart, 64 * kMiB).end, alone);
}

TEST(Topology, LinksOfAllGpusShareTheHost) {
  config::SystemConfig system = machine(2);
  system.host.memory_bytes_per_us = 108580;
  Topology topology(system);
  const Nanoseconds first = topology.engine(0, Direction::kHostToDevice).submit(kStart, 256 * kMiB).end;
  const Nanoseconds second = topology.engine(1, Direction::kHostToDevice).submit(kStart, 256 * kMiB).end;
  EXPECT_GT(second, first);
  // Measured: 108.58 GB/s together.
  EXPECT_NEAR(512.0 * kMiB / static_cast<double>(second.value), 108.58, 0.03 * 108.58);
}

TEST(Topology, LimitsAboveTheSumOfTheEnginesDoNothing) {
  config::SystemConfig system = machine(1);
  system.host_links[0].both_ways_bytes_per_us = 0;
  system.host.memory_bytes_per_us = 500000;
  Topology topology(system);
  CopyEngine& down = topology.engine(0, Direction::kHostToDevice);
  CopyEngine& up = topology.engine(0, Direction::kDeviceToHost);
  EXPECT_EQ(down.submit(kStart, 64 * kMiB).end, down.unloaded_time(64 * kMiB));
  EXPECT_EQ(up.submit(kStart, 64 * kMiB).end, up.unloaded_time(64 * kMiB));
}

TEST(Topology, HasAnSsdWhenTheSystemHas) {
  config::SystemConfig system = machine(1);
  system.ssd = {1ull << 40, 7000, 5000, 80000, 60000, 2};
  Topology topology(system);
  ASSERT_TRUE(topology.has_ssd());
  EXPECT_EQ(topology.ssd_read().submit(kStart, std::uint64_t{7'000'000}).end, Nanoseconds(80000 + 1'000'000));
  EXPECT_EQ(topology.ssd_write().submit(kStart, std::uint64_t{5'000'000}).end, Nanoseconds(60000 + 1'000'000));
}

TEST(Topology, RefusesWhatIsNoMachine) {
  const auto message = [](const config::SystemConfig& system) {
    try {
      Topology topology(system);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  config::SystemConfig system = machine(2);
  system.host_links.pop_back();
  EXPECT_NE(message(system).find("host_links: 1 links for 2 GPUs"), std::string::npos);
  system = machine(2);
  system.host_links[1].device_to_host.bytes_per_us = 0;
  EXPECT_NE(message(system).find("host_links[1].device_to_host.bytes_per_us"), std::string::npos);
  system.host_links[1].device_to_host.bytes_per_us = ~std::uint64_t{0};
  EXPECT_NE(message(system).find("host_links[1].device_to_host.bytes_per_us"), std::string::npos);
  system = machine(1);
  system.ssd.memory_bytes = 1;
  EXPECT_NE(message(system).find("ssd"), std::string::npos);
}

}  // namespace
}  // namespace uvmsim::link::topology_test
