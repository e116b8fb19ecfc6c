// SPDX-License-Identifier: Apache-2.0
// Tests that the audit finds each kind of inconsistency, and that it is called.
#include "sim/engine/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "sim/common/check.h"
#include "sim/engine/engine.h"
#include "sim/policy/registry.h"
#include "tests/engine/program.h"

namespace uvmsim::engine {
namespace {

using ::testing::HasSubstr;

// Two blocks, one GPU of four chunks: block 0 is on the GPU, block 1 (short: 40 pages) on the host.
struct World {
  World() {
    space.allocate(0, kBlockBytes + 40 * kPage);
    gpus.push_back({GpuMemory(4), policy::built_ins()->create<policy::Evictor>("lrm", {}, 1, 4),
                    gmmu::Gmmu(system.gmmu, system.gpus[0].sm_count, counters.gmmu), false, kPagesPerBlock});
    const ChunkId chunk = memory().allocate();
    memory().chunk(chunk).state = ChunkState::kAllocated;
    memory().bind_whole(BlockIndex(0), chunk);
    on_gpu(0) = {PageMask::all(), PageMask::all(), PageMask::all()};
    on_host(1) = {PageMask::range(0, 40), PageMask::range(0, 40), PageMask::range(0, 40)};
    space.block(BlockIndex(1)).host_backed = PageMask::range(0, 40);
  }
  GpuMemory& memory() { return gpus[0].memory; }
  ProcessorPages& on_gpu(std::uint64_t b) { return space.pages(BlockIndex(b), gpu_processor(0)); }
  ProcessorPages& on_host(std::uint64_t b) { return space.pages(BlockIndex(b), kHost); }
  void audit() const { audit_memory(space, gpus, host_resident_pages); }

