// SPDX-License-Identifier: Apache-2.0
// Tests of cudaMemAdvise: preferred location, accessed-by, read-mostly. Source: NVIDIA UVM 580 uvm_va_block.c
// (block_select_processor_residency), uvm_va_range.c, uvm_perf_prefetch.c.
#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver::hints_test {
namespace {

using trace::Advice;

constexpr ProcessorId kGpu0 = gpu_processor(0);
constexpr ProcessorId kGpu1 = gpu_processor(1);

// Returns a full block that is on the host and mapped nowhere, as after an eviction. Needs one chunk of memory.
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

// Measured: an untouched block is populated on the host and mapped in one piece.
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
  machine.space.block(a).hints.accessed_by = kGpu0.bit();  // lacks the mappings that the call would make
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

// The tree adds pages to a written page as reads: pages that were written before lose the permission to write.
TEST(ReadMostly, AWriteEndsTheWritingOfPagesBesideIt) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise(a, Advice::kSetReadMostly);
  machine.wait(microseconds(1000));  // the kernel starts long after the advice
  machine.gpu_write(a, pages({0}));
  EXPECT_EQ(machine.on_gpu(a).writable, pages({0}));
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(0, 16)) << "the others came as copies";
  machine.gpu_write(a, pages({1}));
  EXPECT_EQ(machine.on_gpu(a).writable, pages({1}));
  EXPECT_TRUE(machine.on_gpu(a).mapped.test(0)) << "it can still be read";
  EXPECT_EQ(machine.gpu_write(a, pages({0})).faulting_pages, 1u) << "and faults when it is written again";
  machine.gpu_write(a, pages({200}));
  EXPECT_EQ(machine.on_gpu(a).writable, pages({0, 200})) << "the tree did not reach that far";
  machine.check();
}

// Without the hint the same writes fault once.
TEST(ReadMostly, WithoutTheHintWritesStay) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.gpu_write(a, pages({0}));
  machine.gpu_write(a, pages({20}));
  EXPECT_EQ(machine.on_gpu(a).writable, page_range(0, 32));
}

// Repeats rounds of writes, page after page, until none faults. Returns the number of rounds; more than `most` if they
// never end.
int rounds_until_quiet(Machine& machine, BlockIndex block, unsigned count, int most) {
  for (int round = 0; round < most; ++round) {
    std::uint32_t faults = 0;
    for (unsigned page = 0; page < count; ++page) faults += machine.gpu_write(block, pages({page})).faulting_pages;
    if (faults == 0) return round;
  }
  return most + 1;
}

// Measured on an H200 and an H100 (configs/measurements/calls_h200.jsonl.zst). Memory that the host writes under the
// hint settles after three rounds, because its pages become thrashing and are excluded from prefetches. Memory that the
// host wrote before the hint, or that only GPUs wrote, never settles.
TEST(ReadMostly, WritesSettleOnlyWhereTheHostWroteUnderTheHint) {
  for (const unsigned count : {16u, 64u, 512u}) {
    Machine under(1), before(1), never(1);
    const BlockIndex a = under.allocate(), b = before.allocate(), c = never.allocate();
    under.advise(a, Advice::kSetReadMostly);
    under.cpu_fill(a);
    const int settled = rounds_until_quiet(under, a, count, 10);
    EXPECT_GE(settled, 2) << count;
    EXPECT_LE(settled, 5) << count;
    under.check();

    before.cpu_fill(b);
    before.advise(b, Advice::kSetReadMostly);
    before.wait(microseconds(1000));
    EXPECT_EQ(rounds_until_quiet(before, b, count, 10), 11) << count;
    never.advise(c, Advice::kSetReadMostly);
    EXPECT_EQ(rounds_until_quiet(never, c, count, 10), 11) << count;
  }
}

// The CPU's writes fault page by page, because pages that are fetched with them are read-only.
TEST(ReadMostly, TheCpuWritesPageByPage) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.advise(a, Advice::kSetReadMostly);
  machine.cpu_fill(a, page_range(0, 64));
  EXPECT_EQ(machine.counters.cpu_faults, 64u);
  EXPECT_EQ(machine.on_host(a).writable, page_range(0, 64)) << "no write of the host takes back another";
  machine.check();
}

// If some pages of a block have a hint and the others have none, the tree does not cross the border.
TEST(PartOfABlock, AHintHoldsForItsPages) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise_part(a, 0, 16, Advice::kSetPreferredLocation, kHost);
  machine.gpu_read(a, pages({256}));
  EXPECT_TRUE(machine.on_gpu(a).resident.test(256)) << "it has no hint and comes over";
  EXPECT_TRUE(machine.events.remote_maps.empty());
  machine.gpu_read(a, pages({3}));
  EXPECT_FALSE(machine.on_gpu(a).resident.test(3));
  EXPECT_TRUE(machine.on_gpu(a).mapped.test(3)) << "it stays on the host and is mapped there";
  machine.gpu_fill(a);
  EXPECT_TRUE((machine.on_gpu(a).resident & page_range(0, 16)).empty());
  machine.check();
}

TEST(PartOfABlock, TheTreeStandsOverThePart) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise_part(a, 256, 256, Advice::kSetReadMostly);
  for (const unsigned page : {0u, 16u, 32u, 64u, 128u}) machine.gpu_write(a, pages({page}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 256)) << "all of its half, nothing of the other";
  machine.check();
}

// The order in which the hints of two halves are given makes no difference, nor does a repeated hint.
TEST(PartOfABlock, TheOrderOfHintsMakesNoDifference) {
  for (const bool low_first : {true, false}) {
    Machine machine(1);
    const BlockIndex a = machine.allocate();
    machine.cpu_fill(a);
    for (const bool low : {low_first, !low_first}) {
      low ? machine.advise_part(a, 0, 256, Advice::kSetPreferredLocation, kGpu0)
          : machine.advise_part(a, 256, 256, Advice::kSetPreferredLocation, kHost);
    }
    machine.advise_part(a, 300, 20, Advice::kSetPreferredLocation, kHost);
    EXPECT_EQ(machine.space.part_of(a, 10).hints.preferred, kGpu0);
    EXPECT_EQ(machine.space.part_of(a, 310).hints.preferred, kHost);
    unsigned parts = 0;
    machine.space.for_each_part(a, [&](const BlockPart&) { ++parts; });
    EXPECT_EQ(parts, 2u);
    machine.gpu_read(a, pages({0}));
    machine.gpu_read(a, pages({400}));
    EXPECT_TRUE(machine.on_gpu(a).resident.test(0));
    EXPECT_FALSE(machine.on_gpu(a).resident.test(400));
    machine.check();
  }
}

TEST(PartOfABlock, AccessedByMapsItsPagesOnly) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise_part(a, 100, 7, Advice::kSetAccessedBy, kGpu0);
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(100, 107)) << "to the page";
  machine.gpu_read(a, pages({0}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16));
  machine.advise_part(a, 103, 1, Advice::kUnsetAccessedBy, kGpu0);
  EXPECT_EQ(machine.context.accessed_by(a, kGpu0), page_range(100, 103) | page_range(104, 107));
  machine.check();
}

// Freed memory loses its hints.
TEST(PartOfABlock, FreedMemoryForgetsIts) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.advise_part(a, 0, 16, Advice::kSetReadMostly);
  machine.space.free(a, 1);
  const BlockIndex b = machine.allocate();
  ASSERT_EQ(a, b);
  EXPECT_TRUE(machine.context.read_mostly(b).empty());
}

}  // namespace
}  // namespace uvmsim::driver::hints_test
