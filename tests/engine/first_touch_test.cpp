// SPDX-License-Identifier: Apache-2.0
// The first access of a kernel to a page that it reads and writes.
#include <gtest/gtest.h>

#include "tests/engine/program.h"

namespace uvmsim {
namespace {

// A kernel that reads and writes 8 MB.
Program updating_kernel(trace::Distribution distribution, bool host_first) {
  Program p;
  const auto data = p.alloc(8 * kMiB);
  if (host_first) p.host(data);
  p.sync();
  trace::Kernel& kernel = p.kernel("k", 100000, {data});
  kernel.distribution = distribution;
  kernel.accesses.front().extents.edit().front().mode = trace::AccessMode::kReadWrite;
  p.sync();
  return p;
}

class FirstTouch : public ::testing::TestWithParam<trace::Distribution> {};

TEST_P(FirstTouch, NobodyReadsWhatNobodyHasWritten) {
  const Counters c = updating_kernel(GetParam(), false).run(options_with(0)).counters;
  EXPECT_EQ(c.read_fault_batches, 0u);
  EXPECT_GT(c.write_fault_batches, 0u);
  EXPECT_EQ(c.populated_pages, 8 * kMiB / kPage);
}

TEST_P(FirstTouch, WhatIsThereIsReadFirst) {
  const Counters c = updating_kernel(GetParam(), true).run(options_with(0)).counters;
  EXPECT_GT(c.read_fault_batches, 0u);
  EXPECT_EQ(bytes_in(c), 8 * kMiB);
}

INSTANTIATE_TEST_SUITE_P(Distributions, FirstTouch,
                         ::testing::Values(trace::Distribution::kBlockLinear, trace::Distribution::kTiled,
                                           trace::Distribution::kGridStride, trace::Distribution::kThreadChunk));

}  // namespace
}  // namespace uvmsim
