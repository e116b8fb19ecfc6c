// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/limit_size.h"

#include <gtest/gtest.h>

#include "sim/trace/validate.h"
#include "sim/trace/writer.h"
#include "tracer/merge/event.h"

namespace uvmtrace::limit_size_test {
namespace {

constexpr auto kR = trace::AccessMode::kRead;

// Returns a kernel of `count` single quanta, each the start of a group of `step`, with one quantum per block in every
// phase.
trace::Kernel scattered(std::uint64_t count, std::uint64_t step, std::uint32_t phases) {
  trace::Kernel kernel;
  kernel.name = "gather";
  kernel.grid = {std::max(phases, 1u), 1, 1};
  kernel.accesses.push_back({1, {}});
  for (std::uint64_t i = 0; i < count; ++i) kernel.accesses[0].extents.push_back({i * step, 1, kR});
  for (std::uint32_t i = 0; i < phases; ++i) kernel.phases.edit().push_back({i, 1, {{0, kernel.accesses[0].extents}}});
  return kernel;
}

void expect_valid(const trace::Kernel& kernel, std::uint64_t quanta) {
  trace::Validator validator("kernel", {});
  validator.check(trace::ObjectAlloc{1, trace::ObjectKind::kManaged, quanta * 512, 0, 0});
  validator.check(kernel);
}

TEST(LimitSize, SmallKernelsStay) {
  trace::Kernel kernel = scattered(1000, 3, 16);
  EXPECT_FALSE(limit_size(kernel));
  EXPECT_EQ(kernel.phases.size(), 16u);
}

TEST(LimitSize, PhasesAreJoinedFirst) {
  trace::Kernel kernel = scattered(1000, 3, 7);
  EXPECT_TRUE(limit_size(kernel, 1 << 20, 4000));
  ASSERT_EQ(kernel.phases.size(), 4u);
  EXPECT_EQ(kernel.phases[0].block_count, 2u);
  EXPECT_EQ(kernel.phases[3].first_block, 6u);
  EXPECT_EQ(kernel.phases[3].block_count, 1u);
  EXPECT_EQ(kernel.accesses[0].extents.size(), 1000u);
  expect_valid(kernel, 3000);
  EXPECT_TRUE(limit_size(kernel, 1 << 20, 10));
  EXPECT_TRUE(kernel.phases.empty());
}

TEST(LimitSize, ThenGapsAreClosed) {
  trace::Kernel kernel = scattered(1000, 3, 0);
  kernel.accesses[0].extents.push_back({100000, 1, trace::AccessMode::kWrite});
  EXPECT_TRUE(limit_size(kernel, 1000, 10));
  ASSERT_EQ(kernel.accesses[0].extents.size(), 2u);
  EXPECT_EQ(kernel.accesses[0].extents[0].count, 2998u);
  EXPECT_EQ(kernel.accesses[0].extents[1].first, 100000u);
  expect_valid(kernel, 100001);
}

TEST(LimitSize, WhatIsLeftFitsARecord) {
  trace::Kernel kernel = scattered(2500000, 50000, 2);
  EXPECT_TRUE(limit_size(kernel));
  std::string bytes;
  trace::TraceWriter writer(bytes, trace::TraceFormat::kUvmt, {});
  writer.write(kernel);
  writer.finish();
  expect_valid(kernel, std::uint64_t{2500000} * 50000);
}

}  // namespace
}  // namespace uvmtrace::limit_size_test
