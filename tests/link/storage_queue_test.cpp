// SPDX-License-Identifier: Apache-2.0
#include "sim/link/storage_queue.h"

#include <gtest/gtest.h>

namespace uvmsim::link {
namespace {

constexpr Nanoseconds kLatency(12000);
constexpr std::uint64_t kBytesPerUs = 3200;
constexpr std::uint64_t kPage = kBasePageBytes;
constexpr Nanoseconds kPageTime(1280);  // 4096 / 3200 us

TEST(StorageQueue, OneRequestTakesLatencyAndBytes) {
  StorageQueue queue(kLatency, kBytesPerUs, 32, nullptr);
  const RunTimes times = queue.submit(Nanoseconds(500), kPage);
  EXPECT_EQ(times.start, Nanoseconds(500));
  EXPECT_EQ(times.end, Nanoseconds(500) + kLatency + kPageTime);
  EXPECT_EQ(queue.busy_time(), kPageTime);
}

TEST(StorageQueue, RequestsInFlightShareTheLatency) {
  StorageQueue queue(kLatency, kBytesPerUs, 32, nullptr);
  for (std::int64_t i = 1; i <= 32; ++i) {
    const RunTimes times = queue.submit(Nanoseconds(0), kPage);
    EXPECT_EQ(times.start, Nanoseconds(0));
    EXPECT_EQ(times.end, kLatency + kPageTime * i);
  }
  // The queue is full, so the next request waits until the first one ends.
  EXPECT_EQ(queue.submit(Nanoseconds(0), kPage).start, kLatency + kPageTime);
}

TEST(StorageQueue, DepthLimitsSmallRequests) {
  StorageQueue queue(kLatency, kBytesPerUs, 2, nullptr);
  Nanoseconds end{};
  constexpr std::int64_t kPairs = 100;
  for (std::int64_t i = 0; i < 2 * kPairs; ++i) end = queue.submit(Nanoseconds(0), kPage).end;
  // Two requests are in flight: the second of each pair ends a page time after the first, and then the next pair
  // begins.
  EXPECT_EQ(end, (kLatency + kPageTime) * kPairs + kPageTime);
}

TEST(StorageQueue, LargeRequestsReachTheBandwidth) {
  StorageQueue queue(kLatency, kBytesPerUs, 2, nullptr);
  Nanoseconds end{};
  for (int i = 0; i < 10; ++i) end = queue.submit(Nanoseconds(0), kBlockBytes).end;
  EXPECT_EQ(end, kLatency + Nanoseconds(static_cast<std::int64_t>(kBlockBytes * 1000 / kBytesPerUs)) * 10);
}

TEST(StorageQueue, QueuesThatAreAlikeHaveOneState) {
  const auto state = [](const StorageQueue& queue, Nanoseconds now) {
    StateDigest digest(now);
    queue.add_state(digest);
    return *digest.value();
  };
  StorageQueue a(kLatency, kBytesPerUs, 4, nullptr), b(kLatency, kBytesPerUs, 4, nullptr);
  a.submit(Nanoseconds(0), kPage);  // has ended by the time that the test checks
  a.submit(Nanoseconds(100000), kPage);
  b.submit(Nanoseconds(200000), kPage);
  EXPECT_EQ(state(a, Nanoseconds(101000)), state(b, Nanoseconds(201000)));
  EXPECT_NE(state(a, Nanoseconds(101000)), state(b, Nanoseconds(201001)));
}

}  // namespace
}  // namespace uvmsim::link
