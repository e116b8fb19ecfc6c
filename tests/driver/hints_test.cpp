// SPDX-License-Identifier: Apache-2.0
// cudaMemAdvise: preferred location, accessed-by, read-mostly. Source: NVIDIA UVM 580 uvm_va_block.c
// (block_select_processor_residency), uvm_va_range.c, uvm_perf_prefetch.c.
#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver::hints_test {
namespace {

using trace::Advice;

constexpr ProcessorId kGpu0 = gpu_processor(0);
constexpr ProcessorId kGpu1 = gpu_processor(1);

// A full block that is resident on the host and mapped by nobody, as after an eviction. Needs one chunk of memory.
BlockIndex evicted_block(Machine& machine) {
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.prefetch({machine.allocate()}, kGpu0);
  EXPECT_EQ(machine.on_host(block).resident, PageMask::all());
  machine.events.clear();
  return block;
}

TEST(PreferredLocation, AnEmptyBlockComesAsAWholeToItsPreferredGpu) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.advise(a, Advice::kSetPreferredLocation, kGpu0);
  machine.gpu_read(a, pages({300}));
  EXPECT_EQ(machine.on_gpu(a).resident, PageMask::all());
  EXPECT_TRUE(machine.events.transfers.empty());
}

TEST(PreferredLocation, PagesThatNobodyHoldsAreClearedOnTheHost) {
  config::SystemConfig system = tiny_system();
  const auto batch_ns = [&] {
    Machine machine(1, system);
    const BlockIndex a = machine.allocate();
    machine.advise(a, Advice::kSetPreferredLocation, kHost);
    return machine.gpu_read(a, pages({0})).end.value;
  };
  const std::int64_t before = batch_ns();
  system.costs.host_zero_page_ns += 100;
  EXPECT_EQ(batch_ns() - before, 100 * 512) << "the whole block comes at once";
}

TEST(PreferredLocation, ABlockWithDataFollowsTheTree) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_write(a, 400);
  machine.advise(a, Advice::kSetPreferredLocation, kGpu0);
  machine.gpu_read(a, pages({0}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16));
}

// Example 9 of docs/driver.md: pages that the CPU maps are mapped remotely one fault at a time; nothing moves.
TEST(PreferredLocation, Vector9HostPagesAreMappedRemotelyPageByPage) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise(a, Advice::kSetPreferredLocation, kHost);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(machine.gpu_read(a, pages({i * 16})).faulting_pages, 1u);
    ASSERT_EQ(machine.events.remote_maps.size(), i + 1);
    EXPECT_EQ(machine.events.remote_maps.back().address, virtual_address(a, i * 16));
    EXPECT_EQ(machine.events.remote_maps.back().bytes, kBasePageBytes);
  }
  EXPECT_TRUE(machine.events.transfers.empty());
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  EXPECT_FALSE(machine.has_chunk(a)) << "no GPU memory is taken";
  EXPECT_EQ(machine.on_host(a).mapped, PageMask::all()) << "the CPU keeps its mappings";
  machine.check();
}

TEST(PreferredLocation, Vector9PagesThatTheCpuDoesNotMapComeByTheRegion) {
  Machine machine(1);
  const BlockIndex a = evicted_block(machine);
  machine.advise(a, Advice::kSetPreferredLocation, kHost);
  machine.gpu_read(a, pages({0}));
  ASSERT_EQ(machine.events.remote_maps.size(), 1u);
  EXPECT_EQ(machine.events.remote_maps[0].bytes, kBlockBytes);
  EXPECT_TRUE(machine.events.transfers.empty());
  machine.check();
}

// As measured: an untouched block is populated on the host and mapped in one piece.
TEST(PreferredLocation, AnUntouchedBlockIsPopulatedOnThePreferredHost) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.advise(a, Advice::kSetPreferredLocation, kHost);
  machine.gpu_write(a, pages({0}));
  EXPECT_EQ(machine.on_host(a).resident, PageMask::all());
  ASSERT_EQ(machine.events.remote_maps.size(), 1u);
  EXPECT_EQ(machine.events.remote_maps[0].bytes, kBlockBytes);
  EXPECT_EQ(machine.gpu_write(a, pages({400})).faulting_pages, 0u);
  machine.check();
}

TEST(PreferredLocation, PagesAlreadyOnTheGpuStayThereForPermissions) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.advise(a, Advice::kSetReadMostly);
  machine.gpu_read(a, pages({0}));
  machine.advise(a, Advice::kUnsetReadMostly);
  machine.advise(a, Advice::kSetPreferredLocation, kHost);
  machine.gpu_write(a, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).resident.test(0));
  EXPECT_TRUE(machine.events.transfers.empty());
  machine.check();
}

