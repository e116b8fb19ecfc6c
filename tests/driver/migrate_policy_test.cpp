// SPDX-License-Identifier: Apache-2.0
// Tests of the slot `migrate`: which pages stay remote-mapped, which migrate, and when.
#include <gtest/gtest.h>

#include <functional>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver::migrate_policy_test {
namespace {

using trace::Advice;

constexpr ProcessorId kGpu0 = gpu_processor(0);

void use_policy(Machine& machine, const std::string& name, const policy::GivenParameters& parameters = {}) {
  machine.gpus[0].migrator = policy::built_ins()
                                 ->find(policy::Slot::kMigrate, name)
                                 .create<policy::Migrator>(parameters, 1, machine.gpus[0].memory.chunk_count());
}
void use_from_afar(Machine& machine, BlockIndex block, const PageMask& pages, std::uint64_t accesses) {
  machine.access_counters.on_remote_access(0, block, pages, accesses);
  machine.advance_to(machine.access_counters.service(0, machine.now));
}

// A policy that gives the answers that a test sets.
struct Scripted final : policy::Migrator {
  std::function<policy::RestingPages(const policy::FaultedPages&)> answer;
  policy::RestingPages rest(const policy::FaultedPages& faulted) override { return answer(faulted); }
};
Scripted& use_script(Machine& machine) {
  auto script = std::make_unique<Scripted>();
  Scripted& reference = *script;
  machine.gpus[0].migrator = std::move(script);
  return reference;
}

TEST(HostPinned, NothingComesAndOneFaultMapsTheBlock) {
  Machine machine(2);
  use_policy(machine, "host_pinned");
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.gpu_read(a, pages({7}));
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  EXPECT_EQ(machine.on_gpu(a).writable, PageMask::all());
  EXPECT_EQ(machine.counters.htod_fault_bytes, 0u);
  EXPECT_EQ(machine.counters.remote_map_bytes, kBlockBytes);
  use_from_afar(machine, a, PageMask::all(), 1000000);
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  machine.check();
}

// Memory that was not touched yet is populated on the host.
TEST(HostPinned, FirstTouchByTheGpuPopulatesTheHost) {
  Machine machine(2);
  use_policy(machine, "host_pinned");
  const BlockIndex a = machine.allocate();
  machine.gpu_write(a, pages({7, 8}));
  EXPECT_EQ(machine.on_host(a).resident, PageMask::all());
  EXPECT_EQ(machine.on_gpu(a).writable, PageMask::all());
  EXPECT_EQ(machine.counters.dtoh_fault_bytes, 0u);
  machine.check();
}

TEST(MigratePolicy, WhatItDoesNotNameComesWithItsPrefetch) {
  Machine machine(2);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  use_script(machine).answer = [](const policy::FaultedPages&) { return policy::RestingPages{pages({0, 1}), {}}; };
  machine.gpu_read(a, pages({0, 1, 20}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(16, 32));
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(16, 32) | pages({0, 1}));
  EXPECT_TRUE((machine.on_gpu(a).writable & pages({0, 1})).empty());
  machine.check();
}

TEST(MigratePolicy, HearsWhatFaultedAndHowFullMemoryIs) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(3 * kBlockBytes), b(a.value + 1), c(a.value + 2);
  for (const BlockIndex block : {a, b, c}) machine.cpu_fill(block, page_range(0, 64));
  int calls = 0;
  use_script(machine).answer = [&](const policy::FaultedPages& faulted) {
    EXPECT_EQ(faulted.range, a);
    EXPECT_EQ(faulted.block.value, a.value + static_cast<std::uint64_t>(calls));
    EXPECT_EQ(faulted.reads, calls == 1 ? PageMask{} : pages({3}));
    EXPECT_EQ(faulted.writes, calls == 1 ? pages({3}) : PageMask{});
    EXPECT_EQ(faulted.on_host, page_range(0, 64));
    EXPECT_EQ(faulted.memory.chunks, 2u);
    EXPECT_EQ(faulted.memory.free_chunks, static_cast<std::uint32_t>(2 - calls));
    EXPECT_FALSE(faulted.memory.oversubscribed);
    ++calls;
    return policy::RestingPages{};
  };
  machine.gpu_read(a, pages({3}));
  machine.gpu_write(b, pages({3}));
  machine.gpu_read(c, pages({3}));
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(machine.gpus[0].oversubscribed);
}

