// SPDX-License-Identifier: Apache-2.0
// A convolution as cuDNN runs it on Hopper: transforms into a workspace, a kernel that cannot be instrumented, and a
// transform out of the workspace.
#include "tracer/merge/workspaces.h"

#include <gtest/gtest.h>

namespace uvmtrace::workspaces_test {
namespace {

constexpr auto kR = trace::AccessMode::kRead, kW = trace::AccessMode::kWrite;
constexpr std::uint64_t kQuanta = 2048;  // 1 MiB
// A segment, its tensors, the workspace.
constexpr trace::ObjectId kSegment = 1, kInput = 2, kWeights = 3, kOutput = 4, kWorkspace = 5, kOther = 6;

class WorkspacesTest : public ::testing::Test {
 protected:
  WorkspacesTest() { records.push_back(trace::ObjectAlloc{kSegment, trace::ObjectKind::kManaged, 64 << 20, 0, 0}); }

  void make(trace::ObjectId id, std::uint64_t quanta) {
    records.push_back(trace::TensorAlloc{id, quanta * 512, 0, kSegment, (id - kInput) << 23, ""});
  }
  std::size_t launch(trace::Coverage coverage, std::vector<trace::ObjectAccess> accesses, std::uint32_t stream = 0) {
    trace::Kernel kernel;
    kernel.stream = stream;
    kernel.coverage = coverage;
    kernel.accesses = std::move(accesses);
    records.push_back(std::move(kernel));
    return records.size() - 1;
  }
  std::size_t seen(std::vector<trace::ObjectAccess> accesses, std::uint32_t stream = 0) {
    return launch(trace::Coverage::kInstrumented, std::move(accesses), stream);
  }
  std::size_t guessed(std::vector<trace::ObjectAccess> accesses, std::uint32_t stream = 0) {
    return launch(trace::Coverage::kOperatorSchema, std::move(accesses), stream);
  }
  // The input is transformed into the workspace's first half, and the output is read from its second half.
  std::size_t convolution(std::uint32_t stream_out = 0) {
    make(kInput, kQuanta);
    make(kOutput, kQuanta);
    make(kWorkspace, 2 * kQuanta);
    seen({{kInput, {{0, kQuanta, kW}}}});
    seen({{kInput, {{0, kQuanta, kR}}}, {kWorkspace, {{0, kQuanta, kW}}}});
    const std::size_t place = guessed({{kInput, {{0, kQuanta, kR}}}, {kOutput, {{0, kQuanta, kW}}}});
    seen({{kOutput, {{0, kQuanta, kW}}}, {kWorkspace, {{kQuanta, kQuanta, kR}}}}, stream_out);
    records.push_back(trace::TensorFree{kWorkspace});
    return place;
  }
  std::vector<trace::ObjectAccess> accesses(std::size_t place) {
    return std::get<trace::Kernel>(records[place]).accesses;
  }

  std::vector<trace::Record> records;
};

TEST_F(WorkspacesTest, AConvolutionReadsAndWritesItsWorkspaceAlone) {
  const std::size_t place = convolution();
  const WorkspaceSummary done = complete_workspaces(records);
  ASSERT_EQ(accesses(place).size(), 1u);
  EXPECT_EQ(accesses(place)[0].object, kWorkspace);
  const trace::ExtentList expected = {{0, kQuanta, kR}, {kQuanta, kQuanta, kW}};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), accesses(place)[0].extents.begin(),
                         accesses(place)[0].extents.end()));
  EXPECT_EQ(done.kernels, 1u);
  EXPECT_EQ(done.added_bytes, 2u << 20);
  EXPECT_EQ(done.removed_bytes, 2u << 20);
}

TEST_F(WorkspacesTest, ASecondPassChangesNothing) {
  convolution();
  complete_workspaces(records);
  EXPECT_EQ(complete_workspaces(records).kernels, 0u);
}

TEST_F(WorkspacesTest, AnotherStreamsKernelIsNoPartner) {
  const std::size_t place = convolution(1);
  EXPECT_EQ(complete_workspaces(records).kernels, 0u);
  EXPECT_EQ(accesses(place).size(), 2u);
}

