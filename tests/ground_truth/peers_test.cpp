// SPDX-License-Identifier: Apache-2.0
// Memory of one H200 on which a kernel of another H200 faults: configs/measurements/nvlink_h200_x2.txt, tests 0, 1, 2
// and 4. Tests 3 and 5 had many threads, and the pages that they touched are not known; validation_test.cpp replays
// programs of many threads whose accesses are known. CUPTI recorded one fault record per batch, and one transfer per
// contiguous run with one cause.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "sim/config/load_system.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

constexpr std::uint64_t kBytes = 16 * kMiB;

struct Found {
  double us = 0;
  std::uint64_t batches = 0;
  std::uint64_t bytes = 0;
  std::map<std::uint64_t, unsigned> transfers;  // by size
  unsigned count() const {
    unsigned n = 0;
    for (const auto& [size, times] : transfers) n += times;
    return n;
  }
};

// 16 MB are written on GPU 1; then one thread of GPU 0 touches them.
Found touch_from_the_other_gpu(std::uint64_t stride_pages, trace::AccessMode mode, bool preferred = false) {
  RunOptions options;
  options.system = config::load_system("hgx-h200-x2", {UVMSIM_SOURCE_DIR "/configs/systems"});
  options.limited = false;
  Program program;
  const trace::ObjectId object = program.alloc(kBytes);
  program.kernel("fill", 100000, {}, {object}).device = 1;
  program.sync();
  if (preferred) program.advise(object, trace::Advice::kSetPreferredLocation, 1);
  // The very first fault of the card takes longer; the measured program had had it before.
  const trace::ObjectId other = program.alloc(2 * kMiB);
  program.walk("warm-up", other, 0, 1);
  program.sync();
  trace::Kernel& walk = program.walk("walk", object, 0, program.pages(object), mode);
  std::erase_if(walk.touches, [&](const trace::Touch& touch) {
    return touch.quantum * Program::header().quantum_bytes / kPage % stride_pages != 0;
  });
  program.sync();

  struct Listener final : EventSink {
    void on(const KernelEvent& e) override {
      if (e.name == "walk") found.us = static_cast<double>((e.end - e.start).value) / 1000;
    }
    void on(const FaultBatchEvent& e) override { found.batches += e.device == 0 ? 1 : 0; }
    void on(const TransferEvent& e) override {
      EXPECT_EQ(e.direction, TransferDirection::kDeviceToDevice);
      EXPECT_EQ(e.source, 1);
      ++found.transfers[e.bytes];
      found.bytes += e.bytes;
    }
    void on(const RemoteMapEvent& e) override { ++mapped[e.bytes]; }
    Found found;
    std::map<std::uint64_t, unsigned> mapped;
  } listener;
  program.run(options, &listener);
  --listener.found.batches;  // of the warm-up
  if (preferred) listener.found.transfers = listener.mapped;
  return listener.found;
}

void expect_time(const char* what, double simulated, double measured) {
  std::printf("%-34s %8.1f us, measured %8.1f (%+.1f %%)\n", what, simulated, measured,
              100 * (simulated / measured - 1));
  EXPECT_LT(std::abs(simulated / measured - 1), 0.2) << what;
}

TEST(PeerFaults, OneThreadReadsEvery64K) {
  const Found found = touch_from_the_other_gpu(16, trace::AccessMode::kRead);
  EXPECT_EQ(found.batches, 48u);
  EXPECT_EQ(found.bytes, kBytes);
  EXPECT_EQ(found.count(), 96u);
  EXPECT_EQ(found.transfers.at(4 * kKiB), 48u);
  EXPECT_EQ(found.transfers.at(60 * kKiB), 16u);
  // The first batch is excluded: it took 686 us before the second fault came, compared with 168 in the other tests.
  expect_time("every 64 KB of 16 MB, read", found.us, 2764.9 - (685.9 - 165.9));
}

TEST(PeerFaults, OneThreadReadsEvery256K) {
  const Found found = touch_from_the_other_gpu(64, trace::AccessMode::kRead);
  EXPECT_EQ(found.batches, 64u);
  EXPECT_EQ(found.bytes, 4 * kMiB);
  EXPECT_EQ(found.transfers, (std::map<std::uint64_t, unsigned>{{4 * kKiB, 64}, {60 * kKiB, 64}}));
  expect_time("every 256 KB of 16 MB, read", found.us, 2462.0);
}

TEST(PeerFaults, OneThreadWritesEvery64K) {
  const Found found = touch_from_the_other_gpu(16, trace::AccessMode::kWrite);
  EXPECT_EQ(found.batches, 48u);
  EXPECT_EQ(found.bytes, kBytes);
  EXPECT_EQ(found.count(), 96u);
  expect_time("every 64 KB of 16 MB, written", found.us, 2278.4);
}

TEST(PeerFaults, PreferredLocationIsMappedBlockByBlock) {
  const Found found = touch_from_the_other_gpu(16, trace::AccessMode::kRead, true);
  EXPECT_EQ(found.bytes, 0u);
  EXPECT_EQ(found.transfers, (std::map<std::uint64_t, unsigned>{{2 * kMiB, 8}}));
}

}  // namespace
}  // namespace uvmsim