TEST(PreferredLocation, SettingItRemovesRemoteMappings) {
  Machine machine(2);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise(a, Advice::kSetAccessedBy, kGpu0);
  ASSERT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  machine.advise(a, Advice::kSetPreferredLocation, kGpu0);
  EXPECT_TRUE(machine.on_gpu(a).mapped.empty());
  machine.gpu_read(a, pages({0}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16)) << "it faults and pulls the pages";
  machine.advise(a, Advice::kSetPreferredLocation, kHost);
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all()) << "accessed-by holds again";
  machine.check();
}

TEST(PreferredLocation, DoesNotProtectFromEviction) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.advise(a, Advice::kSetPreferredLocation, kGpu0);
  machine.gpu_write(a, pages({0}));
  machine.gpu_write(b, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
}

TEST(PreferredLocation, Drivers590DoNotPrefetchAwayFromIt) {
  for (const std::uint32_t version : {580u, 590u}) {
    config::SystemConfig system = tiny_system();
    system.driver.version_major = version;
    Machine machine(1, system);
    const BlockIndex a = machine.allocate();
    machine.advise(a, Advice::kSetPreferredLocation, kGpu0);
    machine.gpu_write(a, pages({0}));
    machine.cpu_read(a, 0);
    EXPECT_EQ(machine.on_host(a).resident.count(), version < 590 ? 16u : 1u) << version;
  }
}

TEST(AccessedBy, MapsWhatTheHostHoldsAtOnce) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 64));
  machine.advise(a, Advice::kSetAccessedBy, kGpu0);
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(0, 64));
  ASSERT_EQ(machine.events.remote_maps.size(), 1u);
  EXPECT_GT(machine.events.remote_maps[0].at, Nanoseconds{});
  EXPECT_EQ(machine.gpu_write(a, pages({10})).faulting_pages, 0u);
  machine.check();
}

TEST(AccessedBy, MapsPagesThatComeToTheHostLater) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.advise(a, Advice::kSetAccessedBy, kGpu0);
  machine.cpu_write(a, 0);
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(0, 16));
  machine.check();
}

TEST(AccessedBy, MapsPagesAgainAfterTheyMovedToTheHost) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.advise(a, Advice::kSetAccessedBy, kGpu0);
  machine.gpu_fill(a, true);
  ASSERT_EQ(machine.on_gpu(a).resident, PageMask::all()) << "untouched memory is populated where it is touched";
  machine.cpu_read(a, 0);
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(16, 512));
  EXPECT_EQ(machine.on_gpu(a).writable, PageMask::all());
  EXPECT_EQ(machine.counters.remote_map_bytes, 65536u);
  machine.prefetch({a}, kHost);
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  machine.check();
}

TEST(AccessedBy, MapsPagesAgainAfterAnEviction) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.advise(a, Advice::kSetAccessedBy, kGpu0);
  machine.gpu_fill(a, true);
  machine.prefetch({machine.allocate()}, kGpu0);
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  EXPECT_EQ(machine.gpu_read(a, pages({0})).faulting_pages, 0u) << "it reads over the link from now on";
  machine.check();
}

TEST(AccessedBy, FaultsOnHostPagesOnlyMap) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 16));
  machine.space.block(a).hints.accessed_by = kGpu0.bit();  // without the mappings that the call makes
  machine.gpu_read(a, pages({0}));
  EXPECT_TRUE(machine.events.transfers.empty());
  EXPECT_TRUE(machine.on_gpu(a).mapped.test(0));
  machine.check();
}

TEST(AccessedBy, OtherGpusMemoryCannotBeMapped) {
  Machine machine(1, tiny_system(2));
  const BlockIndex a = machine.allocate();
  machine.gpu_write(a, pages({0}), 0);
  machine.advise(a, Advice::kSetAccessedBy, kGpu1);
  machine.gpu_read(a, pages({0}), 1);
  EXPECT_TRUE(machine.on_gpu(a, 1).resident.test(0)) << "it migrates";
  machine.check();
}

TEST(AccessedBy, RemoteMappingsEndWhenThePagesLeaveTheHost) {
  Machine machine(1, tiny_system(2));
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 16));
  machine.advise(a, Advice::kSetAccessedBy, kGpu1);
  machine.gpu_write(a, pages({0}), 0);
  EXPECT_TRUE(machine.on_gpu(a, 1).mapped.empty());
  machine.check();
}

TEST(AccessedBy, NobodyMapsPagesThatOnlyPassThroughTheHost) {
  Machine machine(1, tiny_system(3));
  const BlockIndex a = machine.allocate();
  machine.gpu_write(a, pages({0}), 2);
  machine.advise(a, Advice::kSetAccessedBy, kGpu0);
  machine.gpu_write(a, pages({0}), 1);
  EXPECT_TRUE(machine.on_gpu(a, 0).mapped.empty());
  EXPECT_TRUE(machine.events.remote_maps.empty());
  machine.check();
}

