// SPDX-License-Identifier: Apache-2.0
// The demand of a program on GPU memory, step by step, from records to pages.
#include "sim/bounds/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bounds/small_instance.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

using bounds::Interval;
using bounds::Step;
using ::testing::IsEmpty;
using End = Interval::End;

struct Cut {
  bounds::Program program;
  bounds::Steps steps;

  const Step& step(std::size_t i) const { return steps.steps.at(i); }
  // Returns the pages of intervals of that kind that end in the step.
  std::uint64_t pages(std::size_t i, End end) const {
    std::uint64_t sum = 0;
    for (const Interval& interval : step(i).intervals) sum += interval.end == end ? interval.pages : 0;
    return sum;
  }
  std::uint64_t cold() const {
    std::uint64_t sum = 0;
    for (const Step& step : steps.steps) sum += step.cold_pages;
    return sum;
  }
};

Cut cut(const Program& program, RunOptions options = options_with(8)) {
  Cut result;
  result.program = bounds::read_program(Program::header(), program.source(), options, options.capacity_bytes);
  result.steps = bounds::cut_into_steps(result.program, options.system);
  return result;
}

RunOptions without_thrashing() {
  RunOptions options = options_with(8);
  options.system = system_without_thrashing(options.system);
  return options;
}

TEST(Steps, WhatNobodyTouchedBeforeCostsNothing) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.kernel("writes", 1000, {}, {a});
  program.kernel("reads", 1000, {a}, {});
  const Cut c = cut(program);
  ASSERT_EQ(c.steps.steps.size(), 2u);
  EXPECT_EQ(c.step(0).fresh_pages, 512u);
  EXPECT_EQ(c.step(0).cold_pages, 0u);
  EXPECT_THAT(c.step(0).intervals, IsEmpty());
  EXPECT_EQ(c.pages(1, End::kReused), 512u);
  ASSERT_EQ(c.steps.open.size(), 1u);
  EXPECT_EQ(c.steps.open[0].from, 1u);
  EXPECT_EQ(c.steps.open[0].pages, 512u);
}

TEST(Steps, WhatTheHostWroteIsColdEvenWhereAKernelOnlyWritesIt) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.host(a, 100, 50, trace::AccessMode::kWrite);
  program.kernel("writes", 1000, {}, {a});
  const Cut c = cut(program);
  ASSERT_EQ(c.steps.steps.size(), 2u);
  EXPECT_EQ(c.step(1).cold_pages, 50u);
  EXPECT_EQ(c.step(1).fresh_pages, 512u);
  EXPECT_EQ(c.pages(1, End::kCold), 50u);
}

TEST(Steps, ReusesKnowTheirLastUse) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  const auto b = program.alloc(2 * kMiB);
  program.kernel("a", 1000, {a}, {});
  program.kernel("b", 1000, {b}, {});
  program.kernel("both", 1000, {a, b}, {});
  const Cut c = cut(program);
  ASSERT_EQ(c.step(2).intervals.size(), 2u);
  EXPECT_EQ(c.step(2).intervals[0].from, 0u);
  EXPECT_EQ(c.step(2).intervals[1].from, 1u);
}

TEST(Steps, AFreeEndsWhatWasThereAndTheAddressesHoldNothing) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.kernel("a", 1000, {}, {a});
  program.free(a);
  const auto b = program.alloc(2 * kMiB);  // lies where the freed object was
  program.kernel("b", 1000, {b}, {});
  const Cut c = cut(program);
  ASSERT_EQ(c.steps.steps.size(), 3u);
  EXPECT_EQ(c.pages(1, End::kDropped), 512u);
  EXPECT_EQ(c.step(2).fresh_pages, 512u);
  EXPECT_THAT(c.step(2).intervals, IsEmpty());
}

TEST(Steps, TheHostTakesPagesBack) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  for (unsigned i = 0; i < 3; ++i) {
    program.kernel("a", 1000, {}, {a});
    program.sync();
    program.host(a, 0, 10, trace::AccessMode::kRead);
  }
  const Cut c = cut(program, without_thrashing());
  ASSERT_EQ(c.steps.steps.size(), 6u);
  for (const std::size_t host : {1u, 3u, 5u}) EXPECT_EQ(c.pages(host, End::kTaken), 10u);
  for (const std::size_t kernel : {2u, 4u}) {
    EXPECT_EQ(c.step(kernel).cold_pages, 10u);
    EXPECT_EQ(c.pages(kernel, End::kReused), 502u);
  }
}

// From a block's first bounce on, the driver may pin any of its pages to the host.
TEST(Steps, OfABlockThatBouncesNothingIsClaimedAfterwards) {
  Program program;
  const auto a = program.alloc(4 * kMiB);
  for (unsigned i = 0; i < 3; ++i) {
    program.kernel("a", 1000, {}, {a});
    program.sync();
    program.host(a, 0, 10, trace::AccessMode::kRead);
  }
  const Cut c = cut(program);
  EXPECT_EQ(c.pages(1, End::kTaken), 10u);
  EXPECT_EQ(c.pages(1, End::kForgotten), 502u);
  EXPECT_EQ(c.pages(2, End::kReused), 512u);  // the other block
  EXPECT_EQ(c.pages(3, End::kTaken), 0u);
  EXPECT_EQ(c.cold(), 0u);
}

TEST(Steps, HintsAndDiscards) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  const auto b = program.alloc(2 * kMiB);
  program.kernel("both", 1000, {}, {a, b});
  program.sync();
  program.advise(a, trace::Advice::kSetAccessedBy);
  program.add(trace::Discard{b, 0, kMiB, 0});
  program.kernel("both", 1000, {a, b}, {});
  const Cut c = cut(program);
  ASSERT_EQ(c.steps.steps.size(), 4u);
  EXPECT_EQ(c.pages(1, End::kForgotten), 512u);
  EXPECT_EQ(c.pages(2, End::kDropped), 256u);
  EXPECT_EQ(c.step(3).fresh_pages, 256u);
  EXPECT_EQ(c.pages(3, End::kReused), 256u);
}

