// SPDX-License-Identifier: Apache-2.0
// Streams run concurrently; events order them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/program.h"
#include "tests/policy/message_of.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;

std::int64_t launch_ns() { return static_cast<std::int64_t>(plain_system().runtime.launch_ns); }

TEST(Streams, KernelsOfDifferentStreamsOverlap) {
  Program program;
  program.kernel("a", 500000, {}, {}, 1);
  program.kernel("b", 500000, {}, {}, 2);
  Watched watched;
  program.run(options_with(0), &watched);
  EXPECT_EQ((watched.kernel("b").start - watched.kernel("a").start).value, launch_ns());
  EXPECT_LT(watched.kernel("b").start, watched.kernel("a").end);
}

TEST(Streams, AnEventOrdersTwoStreams) {
  Program program;
  program.kernel("producer", 500000, {}, {}, 1);
  program.record_event(1, 7);
  program.wait_event(2, 7);
  program.kernel("consumer", 1000, {}, {}, 2);
  program.kernel("independent", 1000, {}, {}, 3);
  Watched watched;
  program.run(options_with(0), &watched);
  EXPECT_GE(watched.kernel("consumer").start, watched.kernel("producer").end);
  EXPECT_LT(watched.kernel("independent").end, watched.kernel("producer").end);
}

TEST(Streams, AnEventThatIsOverDoesNotHoldAnybodyUp) {
  Program program;
  program.kernel("producer", 1000, {}, {}, 1);
  program.record_event(1, 7);
  program.sync();
  program.wait_event(2, 7);
  program.kernel("consumer", 1000, {}, {}, 2);
  Watched watched;
  program.run(options_with(0), &watched);
  EXPECT_LT((watched.kernel("consumer").start - watched.kernel("producer").end).value, 50000);
}

TEST(Streams, AnEventRecordedAgainIsWaitedForAgain) {
  Program program;
  program.kernel("first", 1000, {}, {}, 1);
  program.record_event(1, 7);
  program.sync();
  program.kernel("second", 900000, {}, {}, 1);
  program.record_event(1, 7);
  program.wait_event(2, 7);
  program.kernel("consumer", 1000, {}, {}, 2);
  Watched watched;
  program.run(options_with(0), &watched);
  EXPECT_GE(watched.kernel("consumer").start, watched.kernel("second").end);
}

// Forks and joins as in libraries: one event for both directions, all issued before any of it runs.
TEST(Streams, EachWaitIsForTheRecordingIssuedLastBefore) {
  Program program;
  program.kernel("before", 200000, {}, {}, 0);
  program.record_event(0, 7);
  program.wait_event(1, 7);
  program.kernel("side", 500000, {}, {}, 1);
  program.record_event(1, 7);
  program.wait_event(0, 7);
  program.kernel("after", 1000, {}, {}, 0);
  Watched watched;
  program.run(options_with(0), &watched);
  EXPECT_GE(watched.kernel("side").start, watched.kernel("before").end);
  EXPECT_GE(watched.kernel("after").start, watched.kernel("side").end);
}

TEST(Streams, SynchronisingAStreamLeavesTheOthersAlone) {
  Program program;
  program.kernel("long", 900000, {}, {}, 1);
  program.kernel("short", 1000, {}, {}, 2);
  program.sync_stream(2);
  program.kernel("after short", 1000, {}, {}, 3);
  program.sync_stream(1);
  program.kernel("after long", 1000, {}, {}, 3);
  Watched watched;
  program.run(options_with(0), &watched);
  EXPECT_GE(watched.kernel("after short").start, watched.kernel("short").end);
  EXPECT_LT(watched.kernel("after short").end, watched.kernel("long").end);
  EXPECT_GE(watched.kernel("after long").start, watched.kernel("long").end);
}