TEST_F(WorkspacesTest, SumsOfPartsAreWrittenByTheGuessAndTheOutputByTheirReader) {
  make(kInput, kQuanta);
  make(kWeights, kQuanta);
  make(kWorkspace, kQuanta);
  seen({{kInput, {{0, kQuanta, kW}}}});
  const std::size_t place = guessed({{kInput, {{0, kQuanta, kR}}}, {kWeights, {{0, kQuanta, kW}}}});
  seen({{kWeights, {{0, kQuanta, kW}}}, {kWorkspace, {{0, kQuanta, kR}}}});
  complete_workspaces(records);
  ASSERT_EQ(accesses(place).size(), 2u);
  EXPECT_EQ(accesses(place)[0].object, kInput);  // no other kernel wrote the workspace
  EXPECT_EQ(accesses(place)[1].object, kWorkspace);
}

TEST_F(WorkspacesTest, AnOutputThatAnotherKernelWroteIsNotWrittenAgain) {
  make(kInput, kQuanta);
  make(kOutput, kQuanta);
  make(kOther, kQuanta);
  seen({{kInput, {{0, kQuanta, kW}}}});
  seen({{kOutput, {{0, kQuanta, kW}}}});
  const std::size_t place =
      guessed({{kInput, {{0, kQuanta, kR}}}, {kOutput, {{0, kQuanta, kW}}}, {kOther, {{0, kQuanta, kW}}}});
  complete_workspaces(records);
  ASSERT_EQ(accesses(place).size(), 2u);
  EXPECT_EQ(accesses(place)[1].object, kOther);
}

TEST_F(WorkspacesTest, AnOutputThatWasReadSinceIsWrittenAgain) {
  make(kInput, kQuanta);
  make(kOutput, kQuanta);
  seen({{kOutput, {{0, kQuanta, kW}}}});
  seen({{kOutput, {{0, kQuanta, kR}}}});
  const std::size_t place = guessed({{kInput, {{0, kQuanta, kR}}}, {kOutput, {{0, kQuanta, kW}}}});
  EXPECT_EQ(complete_workspaces(records).kernels, 0u);
  EXPECT_EQ(accesses(place).size(), 2u);
}

TEST_F(WorkspacesTest, WhatNobodyCouldHaveWrittenStaysUnwritten) {
  make(kInput, kQuanta);
  const std::size_t place = guessed({{kInput, {{0, kQuanta, kR}}}});
  make(kWorkspace, kQuanta);  // after the guess
  seen({{kWorkspace, {{0, kQuanta, kR}}}});
  EXPECT_EQ(complete_workspaces(records).kernels, 0u);
  EXPECT_EQ(accesses(place).size(), 1u);
}

TEST_F(WorkspacesTest, WhatACopyTookIsWrittenAgain) {
  make(kInput, kQuanta);
  make(kOutput, kQuanta);
  seen({{kOutput, {{0, kQuanta, kW}}}});
  records.push_back(trace::Memcpy{{}, {kOutput, 0}, kQuanta * 512, trace::CopyKind::kDeviceToHost, 0, true, 0});
  const std::size_t place = guessed({{kInput, {{0, kQuanta, kR}}}, {kOutput, {{0, kQuanta, kW}}}});
  EXPECT_EQ(complete_workspaces(records).kernels, 0u);
  EXPECT_EQ(accesses(place).size(), 2u);
}

TEST_F(WorkspacesTest, AKernelWithPhasesIsNoGuess) {
  const std::size_t place = convolution();
  trace::Kernel& kernel = std::get<trace::Kernel>(records[place]);
  kernel.phases.edit().push_back({0, 1, {{1, {{0, kQuanta, kW}}}}});
  EXPECT_EQ(complete_workspaces(records).kernels, 0u);
  EXPECT_EQ(accesses(place).size(), 2u);
}

TEST_F(WorkspacesTest, CopiesAndSetsWriteToo) {
  make(kInput, kQuanta);
  make(kWorkspace, kQuanta);
  records.push_back(trace::Memset{kWorkspace, 0, kQuanta * 512, 0, 0});
  guessed({{kInput, {{0, kQuanta, kR}}}});
  seen({{kWorkspace, {{0, kQuanta, kR}}}});
  EXPECT_EQ(complete_workspaces(records).kernels, 0u);
}

}  // namespace
}  // namespace uvmtrace::workspaces_test
