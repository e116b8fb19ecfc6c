// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/experiment_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/trace/shape.h"

namespace uvmsim::validate {
namespace {

config::SystemConfig one_gpu() {
  config::SystemConfig system;
  system.name = "test";
  system.gpus.resize(1);
  system.gpus[0].sm_count = 132;
  system.gpus[0].memory_bytes_per_us = 4800000;
  system.gpus[0].fp32_flops_per_us = 67000000;
  return system;
}

Experiment known(Mode mode, std::uint64_t bytes) {
  Experiment experiment;
  experiment.name = "x";
  experiment.mode = mode;
  experiment.allocations.push_back({"data", false, {}, bytes, 0});
  experiment.kernels.emplace_back().end_ns = 1000;
  experiment.grid_blocks = 8;
  return experiment;
}

template <class Record>
std::vector<Record> all(const Program& program) {
  std::vector<Record> found;
  for (const trace::Record& record : program.records) {
    if (const auto* match = std::get_if<Record>(&record)) found.push_back(*match);
  }
  return found;
}

Program make(const Experiment& experiment) {
  Program program = make_program(experiment, one_gpu());
  trace::check_shape(program.header);
  return program;
}

TEST(ExperimentProgram, PreparesThenMarksThenRuns) {
  Experiment experiment = known(Mode::kOrdered, 4u << 20);
  experiment.advice = {"preferred_host", "accessed_by_gpu"};
  experiment.host_populated = {{0, 65536}, {131072, 65536}};
  experiment.gpu_resident = {{0, 65536}};
  experiment.touches = {{5, trace::AccessMode::kWrite}, {4, trace::AccessMode::kRead}, {5, trace::AccessMode::kRead}};
  const Program program = make(experiment);
  EXPECT_EQ(program.header.quantum_bytes, 4096u);
  std::vector<std::size_t> kinds;
  for (const trace::Record& record : program.records) {
    trace::check_shape(record);
    kinds.push_back(record.index());
  }
  const auto index = [](const trace::Record& record) { return record.index(); };
  EXPECT_THAT(kinds, ::testing::ElementsAre(index(trace::ObjectAlloc{}), index(trace::Advise{}), index(trace::Advise{}),
                                            index(trace::HostAccess{}), index(trace::HostAccess{}),
                                            index(trace::Prefetch{}), index(trace::Sync{}), index(trace::Range{}),
                                            index(trace::Kernel{}), index(trace::Sync{}), index(trace::Range{})));
  const trace::Kernel kernel = all<trace::Kernel>(program).at(0);
  EXPECT_EQ(kernel.distribution, trace::Distribution::kThreadChunk);
  EXPECT_EQ(kernel.grid.count() * kernel.block.count(), 1u);
  ASSERT_EQ(kernel.touches.size(), 3u);
  EXPECT_EQ(kernel.touches[0].quantum, 5u);
  ASSERT_EQ(kernel.accesses.at(0).extents.size(), 2u);
  EXPECT_EQ(kernel.accesses[0].extents[1].mode, trace::AccessMode::kReadWrite);
  const trace::Advise advice = all<trace::Advise>(program).at(0);
  EXPECT_EQ(advice.device, -1);
  EXPECT_EQ(advice.bytes, 4u << 20);
}

TEST(ExperimentProgram, KeepsTheMeasuredPlaceWithinTheBlock) {
  Experiment experiment = known(Mode::kOrdered, 8192);
  experiment.allocations[0].offset_in_block = 3072;
  experiment.touches = {{1, trace::AccessMode::kRead}};
  const Program program = make(experiment);
  EXPECT_EQ(program.addresses.at(0) % kBlockBytes, 3072u);
  EXPECT_EQ(program.header.quantum_bytes, 1024u) << "pages must begin on a quantum";
  EXPECT_EQ(all<trace::Kernel>(program).at(0).touches.at(0).quantum, 4u);
}

TEST(ExperimentProgram, AnotherGpusMemoryNeedsTwoGpus) {
  Experiment experiment = known(Mode::kOrdered, 4u << 20);
  experiment.advice = {"preferred_peer", "accessed_by_gpu"};
  experiment.peer_resident = {{0, 65536}};
  experiment.touches = {{1, trace::AccessMode::kRead}};
  EXPECT_THAT([&] { make(experiment); },
              ::testing::ThrowsMessage<InputError>(::testing::HasSubstr("it needs 2 GPUs; system 'test' has 1")));
  config::SystemConfig two = one_gpu();
  two.gpus.push_back(two.gpus[0]);
  const Program program = make_program(experiment, two);
  EXPECT_EQ(all<trace::Prefetch>(program).at(0).destination, 1);
  EXPECT_EQ(all<trace::Advise>(program).at(0).device, 1);
  EXPECT_EQ(all<trace::Advise>(program).at(1).device, 0);
  EXPECT_EQ(all<trace::Kernel>(program).at(0).device, 0);
}

TEST(ExperimentProgram, ParallelTouchesGetAThreadEach) {
  Experiment experiment = known(Mode::kParallel, 16u << 20);
  experiment.threads_per_block = 32;
  for (std::uint64_t page = 0; page < 1024; ++page) experiment.touches.push_back({page, trace::AccessMode::kRead});
  const trace::Kernel kernel = all<trace::Kernel>(make(experiment)).at(0);
  EXPECT_EQ(kernel.grid.x, 32u);
  EXPECT_EQ(kernel.block.x, 32u);
  EXPECT_EQ(kernel.touches.size(), 1024u);
  ASSERT_EQ(kernel.accesses.at(0).extents.size(), 1u);
  EXPECT_EQ(kernel.accesses[0].extents[0].count, 1024u);
}

TEST(ExperimentProgram, StreamsCoverTheAllocation) {
  Experiment experiment = known(Mode::kStreamRead, 8u << 20);
  const trace::Kernel kernel = all<trace::Kernel>(make(experiment)).at(0);
  EXPECT_EQ(kernel.distribution, trace::Distribution::kGridStride);
  EXPECT_EQ(kernel.grid.x, 8u);
  EXPECT_EQ(kernel.block.x, 256u);
  EXPECT_EQ(kernel.bytes_per_thread_access, 16u);
  EXPECT_EQ(kernel.accesses.at(0).extents[0].count, 2048u);
  EXPECT_EQ(kernel.accesses[0].extents[0].mode, trace::AccessMode::kRead);
  experiment.kernels[0].native_ns = 12345;
  EXPECT_EQ(all<trace::Kernel>(make(experiment)).at(0).duration_ns, 12345);
}

TEST(ExperimentProgram, StreamsMayHaveOtherThreadsAndAccesses) {
  Experiment experiment = known(Mode::kStreamWrite, 8u << 20);
  experiment.loop_threads = 128;
  experiment.access_bytes = 4;
  const trace::Kernel kernel = all<trace::Kernel>(make(experiment)).at(0);
  EXPECT_EQ(kernel.block.x, 128u);
  EXPECT_EQ(kernel.bytes_per_thread_access, 4u);
}

TEST(ExperimentProgram, VectorAddHasThreeOperands) {
  const trace::Kernel kernel = all<trace::Kernel>(make(known(Mode::kVectorAdd, 6u << 20))).at(0);
  ASSERT_EQ(kernel.accesses.size(), 3u);
  EXPECT_EQ(kernel.accesses[1].extents[0].first, 512u);
  EXPECT_EQ(kernel.accesses[2].extents[0].mode, trace::AccessMode::kWrite);
}

TEST(ExperimentProgram, CpuFaultsInOrderAreALoopOthersAreReplayed) {
  Experiment experiment = known(Mode::kCpu, 2u << 20);
  experiment.kernels.push_back({"", 2000, 3000, {}, {}, 0, 0, 0});
  const auto fault = [&](std::int64_t at, std::int64_t page, std::uint32_t flags) {
    experiment.events.push_back({EventKind::kCpuFault, at, 0, 0, page * 4096, 0, flags});
  };
  fault(1100, 0, 1), fault(1200, 16, 1);
  fault(3100, 40, 2), fault(3200, 7, 2);
  const Program program = make(experiment);
  EXPECT_EQ(all<trace::Kernel>(program).size(), 2u);
  const auto accesses = all<trace::HostAccess>(program);
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].extents[0].count, 512u);
  EXPECT_EQ(accesses[0].extents[0].mode, trace::AccessMode::kRead);
  ASSERT_EQ(accesses[1].touches.size(), 2u);
  EXPECT_EQ(accesses[1].touches[0].first, 40u);
  EXPECT_EQ(accesses[1].touches[0].second, trace::AccessMode::kWrite);
}

