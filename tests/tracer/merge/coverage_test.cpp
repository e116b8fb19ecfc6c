// SPDX-License-Identifier: Apache-2.0
// Checks the source of accesses if the instrumentation did not see them all.
#include "tracer/merge/coverage.h"

#include <gtest/gtest.h>

#include "tests/tracer/merge/log_builder.h"

namespace uvmtrace::coverage_test {
namespace {

constexpr auto kR = trace::AccessMode::kRead, kW = trace::AccessMode::kWrite, kRw = trace::AccessMode::kReadWrite;
constexpr std::uint64_t kT = 0x7f0000000000, kA = 0x7e0000000000, kMiB = 1 << 20;
constexpr std::uint64_t kLeft = 0, kRight = 4 * kMiB, kOut = 8 * kMiB, kWorkspace = 12 * kMiB, kTensorBytes = 2 * kMiB;
const std::string kTma = "nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNT";

// A matrix product of three tensors and a workspace: ids 2 to 5 in a segment with id 1.
class CoverageTest : public ::testing::Test {
 protected:
  CoverageTest() {
    both([](LogBuilder& log, std::uint64_t base) {
      log.alloc(base, 32 * kMiB);
      for (const std::uint64_t offset : {kLeft, kRight, kOut, kWorkspace}) {
        log.tensor_alloc(base + offset, kTensorBytes);
      }
    });
  }
  template <class F>
  void both(F&& f) {
    f(timing, kT);
    f(access, kA);
  }
  void operator_in(LogBuilder& log, std::uint64_t base) {
    log.operator_event("operator", {{base + kLeft, kTensorBytes, kR}, {base + kRight, kMiB, kR}});
    outputs = {{base + kOut, kTensorBytes, kW}};
  }
  void end_operator(LogBuilder& log) {
    log.operator_event("operator_outputs", outputs);
    log.operator_event("operator_end", {});
  }
  LogBuilder::LaunchSpec seen(const std::string& name, std::vector<trace::Extent> accesses) {
    LogBuilder::LaunchSpec spec;
    spec.name = name;
    spec.accesses = std::move(accesses);
    for (auto& run : spec.accesses) run.first += kA;
    return spec;
  }
  trace::Kernel last() {
    merged = merge_logs(timing.text(), access.text());
    return merged.all<trace::Kernel>().back();
  }
  static std::vector<std::uint64_t> objects(const trace::Kernel& kernel) {
    std::vector<std::uint64_t> out;
    for (const auto& item : kernel.accesses) out.push_back(item.object);
    return out;
  }
  static LogBuilder::LaunchSpec pointing(const std::string& name, const std::vector<std::uint64_t>& offsets) {
    LogBuilder::LaunchSpec spec;
    spec.name = name;
    for (const std::uint64_t offset : offsets) spec.params.push_back(kT + offset);
    return spec;
  }

  LogBuilder timing{Pass::kTiming}, access{Pass::kAccess};
  std::vector<AddressRange> outputs;
  Merged merged;
};
using Ids = std::vector<std::uint64_t>;

TEST_F(CoverageTest, Names) {
  EXPECT_TRUE(may_use_tensor_copies(kTma));
  EXPECT_TRUE(may_use_tensor_copies("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1"));
  EXPECT_TRUE(may_use_tensor_copies("_ZN7cutlass13device_kernelIN5flash19enable_sm90_or_laterE"));
  EXPECT_FALSE(may_use_tensor_copies("ampere_sgemm_128x64_nn"));
  EXPECT_FALSE(may_use_tensor_copies("sm80_xmma_fprop_implicit_gemm_f32f32"));
  EXPECT_FALSE(may_use_tensor_copies("_ZN2at6native29vectorized_elementwise_kernelILi4E"));
}

TEST_F(CoverageTest, TensorCopiesFallBackToTheOperator) {
  timing.launch(pointing(kTma, {kWorkspace}));
  operator_in(access, kA);  // only the access pass observes operators
  access.launch(seen(kTma, {{kWorkspace, 65536, kRw}}));
  end_operator(access);
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kOperatorSchema);
  EXPECT_EQ(objects(kernel), (Ids{2, 3, 4, 5}));
  EXPECT_EQ(kernel.accesses[0].extents[0].count, kTensorBytes / 512);
  EXPECT_EQ(kernel.accesses[0].extents[0].mode, kR);
  EXPECT_EQ(kernel.accesses[1].extents[0].count, kMiB / 512);
  EXPECT_EQ(kernel.accesses[2].extents[0].mode, kW);
  EXPECT_EQ(kernel.accesses[3].extents[0].count, 128u);  // the instrumented accesses are kept
  EXPECT_EQ(merged.summary.tensor_copies, 1u);
}

// The inputs are read by tensor copies and the output is written by ordinary stores: the output's extents are exact and
// are kept.
TEST_F(CoverageTest, WhatWasSeenOfAnOperandStays) {
  timing.launch(pointing(kTma, {}));
  operator_in(access, kA);
  access.launch(seen(kTma, {{kOut, 1024, kW}}));
  end_operator(access);
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kOperatorSchema);
  EXPECT_EQ(objects(kernel), (Ids{2, 3, 4}));
  EXPECT_EQ(kernel.accesses[2].extents[0].count, 2u);
}