// Hints outlive a discard, so that the GPU may use the pages in place; freed memory has none.
TEST(Steps, HintsOutliveDiscardsAndEndWithTheMemory) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.advise(a, trace::Advice::kSetPreferredLocation, -1);
  program.add(trace::Discard{a, 0, kMiB, 0});
  program.host(a, 0, 512, trace::AccessMode::kWrite);
  program.kernel("write", 1000, {}, {a});
  EXPECT_EQ(cut(program).cold(), 0u);
  program.free(a);
  const auto b = program.alloc(2 * kMiB);
  program.host(b, 0, 512, trace::AccessMode::kWrite);
  program.kernel("write", 1000, {}, {b});
  EXPECT_EQ(cut(program).cold(), 512u);
}

TEST(Steps, CallsThatMovePagesThemselves) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.prefetch(a, -1);  // zeros on the host
  program.prefetch(a, 0);
  program.prefetch(a, -1);
  trace::Memcpy copy;
  copy.dst.object = a;
  copy.bytes = kMiB;
  copy.kind = trace::CopyKind::kHostToDevice;
  program.add(copy);
  program.add(trace::Memset{a, 0, 2 * kMiB, 0, 0});
  const Cut c = cut(program);
  ASSERT_EQ(c.steps.steps.size(), 5u);
  EXPECT_EQ(c.step(1).cold_pages, 512u);
  EXPECT_EQ(c.pages(2, End::kTaken), 512u);
  EXPECT_EQ(c.step(3).cold_pages, 256u);  // the copy writes on the GPU
  EXPECT_EQ(c.step(4).cold_pages, 256u);
  EXPECT_EQ(c.pages(4, End::kReused), 256u);
}

TEST(Steps, PagesThatCountersMayLeaveOnTheHostComeOnceForCertain) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.host(a);
  for (unsigned i = 0; i < 3; ++i) program.kernel("a", 1000, {a}, {});
  RunOptions options = options_with(8);
  options.system.driver.access_counter_migration = true;
  const Cut c = cut(program, options);
  EXPECT_EQ(c.step(1).cold_pages, 512u);
  EXPECT_EQ(c.pages(2, End::kReused), 0u);
  EXPECT_EQ(c.pages(3, End::kReused), 0u);
}

TEST(Steps, StreamsWithoutOrderAreOneStep) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  for (unsigned i = 0; i < 4; ++i) program.kernel("k", 1000, {a}, {}, i % 2);
  program.sync();
  program.kernel("after", 1000, {a}, {}, 1);
  const Cut c = cut(program);
  ASSERT_EQ(c.steps.steps.size(), 2u);
  EXPECT_EQ(c.step(0).end_operation, 4u);
  EXPECT_EQ(c.step(0).fresh_pages, 512u);
  EXPECT_EQ(c.pages(1, End::kReused), 512u);
}

// A fork and a join with one event, as libraries use them.
TEST(Steps, EventsOrderStreams) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.kernel("before", 1000, {a}, {}, 0);
  program.record_event(0, 7);
  program.wait_event(1, 7);
  program.kernel("beside", 1000, {a}, {}, 0);
  program.kernel("side", 1000, {a}, {}, 1);
  program.record_event(1, 7);
  program.wait_event(0, 7);
  program.kernel("after", 1000, {a}, {}, 0);
  const Cut c = cut(program);
  ASSERT_EQ(c.steps.steps.size(), 3u);
  EXPECT_EQ(c.step(0).end_operation, 1u);
  EXPECT_EQ(c.step(1).end_operation, 3u);
  EXPECT_EQ(c.pages(1, End::kReused), 512u);
}

// A stream without ordering could have run at any time: its work is one step together with all work that may run at the
// same time.
TEST(Steps, ALooseStreamJoinsWhatItMayRunBeside) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.kernel("one", 1000, {a}, {}, 0);
  program.kernel("two", 1000, {a}, {}, 0);
  program.kernel("loose", 1000, {a}, {}, 1);
  program.kernel("three", 1000, {a}, {}, 0);
  program.sync();
  program.kernel("four", 1000, {a}, {}, 0);
  const Cut c = cut(program);
  ASSERT_EQ(c.steps.steps.size(), 2u);
  EXPECT_EQ(c.step(0).end_operation, 4u);
}

// The CPU touches pages while a kernel may run: neither order may be claimed.
TEST(Steps, AHostThatDoesNotWaitClaimsNothing) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.kernel("a", 1000, {}, {a});
  program.host(a, 0, 10, trace::AccessMode::kRead);
  program.kernel("a", 1000, {}, {a});
  const Cut c = cut(program, without_thrashing());
  ASSERT_EQ(c.steps.steps.size(), 2u);
  EXPECT_EQ(c.pages(0, End::kTaken), 0u);
  EXPECT_EQ(c.cold(), 0u);
  EXPECT_EQ(c.pages(1, End::kReused), 512u);
}

TEST(Steps, WorkWithoutManagedMemoryIsNoOperation) {
  Program program;
  const auto a = program.alloc(2 * kMiB);
  program.kernel("a", 1000, {a}, {});
  program.kernel("nothing", 1000, {}, {}, 1);
  program.kernel("a", 1000, {a}, {});
  const Cut c = cut(program);
  EXPECT_EQ(c.program.operations.size(), 2u);
  EXPECT_EQ(c.steps.steps.size(), 2u);
}

}  // namespace
}  // namespace uvmsim
