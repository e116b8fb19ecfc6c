// SPDX-License-Identifier: Apache-2.0
// Tests of thrashing control within the fault services: GPU and CPU contend for pages; and one measured case.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/validate/experiment.h"
#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

// Repeats the GPU's write of one page after every replay until it succeeds. Returns the number of throttled attempts.
unsigned gpu_insists(Machine& machine, BlockIndex block, unsigned page) {
  unsigned throttled = 0;
  while (!machine.on_gpu(block).writable.test(page)) {
    const BatchSummary summary = machine.gpu_write(block, pages({page}));
    if (summary.throttled) ++throttled;
    EXPECT_EQ(summary.faulting_pages, summary.throttled ? 0u : 1u);
    if (throttled > 1000) break;
  }
  return throttled;
}

// Lets GPU and CPU alternately write page 0.
void fight(Machine& machine, BlockIndex block, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    gpu_insists(machine, block, 0);
    machine.cpu_write(block, 0);
  }
}

TEST(ThrashingService, AFoughtOverPageIsThrottledThenPinnedOnTheHost) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  fight(machine, a, 100);
  for (const ThrashingEvent& event : machine.events.thrashing) {
    EXPECT_LT(event.address, virtual_address(a, 16)) << "only the 64 KB that moved as one";
  }
  EXPECT_GE(machine.counters.thrashing_pages, 16u);
  EXPECT_GE(machine.counters.throttles, 10u);
  EXPECT_GE(machine.counters.pins, 1u);
  EXPECT_TRUE(machine.thrashing.pinned(a).test(0));
  EXPECT_TRUE(machine.on_host(a).resident.test(0));
  EXPECT_TRUE(machine.on_host(a).writable.test(0));
  EXPECT_TRUE(machine.on_gpu(a).writable.test(0)) << "remotely";
  EXPECT_FALSE(machine.on_gpu(a).resident.test(0));
  machine.check();

  const Counters before = machine.counters;
  fight(machine, a, 100);
  EXPECT_EQ(machine.counters.cpu_faults, before.cpu_faults) << "both have it mapped";
  EXPECT_EQ(machine.counters.faulting_pages, before.faulting_pages);
}

TEST(ThrashingService, WhenThePinRunsOutTheRemoteMappingGoes) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  fight(machine, a, 100);
  ASSERT_TRUE(machine.thrashing.pinned(a).test(0));
  machine.wait(microseconds(150000));
  machine.gpu_write(machine.allocate(kBigPageBytes), pages({0}));  // any fault has this effect
  EXPECT_FALSE(machine.thrashing.pinned(a).test(0));
  EXPECT_FALSE(machine.on_gpu(a).mapped.test(0));
  EXPECT_TRUE(machine.on_host(a).mapped.test(0));
  gpu_insists(machine, a, 0);
  EXPECT_TRUE(machine.on_gpu(a).resident.test(0)) << "it migrates again";
  machine.check();
}

TEST(ThrashingService, AccessedByKeepsItsMappingWhenThePinRunsOut) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  fight(machine, a, 100);
  ASSERT_TRUE(machine.thrashing.pinned(a).test(0));
  machine.space.block(a).hints.accessed_by = gpu_processor(0).bit();
  machine.wait(microseconds(150000));
  expire_pins(machine.context, machine.thrashing, machine.now);
  EXPECT_TRUE(machine.on_gpu(a).mapped.test(0));
}

TEST(ThrashingService, ThrashingPagesStayOutOfTheTree) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 32));
  for (int i = 0; i < 5; ++i) {
    machine.wait(microseconds(10));
    machine.thrashing.on_migration(a, pages({3}), i % 2 == 0 ? kHost : gpu_processor(0), machine.now);
  }
  ASSERT_EQ(machine.thrashing.pages(a), pages({3}));
  machine.wait(microseconds(501));  // throttling is over
  machine.gpu_read(a, pages({0}));
  EXPECT_EQ(machine.on_gpu(a).resident, pages({0})) << "4 KB: no growth to 64 KB around thrashing pages";
  machine.gpu_read(a, pages({64}));
  EXPECT_EQ(machine.on_gpu(a).resident, pages({0}) | page_range(64, 80));
  // With 17 of the first 32 pages on the GPU, the tree fetches the others, but never the page that thrashes.
  machine.gpu_read(a, pages({16}));
  EXPECT_EQ(machine.on_gpu(a).resident, (page_range(0, 32) | page_range(64, 80)) - pages({3}));
}

TEST(ThrashingService, AThrottledCpuSleepsAndRepeatsItsTouch) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  bool slept = false;
  for (int i = 0; i < 40 && !slept; ++i) {
    gpu_insists(machine, a, 0);
    const Nanoseconds until = machine.host_faults.touch(a, 0, true, machine.now);
    slept = !machine.host_faults.mapped(a, 0, true);
    EXPECT_GT(until, machine.now);
    if (slept) {
      EXPECT_LE(until - machine.now, microseconds(500));
      EXPECT_TRUE(machine.on_gpu(a).resident.test(0)) << "the page stays with the winner meanwhile";
    }
    machine.advance_to(until);
  }
  EXPECT_TRUE(slept);
  machine.cpu_write(a, 0);
  EXPECT_TRUE(machine.host_faults.mapped(a, 0, true));
  machine.check();
}

