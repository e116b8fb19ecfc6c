// SPDX-License-Identifier: Apache-2.0
// Tests of the cost of a listener to the driver's events (config::ListenerCosts).
#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver::listener_test {
namespace {

// Returns the duration of a fault batch on pages 0 and 256 of a block, which is new or has its data on the host.
std::int64_t batch_ns(const config::ListenerCosts& listener, bool on_host) {
  config::SystemConfig system = tiny_system();
  system.listener = listener;
  Machine machine(4, system);
  const BlockIndex block = machine.allocate();
  if (on_host) machine.cpu_fill(block);
  const Nanoseconds begin = machine.now;
  machine.gpu_read(block, pages({0, 256}));
  machine.check();
  return (machine.now - begin).value;
}

config::ListenerCosts listening(std::uint64_t copy_ns, std::uint64_t raw_fault_ns, std::uint64_t batch_ns) {
  config::ListenerCosts listener;
  listener.present = true;
  listener.copy_ns = copy_ns;
  listener.raw_fault_ns = raw_fault_ns;
  listener.batch_ns = batch_ns;
  return listener;
}

TEST(Listener, CostsNothingWhereNobodyListens) {
  config::ListenerCosts absent = listening(1000000, 1000000, 1000000);
  absent.present = false;
  EXPECT_EQ(batch_ns(absent, true), batch_ns({}, true));
}

TEST(Listener, CostsTheDriversThreadItsRecordsOfFaultsAndBatches) {
  EXPECT_EQ(batch_ns(listening(0, 70, 5000), false) - batch_ns({}, false), 5000 + 2 * 70);
  EXPECT_EQ(batch_ns(listening(900000, 0, 0), false), batch_ns({}, false)) << "nothing is copied";
}

// The runs are page 0, the pages that the tree adds to it, page 256, and the pages that the tree adds to that.
TEST(Listener, CostsTheCopyEngineAStampPerRun) {
  const std::int64_t slow = batch_ns(listening(2000000, 0, 0), true), fast = batch_ns(listening(1000000, 0, 0), true);
  EXPECT_EQ(slow - fast, 4 * 1000000);
}

TEST(Listener, CostsAPrefetchOfABlockOneStamp) {
  const auto prefetch_ns = [](std::uint64_t copy_ns) {
    config::SystemConfig system = tiny_system();
    system.listener = listening(copy_ns, 0, 0);
    Machine machine(4, system);
    const BlockIndex block = machine.allocate();
    machine.cpu_fill(block);
    const Nanoseconds begin = machine.now;
    machine.prefetch({block}, gpu_processor(0));
    return (machine.now - begin).value;
  };
  EXPECT_EQ(prefetch_ns(2000000) - prefetch_ns(1000000), 1000000);
}

}  // namespace
}  // namespace uvmsim::driver::listener_test