Experiment library_call(bool host) {
  Experiment experiment;
  experiment.name = "call";
  experiment.mode = Mode::kLibrary;
  experiment.inputs_on_host = host;
  experiment.kernels.push_back({"kernel", 0, 1000, {16, 1, 1}, {32, 1, 1}, 40, 128, 0});
  return experiment;
}

TEST(ExperimentProgram, OutputsOnTheHostAreWrittenThereFirst) {
  Experiment experiment = library_call(false);
  experiment.outputs_on_host = true;
  experiment.allocations = {{"x", false, {1024, 1024}, 4u << 20, 0}, {"out", true, {1024, 1024}, 4u << 20, 0}};
  const std::vector<trace::HostAccess> accesses = all<trace::HostAccess>(make(experiment));
  ASSERT_EQ(accesses.size(), 1u);
  EXPECT_EQ(accesses[0].object, 2u);
  ASSERT_EQ(accesses[0].extents.size(), 1u);
  EXPECT_EQ(accesses[0].extents[0].mode, trace::AccessMode::kWrite);
}

TEST(ExperimentProgram, SmallTensorsShareABlockWhereTheyDoNotOverlap) {
  Experiment experiment = library_call(true);
  experiment.allocations = {{"w", false, {768}, 3072, 0},
                            {"b", false, {768}, 3072, 3072},
                            {"c", false, {768}, 3072, 1024},
                            {"x", false, {1024, 1024}, 4u << 20, 0},
                            {"out", true, {1024, 1024}, 4u << 20, 0}};
  const Program program = make(experiment);
  EXPECT_EQ(program.addresses[1], program.addresses[0] + 3072);
  EXPECT_NE(program.addresses[2] / kBlockBytes, program.addresses[0] / kBlockBytes);
  EXPECT_EQ(program.addresses[3] % kBlockBytes, 0u);
  const auto prefetches = all<trace::Prefetch>(program);
  EXPECT_EQ(prefetches.size(), 4u) << "the output is untouched";
  for (const trace::Prefetch& prefetch : prefetches) EXPECT_EQ(prefetch.destination, -1);
  const trace::Kernel kernel = all<trace::Kernel>(program).at(0);
  EXPECT_EQ(kernel.registers_per_thread, 40u);
  EXPECT_EQ(kernel.accesses.size(), 5u);
  EXPECT_EQ(kernel.accesses[4].extents[0].mode, trace::AccessMode::kWrite);
}

