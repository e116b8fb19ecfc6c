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

// A log of launches of these names.
std::string launches(Pass pass, const std::vector<std::string>& names, bool complete = true) {
  LogBuilder log(pass);
  for (const std::string& name : names) {
    log.launch(named(name));
  }
  return log.text(complete);
}

std::vector<std::string> many(std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back("kernel" + std::to_string(i % 7));
  }
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
  auto other = many(100);
  other[40] = other[60] = "different";
  const std::string message = error_of(launches(Pass::kTiming, many(100)), launches(Pass::kAccess, other));
  EXPECT_THAT(message, HasSubstr("98 of 100 launches match, fewer than 99.0 %"));
  EXPECT_THAT(message, HasSubstr("stream 0: in the timing pass launch 40 is 'kernel5' grid 16x1x1"));
  EXPECT_THAT(message, HasSubstr("in the access pass launch 40 is 'different' grid 16x1x1 block 128x1x1"));
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
  // The host of the access pass issues the two streams in another order.
  LogBuilder timing(Pass::kTiming), access(Pass::kAccess);
  for (int i = 0; i < 4; ++i) {
    timing.launch(named("a", 16, 1));
    timing.launch(named("b", 16, 2));
  }
  for (const std::uint32_t stream : {1u, 2u}) {
    for (int i = 0; i < 4; ++i) {
      access.launch(named(stream == 1 ? "a" : "b", 16, stream));
    }
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

// Memory is told apart by order and size, at other addresses and with an allocation that only one pass has.
TEST(Match, MemoryByOrderAndSize) {
  LogBuilder timing(Pass::kTiming), access(Pass::kAccess);
  timing.alloc(kBase, 1 << 20);
  timing.alloc(kBase + (4 << 20), 1 << 20);
  access.alloc(kOther + (8 << 20), 12345 * 512);  // the access pass' own
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

// Equal sizes: the launches in between hold the order in place.
TEST(Match, MemoryBetweenLaunches) {
  LogBuilder timing(Pass::kTiming), access(Pass::kAccess);
  timing.alloc(kBase, 4096);
  access.alloc(kOther, 4096);
  access.alloc(kOther + (1 << 20), 4096);  // only here, before the launch
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

}  // namespace
}  // namespace uvmtrace