// The bias of a convolution's backward pass is created after the kernel that represents the operator's operands.
TEST_F(CoverageTest, WhatIsNoTensorYetIsNotTouched) {
  timing.launch(pointing(kTma, {}));
  operator_in(access, kA);
  access.launch(seen(kTma, {}));
  outputs.push_back({kA + 20 * kMiB, kMiB, kW});
  end_operator(access);
  both([](LogBuilder& log, std::uint64_t base) { log.tensor_alloc(base + 20 * kMiB, kMiB); });
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kOperatorSchema);
  EXPECT_EQ(objects(kernel), (Ids{2, 3, 4}));
}

TEST_F(CoverageTest, TensorCopiesFallBackToParameters) {
  timing.launch(pointing(kTma, {kLeft + 64, kOut, kWorkspace, 20 * kMiB}));  // the last lies in no tensor
  access.launch(seen(kTma, {{kWorkspace, 65536, kRw}}));
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kParameters);
  EXPECT_EQ(objects(kernel), (Ids{2, 4, 5}));
  EXPECT_EQ(kernel.accesses[0].extents[0].mode, kRw);
  EXPECT_EQ(kernel.accesses[2].extents[0].count, 128u);
}

TEST_F(CoverageTest, TensorCopiesWithNothingToGoBy) {
  timing.launch(pointing(kTma, {}));
  access.launch(seen(kTma, {{kWorkspace, 65536, kRw}}));
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kNone);
  EXPECT_EQ(objects(kernel), (Ids{5}));
}

TEST_F(CoverageTest, SuchKernelsThatTouchEverythingAreInstrumented) {
  timing.launch(pointing(kTma, {kLeft, kOut}));
  access.launch(seen(kTma, {{kLeft, kMiB, kR}, {kOut, kMiB, kW}}));
  EXPECT_EQ(last().coverage, trace::Coverage::kInstrumented);
  EXPECT_EQ(merged.summary.tensor_copies, 0u);
}

TEST_F(CoverageTest, OtherKernelsAreBelieved) {
  timing.launch(pointing("embedding", {kLeft, kOut}));
  access.launch(seen("embedding", {{kOut, 512, kW}}));
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kInstrumented);
  EXPECT_EQ(objects(kernel), (Ids{4}));
}

TEST_F(CoverageTest, NotInstrumented) {
  timing.launch(pointing("gemm", {kLeft, kRight}));
  LogBuilder::LaunchSpec spec;
  spec.name = "gemm";
  spec.patched = false;
  access.launch(spec);
  const auto kernel = last();
  EXPECT_EQ(kernel.coverage, trace::Coverage::kParameters);
  EXPECT_EQ(objects(kernel), (Ids{2, 3}));
  EXPECT_EQ(kernel.distribution, trace::Distribution::kTiled);
}

TEST_F(CoverageTest, TimingPassAlone) {
  operator_in(timing, kT);
  timing.launch(pointing("gemm", {kLeft}));
  timing.thread(1);
  timing.launch(pointing("other", {kRight}));  // on another thread: not in the operator
  timing.thread(0);
  end_operator(timing);
  timing.launch(pointing("later", {}));
  const Merged alone = merge_logs(timing.text(), "");
  const auto kernels = alone.all<trace::Kernel>();
  EXPECT_EQ(kernels[0].coverage, trace::Coverage::kOperatorSchema);
  EXPECT_EQ(objects(kernels[0]), (Ids{2, 3, 4}));
  EXPECT_EQ(kernels[1].coverage, trace::Coverage::kParameters);
  EXPECT_EQ(objects(kernels[1]), (Ids{3}));
  EXPECT_EQ(kernels[2].coverage, trace::Coverage::kNone);
}

TEST_F(CoverageTest, ParametersOfWholeAllocations) {
  both([](LogBuilder& log, std::uint64_t base) { log.alloc(base + 64 * kMiB, 5000, "pinned"); });
  timing.launch(pointing("copy", {64 * kMiB + 4999, 64 * kMiB + 5000}));
  const auto kernel = merge_logs(timing.text(), "").all<trace::Kernel>()[0];
  EXPECT_EQ(objects(kernel), (Ids{6}));
  EXPECT_EQ(kernel.accesses[0].extents[0].count, 10u);
}

}  // namespace
}  // namespace uvmtrace::coverage_test