TEST(ExperimentProgram, ASmallOutputWithoutAFaultWasThereAlready) {
  Experiment experiment = library_call(false);
  experiment.allocations = {{"x", false, {4096}, 4u << 20, 0}, {"out", true, {4096}, 16384, 6144}};
  EXPECT_EQ(all<trace::Prefetch>(make(experiment)).size(), 2u);
  experiment.events.push_back({EventKind::kFaultBatch, 10, 20, 1, 0, 1, 2});
  EXPECT_EQ(all<trace::Prefetch>(make(experiment)).size(), 1u);
}

TEST(ExperimentProgram, AGatherReadsTheRowsOfItsIndex) {
  Experiment experiment = library_call(true);
  experiment.note = "index = torch.randint(0,200000,(16384,)) with a CPU generator seeded 7";
  experiment.kernels[0].grid = {16384, 1, 1};
  experiment.allocations = {{"table", false, {200000, 128}, 102400000, 0},
                            {"index", false, {16384}, 131072, 4096},
                            {"out", true, {16384, 128}, 8388608, 0}};
  const trace::Kernel kernel = all<trace::Kernel>(make(experiment)).at(0);
  ASSERT_EQ(kernel.touches.size(), 3u * 16384);
  EXPECT_EQ(kernel.touches[1].slot, 0u);
  // The first number of a 32-bit Mersenne Twister seeded 7 is 327741615; its row lies at byte 512 * (327741615 %
  // 200000).
  EXPECT_EQ(kernel.touches[1].quantum, 512u * (327741615u % 200000u) / 4096);
  experiment.note = "";
  EXPECT_TRUE(all<trace::Kernel>(make(experiment)).at(0).touches.empty());
}

}  // namespace
}  // namespace uvmsim::validate
