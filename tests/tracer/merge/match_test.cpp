// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/tracer/merge/log_builder.h"

namespace uvmtrace {
namespace {

using ::testing::HasSubstr;
constexpr std::uint64_t kBase = 0x7f0000000000, kOther = 0x7e0000000000;

LogBuilder::LaunchSpec named(const std::string& name, std::uint32_t blocks = 16, std::uint32_t stream = 0) {
  LogBuilder::LaunchSpec spec;
  spec.name = name;
  spec.blocks = blocks;
  spec.stream = stream;
  return spec;
}

// Returns a log of launches with these names.
std::string launches(Pass pass, const std::vector<std::string>& names, bool complete = true) {
  LogBuilder log(pass);
  for (const std::string& name : names) log.launch(named(name));
  return log.text(complete);
}

std::vector<std::string> many(std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back("kernel" + std::to_string(i % 7));
  return out;
}

std::string error_of(const std::string& timing, const std::string& access, const MergeOptions& options = {}) {
  try {
    merge_logs(timing, access, options);
  } catch (const uvmsim::InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Match, AllLaunches) {
  const Merged merged = merge_logs(launches(Pass::kTiming, many(20)), launches(Pass::kAccess, many(20)));
  EXPECT_EQ(merged.summary.matched, 20u);
  EXPECT_EQ(merged.summary.divergence, "");
}

TEST(Match, OneExtraLaunchInEitherPass) {
  auto more = many(200);
  more.insert(more.begin() + 50, "extra");
  const Merged extra_access = merge_logs(launches(Pass::kTiming, many(200)), launches(Pass::kAccess, more));
  EXPECT_EQ(extra_access.summary.matched, 200u);
  const Merged extra_timing = merge_logs(launches(Pass::kTiming, more), launches(Pass::kAccess, many(200)));
  EXPECT_EQ(extra_timing.summary.matched, 200u);
  EXPECT_EQ(extra_timing.all<trace::Kernel>().size(), 201u);
  EXPECT_EQ(extra_timing.all<trace::Kernel>()[50].coverage, trace::Coverage::kNone);
  EXPECT_EQ(extra_timing.all<trace::Kernel>()[51].coverage, trace::Coverage::kInstrumented);
  EXPECT_THAT(extra_timing.summary.divergence, HasSubstr("launch 50 is 'extra' grid 16x1x1 block 128x1x1"));
}

TEST(Match, TooManyDifferencesShowTheFirst) {
  MergeOptions whole;
  whole.drop_prologue = false;
  auto other = many(100);
  other[40] = other[60] = "different";
  const std::string message = error_of(launches(Pass::kTiming, many(100)), launches(Pass::kAccess, other), whole);
  EXPECT_THAT(message, HasSubstr("98 of 100 launches match, fewer than 99.0 %"));
  EXPECT_THAT(message, HasSubstr("stream 0: in the timing pass launch 40 is 'kernel5' grid 16x1x1"));
  EXPECT_THAT(message, HasSubstr("in the access pass launch 40 is 'different' grid 16x1x1 block 128x1x1"));
  EXPECT_THAT(message, HasSubstr("record --warm-up yes"));
  MergeOptions options;
  options.match_thousandths = 980;
  EXPECT_EQ(error_of(launches(Pass::kTiming, many(100)), launches(Pass::kAccess, other), options), "no error");
}

TEST(Match, GridsAreCompared) {
  LogBuilder timing(Pass::kTiming), access(Pass::kAccess);
  timing.launch(named("k", 16));
  access.launch(named("k", 17));
  const std::string message = error_of(timing.text(), access.text());
  EXPECT_THAT(message, HasSubstr("0 of 1 launches match"));
  EXPECT_THAT(message, HasSubstr("grid 17x1x1"));
}

TEST(Match, AccessPassThatStoppedEarly) {
  const auto part = many(30);
  const Merged merged = merge_logs(launches(Pass::kTiming, many(100)), launches(Pass::kAccess, part, false));
  EXPECT_EQ(merged.summary.matched, 30u);
  EXPECT_EQ(merged.all<trace::Kernel>().size(), 100u);
  EXPECT_THAT(
      error_of(launches(Pass::kTiming, many(100)), launches(Pass::kAccess, part)),
      HasSubstr("in the timing pass launch 30 is 'kernel2' grid 16x1x1 block 128x1x1, in the access pass nothing"));
}

TEST(Match, TimingPassThatStoppedEarly) {
  const Merged merged = merge_logs(launches(Pass::kTiming, many(30), false), launches(Pass::kAccess, many(100)));
  EXPECT_EQ(merged.summary.matched, 30u);
}

TEST(Match, StreamsApart) {
  // In the access pass the host issues the two streams in another order.
  LogBuilder timing(Pass::kTiming), access(Pass::kAccess);
  for (int i = 0; i < 4; ++i) {
    timing.launch(named("a", 16, 1));
    timing.launch(named("b", 16, 2));
  }
  for (const std::uint32_t stream : {1u, 2u}) {
    for (int i = 0; i < 4; ++i) access.launch(named(stream == 1 ? "a" : "b", 16, stream));
  }
  EXPECT_EQ(merge_logs(timing.text(), access.text()).summary.matched, 8u);
}

TEST(Match, StreamsNumberedDifferently) {
  LogBuilder timing(Pass::kTiming), access(Pass::kAccess);
  for (const char* name : {"a", "b", "c"}) {
    timing.launch(named(name, 16, 1));
    timing.launch(named(std::string(name) + "2", 16, 2));
    access.launch(named(name, 16, 2));
    access.launch(named(std::string(name) + "2", 16, 1));
  }
  EXPECT_EQ(merge_logs(timing.text(), access.text()).summary.matched, 6u);
}

TEST(Match, NoLaunchesAtAll) {
  EXPECT_EQ(merge_logs(LogBuilder(Pass::kTiming).text(), LogBuilder(Pass::kAccess).text()).summary.matched, 0u);
}

// Memory is matched by order and size, at other addresses and with an allocation that only one pass has.
TEST(Match, MemoryByOrderAndSize) {
  LogBuilder timing(Pass::kTiming), access(Pass::kAccess);
  timing.alloc(kBase, 1 << 20);
  timing.alloc(kBase + (4 << 20), 1 << 20);
  access.alloc(kOther + (8 << 20), 12345 * 512);  // only the access pass has this allocation
  access.alloc(kOther + (4 << 20), 1 << 20);
  access.alloc(kOther, 1 << 20);
  LogBuilder::LaunchSpec launch = named("k");
  timing.launch(launch);
  launch.accesses = {{kOther, 1024, trace::AccessMode::kWrite}, {kOther + (4 << 20), 512, trace::AccessMode::kRead}};
  access.launch(launch);
  const Merged merged = merge_logs(timing.text(), access.text());
  const auto kernel = merged.all<trace::Kernel>()[0];
  ASSERT_EQ(kernel.accesses.size(), 2u);
  EXPECT_EQ(kernel.accesses[0].object, 1u);
  EXPECT_EQ(kernel.accesses[0].extents[0].mode, trace::AccessMode::kRead);
  EXPECT_EQ(kernel.accesses[1].object, 2u);
  EXPECT_EQ(kernel.accesses[1].extents[0].count, 2u);
  EXPECT_EQ(merged.summary.unmatched_memory, 1u);
}

// The objects have equal sizes, so the launches in between determine the order.
TEST(Match, MemoryBetweenLaunches) {
  LogBuilder timing(Pass::kTiming), access(Pass::kAccess);
  timing.alloc(kBase, 4096);
  access.alloc(kOther, 4096);
  access.alloc(kOther + (1 << 20), 4096);  // only in this pass, before the launch
  timing.launch(named("first"));
  access.launch(named("first"));
  timing.alloc(kBase + 4096, 4096);
  access.alloc(kOther + 4096, 4096);
  timing.launch(named("second"));
  LogBuilder::LaunchSpec second = named("second");
  second.accesses = {{kOther + 4096, 512, trace::AccessMode::kRead}};
  access.launch(second);
  const auto kernel = merge_logs(timing.text(), access.text()).all<trace::Kernel>()[1];
  ASSERT_EQ(kernel.accesses.size(), 1u);
  EXPECT_EQ(kernel.accesses[0].object, 2u);
}

// --- passes that differ at the start

std::vector<std::string> numbered(const std::string& name, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(name + std::to_string(i));
  return out;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string attribute(const Merged& merged, const std::string& key) {
  for (const auto& [name, value] : merged.header.attributes) {
    if (name == key) return value;
  }
  return "";
}

TEST(MatchPrologue, IsLeftOutBeforeWhatRepeatsItself) {
  const auto step = numbered("step", 20);
  const Merged merged = merge_logs(launches(Pass::kTiming, numbered("tune", 30) + step + step + step),
                                   launches(Pass::kAccess, numbered("other", 500) + step + step + step));
  const auto kernels = merged.all<trace::Kernel>();
  ASSERT_EQ(kernels.size(), 60u);
  EXPECT_EQ(kernels[0].name, "step0");
  EXPECT_EQ(kernels[0].coverage, trace::Coverage::kInstrumented);
  EXPECT_EQ(merged.summary.matched, 60u);
  EXPECT_EQ(merged.summary.divergence, "");
  EXPECT_EQ(attribute(merged, "access_pass"), "60 of 60 launches matched");
  EXPECT_THAT(attribute(merged, "left_out"),
              HasSubstr("30 launches of the timing pass and 500 of the access pass before what repeats itself: only 60 "
                        "of 560 launches match with them, first difference on stream 0: in the timing pass launch 0 is "
                        "'tune0' grid 16x1x1 block 128x1x1, in the access pass launch 0 is 'other0'"));
}

TEST(MatchPrologue, MayBeLongerThanTheRestAndDifferEverywhere) {
  const auto step = numbered("step", 50);
  const Merged merged = merge_logs(launches(Pass::kTiming, numbered("tune", 20000) + step + step),
                                   launches(Pass::kAccess, numbered("other", 30000) + step + step));
  EXPECT_EQ(merged.all<trace::Kernel>().size(), 100u);
}

// A few differences after the prologue are ordinary: any two runs have some.
TEST(MatchPrologue, SomeLaunchesOfTheRestMayDiffer) {
  std::vector<std::string> rest;
  for (int i = 0; i < 10; ++i) rest = rest + numbered("step", 40);
  auto other = rest;
  other.erase(other.begin() + 200);
  const Merged merged = merge_logs(launches(Pass::kTiming, numbered("tune", 100) + rest),
                                   launches(Pass::kAccess, numbered("other", 90) + other));
  EXPECT_EQ(merged.all<trace::Kernel>().size(), 400u);
  EXPECT_EQ(merged.summary.matched, 399u);
  EXPECT_THAT(merged.summary.divergence, HasSubstr("in the timing pass launch 300 is 'step0'"));
}

TEST(MatchPrologue, WhatDoesNotRepeatItselfIsRefused) {
  const auto tail = numbered("tail", 60);
  const std::string message = error_of(launches(Pass::kTiming, numbered("tune", 40) + tail),
                                       launches(Pass::kAccess, numbered("other", 40) + tail));
  EXPECT_THAT(message, HasSubstr("60 of 100 launches match, fewer than 99.0 %"));
  EXPECT_THAT(message, HasSubstr("what may help: record --warm-up yes"));
  EXPECT_THAT(message, HasSubstr("in the timing pass launch 0 is 'tune0'"));
}

TEST(MatchPrologue, IsRefusedOnDemand) {
  const auto step = numbered("step", 20);
  MergeOptions options;
  options.drop_prologue = false;
  EXPECT_THAT(error_of(launches(Pass::kTiming, numbered("tune", 30) + step + step),
                       launches(Pass::kAccess, step + step), options),
              HasSubstr("40 of 70 launches match"));
}

// Returns a log of `count` iterations; the first one launches a kernel named `first`.
std::string iterations(Pass pass, const std::string& first, int count, const std::string& last = "step") {
  LogBuilder log(pass);
  log.launch(named("setup"));
  for (int i = 0; i < count; ++i) {
    log.range("push", "loop");
    log.iteration(static_cast<std::uint64_t>(i), true);
    log.range("push", "model");
    const std::string name = i == 0 ? first : i + 1 == count ? last : "step";
    for (int k = 0; k < 10; ++k) log.launch(named(name + std::to_string(k)));
    log.range("pop");
    log.iteration(static_cast<std::uint64_t>(i), false);
  }
  return log.text();
}

TEST(MatchPrologue, EndsWhereAMarkedIterationBegins) {
  const Merged merged = merge_logs(iterations(Pass::kTiming, "tune", 3), iterations(Pass::kAccess, "other", 3));
  EXPECT_EQ(merged.all<trace::Kernel>().size(), 20u);
  EXPECT_THAT(merged.summary.dropped, HasSubstr("11 launches of the timing pass and 11 of the access pass before "
                                                "iteration 1: only 21 of 31 launches match"));
  // The ranges that are open at that point are recorded first.
  const auto ranges = merged.all<trace::Range>();
  ASSERT_GE(ranges.size(), 5u);
  EXPECT_EQ(ranges[0].kind, trace::RangeKind::kPush);
  EXPECT_EQ(ranges[0].name, "loop");
  EXPECT_EQ(ranges[1].name, "loop");
  EXPECT_EQ(ranges[2].kind, trace::RangeKind::kIterationBegin);
  EXPECT_EQ(ranges[2].index, 1u);
  EXPECT_EQ(ranges[3].name, "model");
}

// With iteration marks, half an iteration is not accepted as a match.
TEST(MatchPrologue, IterationsThatAllDifferAreRefused) {
  EXPECT_THAT(error_of(iterations(Pass::kTiming, "step", 3, "a"), iterations(Pass::kAccess, "step", 3, "b")),
              HasSubstr("21 of 31 launches match"));
}

// The memory that is alive when the rest begins is the access pass's at this point, whatever was allocated and freed
// before.
TEST(MatchPrologue, ItsMemoryIsAccountedFor) {
  LogBuilder timing(Pass::kTiming), access(Pass::kAccess);
  const std::uint64_t gone = 32 << 20;
  timing.alloc(kBase, 8 << 20);
  access.alloc(kOther, 8 << 20);
  timing.copy(kBase, 0x1000, 4096, "htod");
  access.copy(kOther, 0x1000, 4096, "htod");
  timing.launch(named("tune"));
  timing.alloc(kBase + gone, 1 << 20);
  timing.copy(kBase + gone, 0x1000, 4096, "htod");
  timing.copy(kBase + 8192, kBase + gone, 4096, "dtod");
  timing.copy(0x1000, kBase, 4096, "dtoh");
  timing.add(std::move(timing.host("advise")
                           .number("va", kBase)
                           .number("bytes", 4096)
                           .text("advice", "set_read_mostly")
                           .number("to", 0)));
  timing.add(std::move(
      timing.host("prefetch").number("va", kBase + gone).number("bytes", 4096).number("to", 0).number("stream", 0)));
  timing.sync("event_record", 9);
  timing.free(kBase + gone);
  // Only this pass has this memory, whose size equals that of the memory that stays.
  for (std::uint64_t i = 0; i < 5; ++i) {
    access.alloc(kOther + gone + i * gone, 8 << 20);
    access.launch(named("other" + std::to_string(i)));
    access.free(kOther + gone + i * gone);
  }
  timing.alloc(kBase + gone, 8 << 20);
  access.alloc(kOther + gone, 8 << 20);
  timing.launch(named("tune again"));
  access.launch(named("other again"));
  for (int i = 0; i < 3; ++i) {
    for (const char* name : {"a", "b", "c", "d"}) {
      LogBuilder::LaunchSpec launch = named(name);
      timing.launch(launch);
      launch.accesses = {{kOther, 512, trace::AccessMode::kRead}, {kOther + gone, 1024, trace::AccessMode::kWrite}};
      access.launch(launch);
    }
  }
  timing.sync("event_wait", 9);
  const Merged merged = merge_logs(timing.text(), access.text());
  const auto objects = merged.all<trace::ObjectAlloc>();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].bytes, 8u << 20);
  const auto kernels = merged.all<trace::Kernel>();
  ASSERT_EQ(kernels.size(), 12u);
  for (const trace::Kernel& kernel : kernels) {
    ASSERT_EQ(kernel.accesses.size(), 2u);
    EXPECT_EQ(kernel.accesses[0].object, objects[0].id);
    EXPECT_EQ(kernel.accesses[0].extents[0].mode, trace::AccessMode::kRead);
    EXPECT_EQ(kernel.accesses[1].object, objects[1].id);
  }
  EXPECT_EQ(merged.summary.lost_quanta, 0u);
  EXPECT_EQ(merged.summary.unmatched_memory, 0u);
  // The trace has the writes to memory that stays, and hints about it; it has nothing about freed memory, and the
  // records take no time.
  const auto copies = merged.all<trace::Memcpy>();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].dst.object, objects[0].id);
  EXPECT_EQ(copies[0].host_gap_ns, 0);
  const auto sets = merged.all<trace::Memset>();
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].offset, 8192u);
  EXPECT_EQ(merged.all<trace::Advise>().size(), 1u);
  EXPECT_EQ(merged.all<trace::Prefetch>().size(), 0u);
  EXPECT_EQ(merged.all<trace::ObjectFree>().size(), 0u);
  EXPECT_EQ(merged.all<trace::Sync>().size(), 0u);
  EXPECT_EQ(kernels[0].host_gap_ns, 0);
}

}  // namespace
}  // namespace uvmtrace
