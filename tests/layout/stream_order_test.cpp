// SPDX-License-Identifier: Apache-2.0
// Tests of the order of work that follows from records alone, and of freed blocks that wait for other streams.
#include "sim/layout/stream_order.h"

#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/layout/world.h"

namespace uvmsim::layout {
namespace {

trace::Kernel kernel_on(std::uint32_t stream, std::vector<trace::ObjectId> ids = {}) {
  trace::Kernel kernel;
  kernel.stream = stream;
  for (const trace::ObjectId id : ids) kernel.accesses.push_back({id, {{0, 1, trace::AccessMode::kWrite}}});
  return kernel;
}
trace::Sync sync(trace::SyncKind kind, std::uint32_t stream, std::uint64_t event = 0) {
  return trace::Sync{kind, stream, event, 0};
}
trace::Sync record_event(std::uint64_t event, std::uint32_t stream) {
  return sync(trace::SyncKind::kEventRecord, stream, event);
}
trace::Sync wait_event(std::uint64_t event, std::uint32_t stream) {
  return sync(trace::SyncKind::kEventWait, stream, event);
}

TEST(StreamOrder, EventsOrderStreams) {
  StreamOrder order;
  order.follow(kernel_on(1));
  const std::uint64_t work = order.last_work(1);
  EXPECT_TRUE(order.precedes(1, work, 1));
  EXPECT_FALSE(order.precedes(1, work, 0));
  order.follow(record_event(7, 1));
  order.follow(kernel_on(1));
  EXPECT_FALSE(order.precedes(1, work, 0));
  order.follow(wait_event(7, 0));
  EXPECT_TRUE(order.precedes(1, work, 0));
  EXPECT_FALSE(order.precedes(1, order.last_work(1), 0));  // came after the event
  EXPECT_FALSE(order.precedes(1, work, 2));
  order.follow(record_event(8, 0));
  order.follow(wait_event(8, 2));
  EXPECT_TRUE(order.precedes(1, work, 2));  // by way of stream 0
  EXPECT_FALSE(order.host_waited(1, work));
}

TEST(StreamOrder, AnEventThatWasNeverRecordedOrdersNothing) {
  StreamOrder order;
  order.follow(kernel_on(1));
  order.follow(wait_event(7, 0));
  order.follow(sync(trace::SyncKind::kEventSynchronize, 0, 7));
  EXPECT_FALSE(order.precedes(1, order.last_work(1), 0));
  EXPECT_FALSE(order.host_waited(1, order.last_work(1)));
}

TEST(StreamOrder, WhatTheHostWaitedForComesBeforeEverything) {
  const auto after = [](const std::vector<trace::Record>& records) {
    StreamOrder order;
    order.follow(kernel_on(1));
    const std::uint64_t work = order.last_work(1);
    for (const trace::Record& record : records) order.follow(record);
    EXPECT_EQ(order.host_waited(1, work), order.precedes(1, work, 5));
    return order.host_waited(1, work);
  };
  trace::Memcpy copy;
  EXPECT_FALSE(after({}));
  EXPECT_FALSE(after({sync(trace::SyncKind::kStream, 0)}));
  EXPECT_FALSE(after({copy}));  // of stream 0
  EXPECT_TRUE(after({sync(trace::SyncKind::kStream, 1)}));
  EXPECT_TRUE(after({sync(trace::SyncKind::kDevice, 0)}));
  EXPECT_TRUE(after({record_event(3, 1), sync(trace::SyncKind::kEventSynchronize, 0, 3)}));
  EXPECT_TRUE(after({record_event(3, 1), wait_event(3, 0), copy}));
  copy.stream = 1;
  EXPECT_TRUE(after({copy}));
  copy.blocking = false;
  EXPECT_FALSE(after({copy}));
}

// --- freed blocks ---

// A tensor of stream 0 that stream 1 touches is freed after `records`. Returns whether the next tensor of its size gets
// its place.
bool reused(const std::string& layout, const std::vector<trace::Record>& before_free,
            const std::vector<trace::Record>& after_free = {}) {
  World world(layout);
  world.tensor(1, 30 * kMiB);
  world.layout.follow(kernel_on(1, {1}));
  for (const trace::Record& record : before_free) world.layout.follow(record);
  world.free_tensor(1);
  for (const trace::Record& record : after_free) world.layout.follow(record);
  world.tensor(2, 30 * kMiB);
  return world.taken.bytes == 0;
}

TEST(RecordStream, ABlockWaitsForAStreamThatNothingElseOrders) {
  EXPECT_FALSE(reused("pytorch_caching", {}));
  // the streams are joined, so record_stream was not needed
  EXPECT_TRUE(reused("pytorch_caching", {record_event(1, 1), wait_event(1, 0)}));
  EXPECT_TRUE(reused("pytorch_caching", {sync(trace::SyncKind::kStream, 1)}));
  EXPECT_FALSE(reused("pytorch_caching", {sync(trace::SyncKind::kStream, 0)}));
  EXPECT_FALSE(reused("expandable_segments", {}));
}

TEST(RecordStream, UntilTheHostHasWaited) {
  EXPECT_TRUE(reused("pytorch_caching", {}, {sync(trace::SyncKind::kDevice, 0)}));
  EXPECT_TRUE(reused("pytorch_caching", {}, {sync(trace::SyncKind::kStream, 1)}));
  EXPECT_FALSE(reused("pytorch_caching", {}, {sync(trace::SyncKind::kStream, 0)}));
  // The stream's later work is waited for too, because the event is recorded when the tensor is freed.
  EXPECT_FALSE(
      reused("pytorch_caching", {record_event(4, 1), kernel_on(1)}, {sync(trace::SyncKind::kEventSynchronize, 0, 4)}));
}

TEST(RecordStream, CanBeAssumedForAllOrNone) {
  const std::vector<trace::Record> joined{record_event(1, 1), wait_event(1, 0)};
  EXPECT_TRUE(reused("pytorch_caching", joined));
  World touched(LayoutChoice("pytorch_caching", {{"record_stream", "touched"}}));
  World never(LayoutChoice("pytorch_caching", {{"record_stream", "never"}}));
  for (World* world : {&touched, &never}) {
    world->tensor(1, 30 * kMiB);
    world->layout.follow(kernel_on(1, {1}));
    if (world == &touched) {
      for (const trace::Record& record : joined) world->layout.follow(record);
    }
    world->free_tensor(1);
    world->tensor(2, 30 * kMiB);
    EXPECT_EQ(world->taken.bytes == 0, world == &never);
  }
}

TEST(RecordStream, OneStreamNeverWaits) {
  World world("pytorch_caching");
  world.tensor(1, 30 * kMiB, trace::kNoObject, 0, 3);
  world.layout.follow(kernel_on(3, {1}));
  world.free_tensor(1);
  world.tensor(2, 30 * kMiB, trace::kNoObject, 0, 3);
  EXPECT_EQ(world.taken.bytes, 0u);
}

TEST(RecordStream, StreamsBeyondThoseOfTheEngineAreRefused) {
  World world("pytorch_caching");
  world.layout.follow(kernel_on(4096));
  EXPECT_THROW(world.layout.follow(kernel_on(4097)), InputError);
}

}  // namespace
}  // namespace uvmsim::layout
