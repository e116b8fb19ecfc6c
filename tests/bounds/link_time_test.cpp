// SPDX-License-Identifier: Apache-2.0
// The fastest time of a link, against the engine's own copy engines when all copies are submitted at once.
#include "sim/bounds/link_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "sim/common/random.h"
#include "sim/link/topology.h"
#include "tests/bounds/random_program.h"

namespace uvmsim {
namespace {

constexpr std::array<unsigned, 1> kFirst = {0};

TEST(LinkTime, NothingTakesNoTime) { EXPECT_EQ(bounds::LinkTime(plain_system(), kFirst).of(0, 0).value, 0); }

// 10 GB/s, 1 us per push, 1.25 us between pushes of 2 MB.
TEST(LinkTime, PushesCostTheirLatencyAndGaps) {
  const bounds::LinkTime link(plain_system(), kFirst);
  EXPECT_EQ(link.of(1, 0).value, 1000 + 409);
  EXPECT_EQ(link.of(512, 0).value, 1000 + 209715);
  EXPECT_EQ(link.of(1024, 0).value, 2 * 1000 + 1250 + 419430);
  EXPECT_EQ(link.of(1024, 2048), link.of(0, 2048));
}

TEST(LinkTime, SmallHostPagesAreRunsOfTheirOwn) {
  config::SystemConfig system = plain_system();
  system.host.large_pages = false;
  EXPECT_EQ(bounds::LinkTime(system, kFirst).of(512, 0).value, 512 * 1000 + 209715);
}

TEST(LinkTime, BothWaysShareWhatTheLinkOrTheHostCan) {
  config::SystemConfig system = plain_system();
  system.host_links[0].both_ways_bytes_per_us = 12000;
  EXPECT_EQ(bounds::LinkTime(system, kFirst).of(512, 512).value, 2 * 2097152 / 12);
  system.host.memory_bytes_per_us = 11000;
  EXPECT_EQ(bounds::LinkTime(system, kFirst).of(512, 512).value, 2 * 2097152 / 11);
}

// The copies are made as by PageCopies::push: a block at a time, each direction in sequence, both directions at once.
TEST(LinkTime, IsNoLongerThanTheEnginesTake) {
  Random random(41);
  for (unsigned instance = 0; instance < 300; ++instance) {
    const config::SystemConfig system = random_system(random);
    link::Topology topology(system);
    std::array<std::uint64_t, 2> pages = {random.below(6000), random.below(6000)};
    const Nanoseconds least = bounds::LinkTime(system, kFirst).of(pages[0], pages[1]);
    std::array<Nanoseconds, 2> next{};
    Nanoseconds end{};
    while (pages[0] + pages[1] != 0) {
      const std::size_t which = pages[1] == 0 || (pages[0] != 0 && next[0] <= next[1]) ? 0 : 1;
      link::CopyEngine& engine =
          topology.engine(0, which == 0 ? link::Direction::kHostToDevice : link::Direction::kDeviceToHost);
      const std::uint64_t n = std::min<std::uint64_t>(pages[which], kPagesPerBlock);
      pages[which] -= n;
      engine.begin_push(next[which]);
      const std::uint64_t step = system.host.large_pages ? n * kBasePageBytes : kBasePageBytes;
      for (std::uint64_t done = 0; done < n * kBasePageBytes; done += step) engine.run(step);
      end = std::max(end, engine.busy_until());
      next[which] = engine.busy_until() + Nanoseconds(static_cast<std::int64_t>(system.costs.push_gap_ns));
    }
    ASSERT_LE(least, end) << "instance " << instance;
  }
}

}  // namespace
}  // namespace uvmsim
