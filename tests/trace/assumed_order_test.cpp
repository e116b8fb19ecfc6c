// SPDX-License-Identifier: Apache-2.0
// Results that depend on an invented grid are marked as such.
#include "sim/trace/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/units.h"

namespace uvmsim::trace {
namespace {

Kernel scan(std::uint64_t bytes) {
  Kernel kernel;
  kernel.grid.x = 512;
  kernel.accesses.push_back({1, {{0, bytes / 512, AccessMode::kRead}}});
  return kernel;
}

std::string warning_on(const std::vector<Kernel>& kernels, const std::string& tool = "by hand") {
  Header header;
  header.quantum_bytes = 512;
  header.tool = tool;
  AssumedOrder assumed(header);
  for (const Kernel& kernel : kernels) assumed.add(kernel);
  assumed.add(Sync{});
  return assumed.warning();
}

TEST(AssumedOrder, AGridThatNobodyRecorded) {
  Kernel recorded = scan(4 * kBlockBytes);
  recorded.registers_per_thread = 32;
  EXPECT_THAT(warning_on({scan(12 * kBlockBytes), recorded}),
              ::testing::StartsWith("1 of 2 kernels (75 % of the touched bytes) have a grid and a distribution"));
  EXPECT_EQ(warning_on({recorded}), "");
  Header header;
  header.gpu = "NVIDIA H200";
  AssumedOrder on_a_gpu(header);
  on_a_gpu.add(scan(12 * kBlockBytes));
  EXPECT_EQ(on_a_gpu.warning(), "");
}

TEST(AssumedOrder, WhatIsKnownOrSmallOrGeneratedSaysNothing) {
  Kernel touched = scan(4 * kBlockBytes);
  touched.touches.push_back({0, 1, AccessMode::kRead});
  EXPECT_EQ(warning_on({touched}), "");
  EXPECT_EQ(warning_on({scan(kBlockBytes)}), "") << "one VA block";
  EXPECT_EQ(warning_on({scan(4 * kBlockBytes)}, "uvmsim trace generate"), "") << "its answers are known";
  EXPECT_EQ(warning_on({}), "");
}

}  // namespace
}  // namespace uvmsim::trace