  config::SystemConfig system = plain_system();
  Counters counters;
  AddressSpace space{1};
  std::vector<driver::GpuState> gpus;
  std::uint64_t host_resident_pages = 40;
};

std::string complaint(const std::function<void(World&)>& breakage) {
  World world;
  world.audit();
  breakage(world);
  try {
    world.audit();
  } catch (const ModelError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Audit, FindsPagesWithoutMemory) {
  EXPECT_THAT(complaint([](World& w) { w.memory().unbind_whole(BlockIndex(0)); }), HasSubstr("and no chunk"));
  EXPECT_THAT(complaint([](World& w) {
                w.on_host(1) = {};
                w.host_resident_pages = 0;
                w.on_gpu(1).resident.set(17);
              }),
              HasSubstr("no slot for unit 1"));
  EXPECT_THAT(complaint([](World& w) { w.space.block(BlockIndex(1)).host_backed.reset(0); }),
              HasSubstr("without host memory"));
}

TEST(Audit, FindsChunksThatNobodyOwns) {
  EXPECT_THAT(complaint([](World& w) { w.memory().allocate(); }),
              HasSubstr("1 chunks back blocks, 0 are shared, 2 free"));
  EXPECT_THAT(complaint([](World& w) { w.memory().chunk(ChunkId{0}).state = ChunkState::kPinned; }),
              HasSubstr("not allocated"));
  EXPECT_THAT(complaint([](World& w) { w.memory().chunk(ChunkId{0}).block = 1; }), HasSubstr("not its own"));
}

TEST(Audit, FindsPagesInTwoPlaces) {
  const auto second_copy = [](World& w) {
    w.on_host(0).resident.set(5);
    w.space.block(BlockIndex(0)).host_backed.set(5);
    ++w.host_resident_pages;
  };
  EXPECT_THAT(complaint(second_copy), HasSubstr("1 pages have several copies, 0 are read-duplicated"));
  EXPECT_THAT(complaint([&](World& w) {
                second_copy(w);
                w.space.block(BlockIndex(0)).read_duplicated.set(5);
              }),
              HasSubstr("a read-duplicated page can be written"));
  EXPECT_EQ(complaint([&](World& w) {
              second_copy(w);
              w.space.block(BlockIndex(0)).read_duplicated.set(5);
              w.on_gpu(0).writable.reset(5);
            }),
            "nothing");
}

TEST(Audit, FindsMappingsOfNothing) {
  EXPECT_THAT(complaint([](World& w) { w.on_host(0).mapped.set(0); }), HasSubstr("maps pages that are not there"));
  EXPECT_THAT(complaint([](World& w) { w.on_gpu(1).mapped.set(40); }), HasSubstr("maps pages that are not there"));
  EXPECT_EQ(complaint([](World& w) { w.on_gpu(1).mapped.set(39); }), "nothing");  // remote
  EXPECT_THAT(complaint([](World& w) { w.on_gpu(0).mapped.reset(9); }), HasSubstr("may write what it does not map"));
}

TEST(Audit, FindsSumsThatDoNotAddUp) {
  EXPECT_THAT(complaint([](World& w) { ++w.gpus[0].resident_pages; }), HasSubstr("512 pages on GPU 0, the driver"));
  EXPECT_THAT(complaint([](World& w) { --w.host_resident_pages; }), HasSubstr("40 pages on the host, the driver"));
  EXPECT_THAT(complaint([](World& w) { w.on_host(1).resident.set(40); }), HasSubstr("outside its allocation"));
  EXPECT_THAT(complaint([](World& w) { w.space.block(BlockIndex(1)).live = false; }), HasSubstr("freed block 1 holds"));
}

TEST(Audit, FindsPagesThatTwoProgramsMistakeForEachOthers) {
  AddressSpace space(1);
  const std::uint64_t regions[] = {1, 1};
  space.divide(regions);
  for (const unsigned program : {0u, 1u}) {
    space.pages(space.allocate(0, kBlockBytes, program), kHost).resident.set(program);
  }
  EXPECT_NO_THROW(audit_program(space, 0, 1));
  EXPECT_NO_THROW(audit_program(space, 1, 1));
  EXPECT_THROW(audit_program(space, 0, 2), ModelError);
  EXPECT_THROW(audit_program(space, 1, 0), ModelError);
}

TEST(Audit, FindsCountersThatDoNotAddUp) {
  World world;
  Counters c;
  c.htod_fault_bytes = 600 * kPage;
  c.populated_pages = 100;
  c.dtoh_evict_bytes = 150 * kPage;
  const auto check = [&](const Ledger& ledger) { audit_counters(c, world.gpus, ledger); };
  check({38, false});  // 600 + 100 = 512 + 150 + 38
  EXPECT_THROW(check({37, false}), ModelError);
  check({37, true});
  EXPECT_THROW(check({189, true}), ModelError);
  c.raw_faults = 10;
  c.duplicate_faults = 4;
  c.stale_faults = 1;
  c.faulting_pages = 4;
  EXPECT_THROW(check({38, false}), ModelError);
  c.throttles = 1;  // the tenth one repeats
  check({38, false});
  c.fault_batches = 2;
  EXPECT_THROW(check({38, false}), ModelError);
}

TEST(Audit, RunsAfterEveryOperationOfASmallProgram) {
  if (!kModelChecks) GTEST_SKIP() << "built without model checks";
  uvmsim::Program program;
  const auto data = program.alloc(4 * kBlockBytes);
  for (int i = 0; i < 20; ++i) program.kernel("k", 1000, {}, {data});
  program.sync();
  const trace::Header header = uvmsim::Program::header();
  const RecordSource source = program.source();
  const RunOptions options = options_with(2);
  const RunObserver observer;
  RecordFeed feed(header, source, options);
  const Hosted hosted{header, feed, options, observer};
  Engine engine(options.system, {&hosted, 1});
  engine.run();
  EXPECT_EQ(engine.audits(), 21u);  // and once at the end
}

TEST(Audit, CostsALargeProgramLittle) {
  if (!kModelChecks) GTEST_SKIP() << "built without model checks";
  uvmsim::Program program;
  program.alloc(6400 * kBlockBytes);
  for (int i = 0; i < 250; ++i) program.kernel("k", 1000);
  program.sync();
  const trace::Header header = uvmsim::Program::header();
  const RecordSource source = program.source();
  const RunOptions options = options_with(0);
  const RunObserver observer;
  RecordFeed feed(header, source, options);
  const Hosted hosted{header, feed, options, observer};
  Engine engine(options.system, {&hosted, 1});
  engine.run();
  EXPECT_EQ(engine.audits(), 250u * 64u / 6400u + 1u);
}

}  // namespace
}  // namespace uvmsim::engine