// The driver removes from an answer pages on the GPU, pages beyond the allocation, and writable pages that are not
// remote-mapped.
TEST(MigratePolicy, NonsenseIsClipped) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(kBlockBytes / 2);
  use_script(machine).answer = [](const policy::FaultedPages&) { return policy::RestingPages{}; };
  machine.gpu_write(a, pages({64}));
  use_script(machine).answer = [](const policy::FaultedPages&) {
    return policy::RestingPages{PageMask::all(), pages({1, 400})};
  };
  machine.gpu_write(a, pages({1, 2}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(64, 80) | pages({2})) << "a page it must write but may not: comes";
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(0, 256));
  EXPECT_EQ(machine.on_gpu(a).writable, page_range(64, 80) | pages({1, 2}));
  machine.check();
}

TEST(MigratePolicy, IsNotAskedAboutHintedBlocks) {
  Machine machine(2);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise(a, Advice::kSetPreferredLocation, kGpu0);
  use_script(machine).answer = [](const policy::FaultedPages&) -> policy::RestingPages {
    ADD_FAILURE() << "asked";
    return {};
  };
  machine.gpu_read(a, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).resident.test(0));
}

TEST(Delayed, AlwaysComesAtTheThreshold) {
  Machine machine(4);
  use_policy(machine, "delayed", {{"mode", "always"}, {"threshold", "8"}});
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.gpu_read(a, pages({0, 1}));  // two accesses
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(0, 16)) << "the unit, read-only";
  EXPECT_TRUE(machine.on_gpu(a).writable.empty());
  use_from_afar(machine, a, pages({5}), 5);  // seven accesses
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  use_from_afar(machine, a, pages({5}), 1);
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16));
  EXPECT_EQ(machine.counters.htod_counter_bytes, kBigPageBytes);
  machine.check();
}

TEST(Delayed, WritesComeAtOnce) {
  Machine machine(4);
  use_policy(machine, "delayed", {{"mode", "always"}});
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.gpu_read(a, pages({0}));
  machine.gpu_write(a, pages({0}));  // mapped for reading already
  EXPECT_TRUE(machine.on_gpu(a).resident.test(0));
  EXPECT_TRUE(machine.on_gpu(a).writable.test(0));
  machine.check();
}

TEST(Delayed, OversubscribedWaitsOnlyOnceMemoryIsFull) {
  Machine machine(1);
  use_policy(machine, "delayed", {{"mode", "oversubscribed"}});
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  for (const BlockIndex block : {a, b, c}) machine.cpu_fill(block);
  machine.gpu_read(a, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).resident.test(0));
  machine.gpu_read(b, pages({0}));  // evicts a
  EXPECT_TRUE(machine.on_gpu(b).resident.test(0));
  machine.gpu_read(c, pages({0}));
  EXPECT_TRUE(machine.on_gpu(c).resident.empty());
  machine.check();
}

// The limit is 8 * 2 * (r + 1) accesses once memory is full, with threshold 8 and penalty 2.
TEST(Delayed, AdaptiveDemandsMoreAfterEveryRoundTrip) {
  Machine machine(1);
  use_policy(machine, "delayed", {{"mode", "adaptive"}});
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  for (const BlockIndex block : {a, b}) machine.cpu_fill(block);
  machine.gpu_read(a, pages({0}));  // memory is empty: 1 + 8 * 0 accesses
  EXPECT_TRUE(machine.on_gpu(a).resident.test(0));
  machine.gpu_write(b, pages({0}));  // evicts a: one round trip
  machine.gpu_read(a, pages({0}));   // two accesses
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  use_from_afar(machine, a, pages({0}), 29);  // 31 accesses
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  use_from_afar(machine, a, pages({0}), 1);
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16));
  machine.check();
}

TEST(Delayed, FreedMemoryIsForgotten) {
  Machine machine(4);
  use_policy(machine, "delayed", {{"mode", "always"}, {"threshold", "3"}});
  for (int time = 0; time < 2; ++time) {
    const BlockIndex a = machine.allocate();
    machine.cpu_fill(a);
    machine.gpu_read(a, pages({0, 1}));
    EXPECT_TRUE(machine.on_gpu(a).resident.empty()) << time;
    machine.residency.departures().release(a);
    machine.access_counters.forget(a);
    machine.space.free(a, 1);
  }
}

TEST(AccessCounterPolicy, EvictedPagesRestUntilTheyAreUsed) {
  Machine machine(1);
  use_policy(machine, "access_counters", {{"threshold", "64"}});
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  for (const BlockIndex block : {a, b}) machine.cpu_fill(block);
  machine.gpu_read(a, pages({0}));
  machine.gpu_read(b, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(0, 16));
  use_from_afar(machine, a, pages({3}), 63);
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  use_from_afar(machine, a, pages({3}), 1);
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16));
  machine.check();
}

}  // namespace
}  // namespace uvmsim::driver::migrate_policy_test