TEST(Streams, TheHostWaitsForAnEvent) {
  Program program;
  program.kernel("a", 100000, {}, {}, 1);
  program.record_event(1, 3);
  program.kernel("b", 900000, {}, {}, 1);
  program.add(trace::Sync{trace::SyncKind::kEventSynchronize, 1, 3, 0});
  program.kernel("c", 1000, {}, {}, 2);
  Watched watched;
  program.run(options_with(0), &watched);
  EXPECT_GE(watched.kernel("c").start, watched.kernel("a").end);
  EXPECT_LT(watched.kernel("c").end, watched.kernel("b").end);
}

// A wait for an event does not include later work of the event's stream.
TEST(Streams, TheIdealTimeFollowsEvents) {
  Program program;
  program.kernel("a", 100000, {}, {}, 1);
  program.record_event(1, 3);
  program.kernel("b", 900000, {}, {}, 1);
  program.add(trace::Sync{trace::SyncKind::kEventSynchronize, 1, 3, 0});
  program.kernel("c", 850000, {}, {}, 2);
  EXPECT_EQ(program.run(options_with(0)).ideal.value, launch_ns() + 100000 + 900000);

  Program ordered;
  ordered.kernel("a", 100000, {}, {}, 1);
  ordered.record_event(1, 3);
  ordered.wait_event(2, 3);
  ordered.kernel("b", 900000, {}, {}, 2);
  EXPECT_EQ(ordered.run(options_with(0)).ideal.value, launch_ns() + 100000 + 900000);
}

TEST(Streams, FaultingKernelsShareTheServiceThread) {
  const auto total = [](std::uint32_t second_stream) {
    Program program;
    const auto a = program.alloc(16 * kMiB);
    const auto b = program.alloc(16 * kMiB);
    program.host(a);
    program.host(b);
    program.kernel("a", 1000000, {a}, {}, 1);
    program.kernel("b", 1000000, {b}, {}, second_stream);
    program.sync();
    Watched watched;
    const RunResult result = program.run(options_with(0), &watched);
    EXPECT_EQ(bytes_in(result.counters), 32 * kMiB);
    return watched.kernels.back().end - std::min(watched.kernels[0].start, watched.kernels[1].start);
  };
  EXPECT_LT(total(2), total(1));  // one computes while the other waits
}

// CUDA driver API, cuStreamWaitEvent and cuEventSynchronize: an event that was never recorded counts as complete.
TEST(Streams, NobodyWaitsForAnEventBeforeItsFirstRecord) {
  const auto end_of_waiter = [](bool waits, bool records) {
    Program program;
    if (waits) program.wait_event(1, 42);
    if (waits) program.add(trace::Sync{trace::SyncKind::kEventSynchronize, 0, 42, 0});
    program.kernel("waiter", 1000, {}, {}, 1);
    program.kernel("long", 1'000'000, {}, {}, 2);
    if (records) program.record_event(2, 42);
    program.sync();
    Watched watched;
    program.run(options_with(0), &watched);
    return watched.kernel("waiter").end;
  };
  const Nanoseconds alone = end_of_waiter(false, true);
  EXPECT_EQ(end_of_waiter(true, true), alone) << "the record comes later";
  EXPECT_EQ(end_of_waiter(true, false), alone) << "there is none";
}

TEST(Streams, AWaitIsForTheRecordingBeforeIt) {
  Program program;
  program.kernel("first", 1000, {}, {}, 1);
  program.record_event(1, 7);
  program.wait_event(2, 7);
  program.kernel("waiter", 1000, {}, {}, 2);
  program.kernel("long", 1'000'000, {}, {}, 1);
  program.record_event(1, 7);
  program.sync();
  Watched watched;
  program.run(options_with(0), &watched);
  ASSERT_EQ(watched.kernels.size(), 3u);
  EXPECT_GE(watched.kernel("waiter").start, watched.kernel("first").end);
  EXPECT_LT(watched.kernel("waiter").end, watched.kernel("long").end) << "not after the second recording";
}

TEST(Streams, OutOfRangeIsAnError) {
  Program program;
  program.kernel("k", 1000, {}, {}, 4097);
  EXPECT_THAT(message_of([&] { program.run(options_with(0)); }), HasSubstr("stream 4097; allowed: 0 to 4096"));
}

}  // namespace
}  // namespace uvmsim
