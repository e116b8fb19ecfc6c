// SPDX-License-Identifier: Apache-2.0
// Links between GPUs: closed forms, and copies as measured between two H200 (configs/measurements/nvlink_h200_x2.txt).
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sim/config/load_system.h"
#include "sim/link/topology.h"

namespace uvmsim::link {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr Nanoseconds at(std::int64_t n) { return Nanoseconds(n); }

config::SystemConfig gpus(unsigned count) {
  config::SystemConfig system;
  config::LinkConfig link;
  link.host_to_device = link.device_to_host = {0, 0, 1000};
  system.gpus.resize(count);
  system.host_links.assign(count, link);
  return system;
}

config::PeerLinkConfig peer_link(std::uint32_t a, std::uint32_t b, std::uint64_t bytes_per_us) {
  config::PeerLinkConfig link;
  link.kind = "nvlink";
  link.first_gpu = a;
  link.second_gpu = b;
  link.each_way.bytes_per_us = bytes_per_us;
  return link;
}

TEST(Peers, ADirectLinkJoinsItsTwoEndsOnly) {
  config::SystemConfig system = gpus(3);
  system.peer_links = {peer_link(0, 2, 2000)};
  Topology topology(system);
  EXPECT_EQ(topology.peer(0, 1), nullptr);
  EXPECT_EQ(topology.peer(1, 2), nullptr);
  ASSERT_NE(topology.peer(0, 2), nullptr);
  ASSERT_NE(topology.peer(2, 0), nullptr);
  EXPECT_TRUE(topology.peer(2, 0)->fast);
  EXPECT_EQ(topology.peer(0, 2)->engine.submit(at(0), std::uint64_t{2000}).end, at(1000));
  EXPECT_EQ(topology.peer(2, 0)->engine.submit(at(0), std::uint64_t{2000}).end, at(1000)) << "the other direction";
}

TEST(Peers, BothWaysShareWhatTheLinkHasLess) {
  config::SystemConfig system = gpus(2);
  system.peer_links = {peer_link(0, 1, 2000)};
  system.peer_links[0].both_ways_bytes_per_us = 3000;
  Topology topology(system);
  EXPECT_EQ(topology.peer(0, 1)->engine.submit(at(0), std::uint64_t{2000}).end, at(1000));
  // 1000 bytes take the first microsecond, the other 1000 half of the second.
  EXPECT_EQ(topology.peer(1, 0)->engine.submit(at(0), std::uint64_t{2000}).end, at(1500));
}

TEST(Peers, ASwitchLimitsWhatOneGpuSendsAndReceives) {
  config::SystemConfig system = gpus(4);
  config::PeerSwitchConfig sw;
  sw.gpu_count = 4;
  sw.port.bytes_per_us = 1000;
  system.peer_switches = {sw};
  Topology topology(system);
  const auto send = [&](unsigned from, unsigned to) {
    return topology.peer(from, to)->engine.submit(at(0), std::uint64_t{1000}).end;
  };
  EXPECT_EQ(send(0, 1), at(1000));
  EXPECT_EQ(send(2, 3), at(1000)) << "others are not in the way";
  EXPECT_EQ(send(0, 2), at(2000)) << "GPU 0 sends already";
  EXPECT_EQ(send(3, 1), at(2000)) << "GPU 1 receives already";
}

TEST(Peers, GpusBehindAnUplinkShareIt) {
  config::SystemConfig system = gpus(3);
  system.uplinks = {
      {.first_gpu = 0, .gpu_count = 2, .host_to_device_bytes_per_us = 1000, .device_to_host_bytes_per_us = 1500}};
  Topology topology(system);
  const auto bring = [&](unsigned gpu) {
    return topology.engine(gpu, Direction::kHostToDevice).submit(at(0), std::uint64_t{1000}).end;
  };
  EXPECT_EQ(bring(0), at(1000));
  EXPECT_EQ(bring(1), at(2000));
  EXPECT_EQ(bring(2), at(1000)) << "behind a port of its own";
  EXPECT_EQ(topology.engine(0, Direction::kDeviceToHost).submit(at(0), std::uint64_t{1000}).end, at(1000));
  EXPECT_EQ(topology.engine(1, Direction::kDeviceToHost).submit(at(0), std::uint64_t{1000}).end, at(1500));
}

// A row of the measured table: the size; bandwidth of copies one way and both ways, with copies from the host at the
// same time, and to both GPUs.
struct Row {
  double kib, one_way, both_ways, with_host, both_from_host;
};

std::vector<Row> measured() {
  std::ifstream file(UVMSIM_SOURCE_DIR "/configs/measurements/nvlink_h200_x2.txt");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Row row{};
    if (fields >> row.kib >> row.one_way >> row.both_ways >> row.with_host >> row.both_from_host) rows.push_back(row);
  }
  return rows;
}

double gigabytes_per_s(double bytes, Nanoseconds time) { return bytes / static_cast<double>(time.value); }

TEST(Peers, ExplicitCopiesMeetWhatTwoH200Measured) {
  const config::SystemConfig system = config::load_system("hgx-h200-x2", {UVMSIM_SOURCE_DIR "/configs/systems"});
  const std::vector<Row> rows = measured();
  ASSERT_EQ(rows.size(), 10u);
  double worst = 0;
  const auto compare = [&](const char* what, double kib, double simulated, double expected) {
    const double error = simulated / expected - 1;
    worst = std::max(worst, std::abs(error));
    std::printf("%-12s %8.0f KiB: %7.2f GB/s, measured %7.2f (%+.1f %%)\n", what, kib, simulated, expected,
                100 * error);
    EXPECT_LT(std::abs(error), 0.05) << what << " " << kib << " KiB";
  };
  for (const Row& row : rows) {
    const auto bytes = static_cast<std::uint64_t>(row.kib) * 1024;
    const auto size = static_cast<double>(bytes);
    Topology one(system);
    compare("one way", row.kib, gigabytes_per_s(size, one.peer(1, 0)->copy(at(0), bytes)), row.one_way);
    Topology both(system);
    const Nanoseconds there = both.peer(1, 0)->copy(at(0), bytes);
    const Nanoseconds back = both.peer(0, 1)->copy(at(0), bytes);
    // Two short calls at the same time each take longer. The host causes this, not the link.
    if (bytes >= 2 * kMiB) {
      compare("both ways", row.kib, gigabytes_per_s(2 * size, std::max(there, back)), row.both_ways);
    }
    if (bytes < 8 * kMiB) continue;
    Topology beside(system);
    const Nanoseconds from_peer = beside.peer(1, 0)->copy(at(0), bytes);
    const Nanoseconds from_host = beside.engine(0, Direction::kHostToDevice).submit(at(0), bytes).end;
    compare("beside host", row.kib, gigabytes_per_s(2 * size, std::max(from_peer, from_host)), row.with_host);
    Topology two(system);
    const Nanoseconds first = two.engine(0, Direction::kHostToDevice).submit(at(0), bytes).end;
    const Nanoseconds second = two.engine(1, Direction::kHostToDevice).submit(at(0), bytes).end;
    compare("both hosts", row.kib, gigabytes_per_s(2 * size, std::max(first, second)), row.both_from_host);
  }
  std::printf("largest error %.1f %%\n", 100 * worst);
}

}  // namespace
}  // namespace uvmsim::link
