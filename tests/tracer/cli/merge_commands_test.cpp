// SPDX-License-Identifier: Apache-2.0
// The commands merge, info, log and check-layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/writer.h"
#include "tests/tracer/cli/command.h"

namespace uvmtrace {
namespace {

using ::testing::HasSubstr;

class MergeCommands : public CommandTest {};

TEST_F(MergeCommands, MergeAndInfo) {
  const CommandResult merged = shell("uvmtrace merge timing.log access.log -o x.uvmt");
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_EQ(merged.out, "");
  EXPECT_THAT(merged.err, HasSubstr("x.uvmt: 1 kernels (100.0 % instrumented), 1 objects, 0 tensors, 0 iterations"));
  const CommandResult info = shell("uvmtrace info x.uvmt");
  EXPECT_EQ(info.exit_code, 0);
  EXPECT_THAT(info.out, HasSubstr("recorded on  NVIDIA Test"));
  EXPECT_THAT(info.out, HasSubstr("coverage     instrumented    100.0 % of launches, 100.0 % of touched bytes"));
  EXPECT_THAT(shell("uvmtrace info --json x.uvmt").out, HasSubstr("\"bytes_by_coverage\""));
}

TEST_F(MergeCommands, MergeWithoutAccesses) {
  EXPECT_EQ(shell("uvmtrace merge timing.log -o x.jsonl --as recorded").exit_code, 0);
  EXPECT_THAT(folder.read("x.jsonl"), HasSubstr(R"("kind":"device")"));
  const CommandResult info = shell("uvmtrace info x.jsonl");
  EXPECT_THAT(info.out, HasSubstr("coverage     parameters      100.0 % of launches"));
  EXPECT_THAT(info.out, HasSubstr("elsewhere    1 launches, 2 us: kernel"));
}

TEST_F(MergeCommands, MergeWithTheMemoryPass) {
  EXPECT_THAT(shell("uvmtrace log memory.log").out, HasSubstr("memory       3.0 MiB: cuLaunchKernel 3.0\n"));
  const CommandResult merged = shell("uvmtrace merge timing.log --memory memory.log -o x.jsonl");
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_THAT(folder.read("x.jsonl"), HasSubstr(R"("kind":"device","bytes":3145728)"));
  EXPECT_THAT(folder.read("x.jsonl"), HasSubstr(R"(["unmanaged_memory","3.0 MiB: cuLaunchKernel 3.0"])"));
  expect_one_line_error(shell("uvmtrace merge timing.log --memory access.log -o y.uvmt"),
                        {"access.log", "this is the log of the access pass; the memory pass is needed here"});
}

TEST_F(MergeCommands, Log) {
  const CommandResult result = shell("uvmtrace log timing.log access.log");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("timing.log: timing pass, 6 lines, complete"));
  EXPECT_THAT(result.out, HasSubstr("1 alloc, 1 end, 1 header, 1 kernel, 1 launch, 1 sync"));
  EXPECT_THAT(result.out, HasSubstr("1 instrumented, 0 with phases; 1 runs of 8 quanta"));
}

TEST_F(MergeCommands, CheckLayout) {
  const auto write = [&](std::uint64_t offset) {
    trace::TraceWriter writer(folder.path("x.uvmt"), {});
    writer.write(trace::ObjectAlloc{1, trace::ObjectKind::kManaged, 2 << 20, 1 << 30, 0});
    writer.write(trace::TensorAlloc{2, 512, 0, 1, offset, ""});
    writer.finish();
  };
  write(0);
  const CommandResult good = shell("uvmtrace check-layout x.uvmt");
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_THAT(good.out, HasSubstr("1 of 1 tensors (100.0 %) where they were recorded"));
  write(4096);
  const CommandResult bad = shell("uvmtrace check-layout x.uvmt");
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, HasSubstr("first difference: tensor 2 of 512 bytes"));
}

TEST_F(MergeCommands, Complete) {
  {
    trace::TraceWriter writer(folder.path("x.uvmt"), {});
    writer.write(trace::ObjectAlloc{1, trace::ObjectKind::kManaged, 2 << 20, 1 << 30, 0});
    writer.write(trace::TensorAlloc{2, 1 << 20, 0, 1, 0, ""});
    trace::Kernel kernel;
    kernel.coverage = trace::Coverage::kOperatorSchema;
    writer.write(kernel);
    kernel.coverage = trace::Coverage::kInstrumented;
    kernel.accesses.push_back({2, {{0, 2048, trace::AccessMode::kRead}}});
    writer.write(kernel);
    writer.finish();
  }
  const CommandResult done = shell("uvmtrace complete x.uvmt -o y.uvmt");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("y.uvmt: 1 kernels changed: 1 MiB of workspaces added, 0 MiB of operands left out"));
  EXPECT_THAT(shell("uvmtrace complete y.uvmt -o z.uvmt").out, HasSubstr("0 kernels changed"));
  expect_one_line_error(shell("uvmtrace complete x.uvmt -o x.uvmt"), {"x.uvmt", "is an input"});
  expect_one_line_error(shell("uvmtrace complete x.uvmt"), {"needs a trace and -o FILE"});
}

TEST_F(MergeCommands, Help) {
  for (const char* line :
       {"--help", "record --help", "merge --help", "info -h", "log --help", "check-layout --help", "complete --help"}) {
    const CommandResult result = shell(std::string("uvmtrace ") + line);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("uvmtrace"));
  }
}

TEST_F(MergeCommands, HostileInput) {
  expect_one_line_error(shell("uvmtrace merge -o x.uvmt"), {"no log given"});
  expect_one_line_error(shell("uvmtrace merge timing.log"), {"no output given"});
  expect_one_line_error(shell("uvmtrace merge access.log timing.log -o x.uvmt"),
                        {"access.log: line 1: this is the log of the access pass; the timing pass is needed here"});
  expect_one_line_error(shell("uvmtrace merge missing -o x.uvmt"), {"missing", "No such file"});
  expect_one_line_error(shell("uvmtrace merge . -o x.uvmt"), {"is a folder"});
  expect_one_line_error(shell("uvmtrace merge timing.log access.log -o /nowhere/x.uvmt"), {"/nowhere/x.uvmt"});
  expect_one_line_error(shell("uvmtrace log /dev/null"), {"/dev/null", "no header"});
  expect_one_line_error(shell("head -c 3000 /dev/urandom >noise; uvmtrace log noise"), {"noise: line 1"});
  expect_one_line_error(shell("uvmtrace info timing.log"), {"timing.log"});
  expect_one_line_error(shell("uvmtrace check-layout"), {"no trace given"});
  shell("uvmtrace merge timing.log -o x.uvmt");
  expect_one_line_error(shell("uvmtrace check-layout x.uvmt"), {"no tensor has a recorded placement"});
}

TEST_F(MergeCommands, FullDiskLeavesNothing) {
  const CommandResult result = shell("uvmtrace log timing.log >/dev/full");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("cannot write standard output"));
}

}  // namespace
}  // namespace uvmtrace
