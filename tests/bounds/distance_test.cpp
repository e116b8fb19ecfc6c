// SPDX-License-Identifier: Apache-2.0
// The time of a run is divided into parts, so that every nanosecond is counted once.
#include "sim/bounds/distance.h"

#include <gtest/gtest.h>

#include "tests/engine/program.h"

namespace uvmsim {
namespace {

Program sweeps() {
  Program program;
  const auto a = program.alloc(24 * kMiB);
  program.host(a);
  for (unsigned i = 0; i < 4; ++i) program.kernel("sweep", 100000, {a}, {});
  program.sync();
  return program;
}

void expect_whole(const bounds::Distance& d, const RunResult& result, const bounds::Bounds& bounds) {
  EXPECT_EQ(bounds.time.compute + d.necessary_bytes + d.excess_bytes + d.fault_latency + d.serialisation, result.total);
  for (const Nanoseconds part : {d.necessary_bytes, d.excess_bytes, d.fault_latency, d.serialisation}) {
    EXPECT_GE(part.value, 0);
  }
}

TEST(Distance, PartsAddUpToTheTime) {
  const Program program = sweeps();
  for (const std::uint64_t chunks : {0u, 4u, 8u, 11u}) {
    for (const char* prefetch : {"none", "tree"}) {
      RunOptions options = options_with(chunks);
      options.prefetch.name = prefetch;
      const RunResult result = program.run(options);
      const bounds::Bounds bounds = bounds::compute_bounds(Program::header(), program.source(), options);
      const bounds::Distance d = bounds::distance_of(result, bounds, options.system);
      expect_whole(d, result, bounds);
      EXPECT_EQ(d.excess_htod_bytes, bytes_in(result.counters) - bounds.bytes.htod);
      EXPECT_EQ(d.excess_dtoh_bytes, bytes_out(result.counters) - bounds.bytes.dtoh);
      if (chunks == 0) {
        EXPECT_EQ(d.excess_bytes.value, 0);  // the host's data migrate once, and nothing is evicted
        EXPECT_GT(d.necessary_bytes.value, 0);
        EXPECT_GT(d.fault_latency.value, 0);
      } else {
        EXPECT_GT(d.excess_bytes.value, 0);  // the least recently migrated block is the one that is needed next
      }
    }
  }
}

// Tests the definition of the parts, and that earlier parts take precedence over later ones.
TEST(Distance, TakesTheExcessFirstThenFaultsThenTheRest) {
  const config::SystemConfig system = plain_system();
  bounds::Bounds bounds;
  bounds.gpus = {0};
  bounds.time.compute = Nanoseconds(1000000);
  bounds.time.write_backs = Nanoseconds(1500000);
  RunResult result;
  result.counters.htod_fault_bytes = kBlockBytes;  // 1 us and 209715 ns
  result.counters.fault_service_ns = 400000;
  result.counters.htod_busy_ns = 210715;
  result.counters.wakeups = 2;
  const std::int64_t excess = 210715;
  const std::int64_t faults = 400000 - 210715 + 2 * static_cast<std::int64_t>(system.costs.wakeup_ns);

  result.total = Nanoseconds(3000000);
  bounds::Distance d = bounds::distance_of(result, bounds, system);
  expect_whole(d, result, bounds);
  EXPECT_EQ(d.necessary_bytes.value, 500000);
  EXPECT_EQ(d.excess_bytes.value, excess);
  EXPECT_EQ(d.fault_latency.value, faults);
  EXPECT_EQ(d.excess_htod_bytes, kBlockBytes);

  result.total = Nanoseconds(1500000 + excess + 1000);
  d = bounds::distance_of(result, bounds, system);
  expect_whole(d, result, bounds);
  EXPECT_EQ(d.fault_latency.value, 1000);
  EXPECT_EQ(d.serialisation.value, 0);

  result.total = Nanoseconds(1500000);
  d = bounds::distance_of(result, bounds, system);
  expect_whole(d, result, bounds);
  EXPECT_EQ(d.excess_bytes.value, 0);
}

}  // namespace
}  // namespace uvmsim