TEST(ReadMostly, AReadMakesACopy) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 32));
  machine.advise(a, Advice::kSetReadMostly);
  machine.gpu_read(a, pages({0}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16));
  EXPECT_EQ(machine.on_host(a).resident, page_range(0, 32));
  EXPECT_EQ(machine.space.block(a).read_duplicated, page_range(0, 16));
  EXPECT_TRUE(machine.on_gpu(a).writable.empty());
  EXPECT_TRUE(machine.on_host(a).writable.empty());
  const std::uint64_t faults = machine.counters.cpu_faults;
  machine.cpu_read(a, 3);
  EXPECT_EQ(machine.counters.cpu_faults, faults) << "the CPU goes on reading its copy";
  machine.check();
}

TEST(ReadMostly, AWriteOfTheGpuEndsTheDuplication) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 16));
  machine.advise(a, Advice::kSetReadMostly);
  machine.gpu_read(a, pages({0}));
  machine.events.clear();
  machine.gpu_write(a, pages({5}));
  EXPECT_TRUE(machine.events.transfers.empty()) << "the copy is here";
  EXPECT_TRUE(machine.on_gpu(a).writable.test(5));
  EXPECT_FALSE(machine.on_host(a).resident.test(5));
  EXPECT_FALSE(machine.on_host(a).mapped.test(5)) << "or the CPU would read old data";
  EXPECT_TRUE(machine.on_host(a).mapped.test(6));
  machine.check();
}

TEST(ReadMostly, AWriteOfTheCpuEndsTheDuplication) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 16));
  machine.advise(a, Advice::kSetReadMostly);
  machine.gpu_read(a, pages({0}));
  machine.events.clear();
  machine.cpu_write(a, 5);
  EXPECT_TRUE(machine.events.transfers.empty());
  EXPECT_FALSE(machine.on_gpu(a).resident.test(5));
  EXPECT_FALSE(machine.on_gpu(a).mapped.test(5));
  machine.check();
}

TEST(ReadMostly, DuplicatedPagesAreEvictedWithoutACopy) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise(a, Advice::kSetReadMostly);
  machine.gpu_fill(a);
  machine.gpu_write(machine.allocate(), pages({0}));
  EXPECT_EQ(machine.counters.evictions_without_copy, 1u);
  EXPECT_TRUE(machine.space.block(a).read_duplicated.empty());
  machine.check();
}

TEST(ReadMostly, ACpuReadOfGpuPagesCopiesThem) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.gpu_write(a, pages({0}));
  machine.advise(a, Advice::kSetReadMostly);
  machine.cpu_read(a, 0);
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16));
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(0, 16));
  EXPECT_FALSE(machine.host_faults.mapped(a, 0, true));
  machine.check();
}

TEST(ReadMostly, ThePrefetchCallDuplicates) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise(a, Advice::kSetReadMostly);
  machine.prefetch({a}, kGpu0);
  EXPECT_EQ(machine.space.block(a).read_duplicated, PageMask::all());
  EXPECT_EQ(machine.on_host(a).mapped, PageMask::all());
  EXPECT_TRUE(machine.on_gpu(a).writable.empty());
  machine.check();
}

TEST(ReadMostly, UnsettingItKeepsOneCopy) {
  for (const bool prefer_gpu : {false, true}) {
    Machine machine(1);
    const BlockIndex a = machine.allocate();
    machine.cpu_fill(a);
    machine.advise(a, Advice::kSetReadMostly);
    if (prefer_gpu) machine.advise(a, Advice::kSetPreferredLocation, kGpu0);
    machine.prefetch({a}, kGpu0);
    machine.events.clear();
    machine.advise(a, Advice::kUnsetReadMostly);
    EXPECT_EQ(machine.on_gpu(a).resident.empty(), !prefer_gpu);
    EXPECT_EQ(machine.on_host(a).resident.empty(), prefer_gpu);
    EXPECT_TRUE(machine.events.transfers.empty());
    machine.check();
  }
}

TEST(ReadMostly, SettingItRemovesRemoteMappings) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise(a, Advice::kSetPreferredLocation, kHost);
  machine.gpu_read(a, pages({0}));
  machine.advise(a, Advice::kSetReadMostly);
  EXPECT_TRUE(machine.on_gpu(a).mapped.empty());
  machine.gpu_read(a, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).resident.test(0)) << "duplication comes before the preferred location";
  machine.check();
}

TEST(ReadMostly, NeverThrashes) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.advise(a, Advice::kSetReadMostly);
  for (int i = 0; i < 20; ++i) {
    machine.gpu_write(a, pages({0}));
    machine.cpu_read(a, 0);
  }
  EXPECT_EQ(machine.counters.throttles, 0u);
  EXPECT_EQ(machine.counters.pins, 0u);
}

}  // namespace
}  // namespace uvmsim::driver::hints_test