TEST(ThrashingService, WithoutItThePageMovesForEver) {
  config::SystemConfig system = tiny_system();
  system.driver.thrashing_enable = false;
  Machine machine(1, system);
  const BlockIndex a = machine.allocate();
  fight(machine, a, 50);
  EXPECT_EQ(machine.counters.cpu_faults, 50u);
  EXPECT_EQ(machine.counters.throttles + machine.counters.pins + machine.counters.thrashing_pages, 0u);
}

TEST(ThrashingService, EvictionsAreNoEvents) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  for (int i = 0; i < 30; ++i) {
    machine.gpu_write(a, pages({0}));
    machine.gpu_write(b, pages({0}));
  }
  EXPECT_FALSE(machine.thrashing.tracks(a));
  EXPECT_EQ(machine.counters.thrashing_pages, 0u);
}

TEST(ThrashingService, TwoGpusFightThroughTheHost) {
  Machine machine(1, tiny_system(2));
  const BlockIndex a = machine.allocate();
  for (int i = 0; i < 200; ++i) {
    const unsigned gpu = static_cast<unsigned>(i % 2);
    for (int tries = 0; tries < 1000 && !machine.on_gpu(a, gpu).writable.test(0); ++tries) {
      machine.gpu_write(a, pages({0}), gpu);
    }
  }
  EXPECT_GE(machine.counters.pins, 1u);
  EXPECT_TRUE(machine.on_gpu(a, 0).mapped.test(0));
  EXPECT_TRUE(machine.on_gpu(a, 1).mapped.test(0));
  machine.check();
}

// An H200 and its CPU alternately write 2 MB, six times; every migration with its time is known. From these alone the
// module finds the same 512 thrashing pages, in the same migrations.
TEST(ThrashingMeasured, PingPong) {
  const validate::ExperimentFile file =
      validate::read_experiments(std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/uvm_h200_dev.jsonl.zst");
  const auto experiment = std::find_if(file.experiments.begin(), file.experiments.end(),
                                       [](const auto& e) { return e.name == "pingpong_2m_x6"; });
  ASSERT_NE(experiment, file.experiments.end());

  // The driver reports a migration when it pushes the copies. For the CPU the records of thrashing pages show this
  // time: 6.2 us after the fault for the faulting page, 5.2 us later for pages that the tree adds. For the GPU the time
  // is not recorded; 10 to 14 us before the start of the first copy agree with the records (two events of page 256 are
  // 0.5 to 5 us less apart than the lapse, those of its neighbours slightly more).
  constexpr std::int64_t kCpuFaultToEvent = 6200, kFirstToSecondRun = 5200, kGpuEventToCopy = 12000;
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  std::int64_t cpu_fault = 0, gpu_push = 0;
  std::vector<std::pair<Nanoseconds, validate::MeasuredEvent>> migrations;
  std::vector<unsigned> measured_pages;
  for (const validate::MeasuredEvent& event : experiment->events) {
    switch (event.kind) {
      case validate::EventKind::kCpuFault:
        cpu_fault = event.start_ns;
        break;
      case validate::EventKind::kHostToDevice:
        if (event.flags == 2) gpu_push = event.start_ns - kGpuEventToCopy;
        migrations.emplace_back(Nanoseconds(gpu_push), event);
        break;
      case validate::EventKind::kDeviceToHost:
        migrations.emplace_back(Nanoseconds(cpu_fault + kCpuFaultToEvent + (event.flags == 3 ? kFirstToSecondRun : 0)),
                                event);
        break;
      case validate::EventKind::kThrashing:
        measured_pages.push_back(static_cast<unsigned>(event.offset / static_cast<std::int64_t>(kBasePageBytes)));
        break;
      default:
        break;
    }
  }
  ASSERT_EQ(migrations.size(), 166u);
  ASSERT_EQ(measured_pages.size(), 512u);
  for (const auto& [at, event] : migrations) {
    const auto first = static_cast<unsigned>(event.offset / static_cast<std::int64_t>(kBasePageBytes));
    const PageMask moved = PageMask::range(first, static_cast<unsigned>(event.value / kBasePageBytes));
    const bool to_gpu = event.kind == validate::EventKind::kHostToDevice;
    if (event.flags == 3) {
      EXPECT_FALSE(machine.thrashing.pages(a).intersects(moved)) << "the tree brought a page that thrashes";
    }
    machine.thrashing.on_migration(a, moved, to_gpu ? gpu_processor(0) : kHost, at);
  }
  std::vector<unsigned> found;
  for (const ThrashingEvent& event : machine.events.thrashing) {
    found.push_back(static_cast<unsigned>(event.address / kBasePageBytes % kPagesPerBlock));
  }
  EXPECT_EQ(found, measured_pages);
}

}  // namespace
}  // namespace uvmsim::driver
