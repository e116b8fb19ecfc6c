// SPDX-License-Identifier: Apache-2.0
// Policies that fill several slots: one object serves all of them and is chosen in all; MIN with bypass and UVMSmart's
// runtime in whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/policy/block_map.h"
#include "sim/policy/registry.h"
#include "tests/engine/program.h"
#include "tests/policy/message_of.h"

namespace uvmsim::policy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RunOptions joint_options(const std::string& name, std::uint64_t chunks, const GivenParameters& given = {},
                         const std::shared_ptr<const Registry>& registry = built_ins()) {
  RunOptions options = options_with(chunks);
  options.registry = registry;
  for (const Slot slot : registry->find(Slot::kEvict, name).slots) options.*choice_of(slot) = {name, given};
  return options;
}

struct Asked {
  int prefetch = 0, plan = 0, migrate = 0, route = 0;
};
// Fills all slots and records what it was asked before the first victim.
class Everywhere final : public Prefetcher, public Evictor, public Planner, public Migrator, public Router {
 public:
  static PolicyInfo info() { return {.description = "everywhere", .source = "a test"}; }
  static ParameterTable parameters() { return {}; }
  explicit Everywhere(const PolicyContext&) { ++made; }

  PageMask prefetch(const FaultedBlock&) override {
    ++so_far_.prefetch;
    return {};
  }
  ChunkId select_victim(const EvictionQueries& queries) override {
    asked = so_far_;
    ChunkId chunk{0};
    while (!queries.evictable(chunk)) ++chunk.value;
    return chunk;
  }
  PlanCommand next(const PlanQueries&) override {
    ++so_far_.plan;
    return {};
  }
  RestingPages rest(const FaultedPages&) override {
    ++so_far_.migrate;
    return {};
  }
  Route route(const Move&, const RouteQueries&) override {
    ++so_far_.route;
    return {};
  }
  void on_migrated(ChunkId) override {}
  void on_migrated(BlockIndex) override {}
  void on_migrated(BlockIndex, const PageMask&) override {}
  void on_released(ChunkId) override {}
  void on_released(BlockIndex) override {}
  void on_evicted(BlockIndex, const PageMask&, const PageMask&) override {}
  bool on_evicted(BlockIndex, const PageMask&) override { return false; }
  void on_freed(BlockIndex) override {}
  void on_freed(ContentIndex) override {}
  void add_state(StateDigest& digest) const override { digest.refuse(); }
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>&) const override { digest.refuse(); }

  static inline int made = 0;
  static inline Asked asked;

 private:
  Asked so_far_;
};

TEST(Joint, OneObjectFillsAllSlots) {
  const auto registry = std::make_shared<Registry>(*built_ins());
  add_policy<Everywhere>(*registry, "everywhere");
  uvmsim::Program program;
  const trace::ObjectId id = program.alloc(4 * kBlockBytes);
  program.host(id);
  program.kernel("k", 1000, {id});
  program.sync();
  const RunOptions options = joint_options("everywhere", 2, {}, registry);
  Everywhere::made = 0;
  program.run(options);
  EXPECT_EQ(Everywhere::made, 1);
  EXPECT_GT(Everywhere::asked.prefetch, 0);
  EXPECT_GT(Everywhere::asked.plan, 0);
  EXPECT_GT(Everywhere::asked.migrate, 0);
  EXPECT_EQ(Everywhere::asked.route, 0) << "a GPU alone";

  RunOptions two_gpus = options;
  two_gpus.system.gpus.push_back(two_gpus.system.gpus[0]);
  two_gpus.system.host_links.push_back(two_gpus.system.host_links[0]);
  EXPECT_THAT(message_of([&] { program.run(two_gpus); }), HasSubstr("one prefetcher serves all GPUs of a program: 2"));
}

TEST(Joint, IsChosenInAllOfItsSlotsWithTheSameParameters) {
  PolicyChoices choices;
  choices.evict.name = "min_bypass";
  EXPECT_THAT(message_of([&] { check_choices(choices, *built_ins()); }),
              AllOf(HasSubstr("evict policy 'min_bypass' fills several slots, and 'first_touch' is chosen for migrate"),
                    HasSubstr("for evict and migrate")));
  choices.migrate.name = "min_bypass";
  check_choices(choices, *built_ins());
  choices.migrate.parameters = {{"granularity", "64k"}};
  EXPECT_THAT(message_of([&] { check_choices(choices, *built_ins()); }), HasSubstr("with the same parameters"));
  choices.evict.name = "lrm";
  EXPECT_THAT(message_of([&] { check_choices(choices, *built_ins()); }), HasSubstr("'lrm' is chosen for evict"));
}

// A cycle over N blocks with memory for C: C of them are fetched and stay, the others are read from the host.
TEST(MinBypass, KeepsWhatFitsOfACycleAndServesTheRestFromTheHost) {
  constexpr std::uint64_t kBlocks = 6, kChunks = 4, kPasses = 5;
  uvmsim::Program program;
  std::vector<trace::ObjectId> blocks;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(program.alloc(kBlockBytes));
    program.host(blocks.back());
  }
  for (std::uint64_t pass = 0; pass < kPasses; ++pass) {
    for (const trace::ObjectId id : blocks) program.kernel("k", 1000, {id});
  }
  program.sync();
  for (const char* granularity : {"2m", "64k"}) {
    const Counters counters =
        program.run(joint_options("min_bypass", kChunks, {{"granularity", granularity}})).counters;
    EXPECT_EQ(bytes_in(counters), kChunks * kBlockBytes) << granularity;
    EXPECT_EQ(counters.remote_access_bytes, (kBlocks - kChunks) * kPasses * kBlockBytes) << granularity;
    EXPECT_EQ(counters.evictions, 0u) << granularity;
  }
}

TEST(MinBypass, BringsWhatRestsOnceItIsUsedSoonerThanSomethingThatIsThere) {
  uvmsim::Program program;
  const auto first = program.alloc(kBlockBytes), second = program.alloc(kBlockBytes), late = program.alloc(kBlockBytes);
  for (const trace::ObjectId id : {first, second, late}) program.host(id);
  for (const trace::ObjectId id : {first, second, late, first, second, late, late, late}) {
    program.kernel("k", 1000, {id});
  }
  program.sync();
  // The block rests on the host once, and again after both others, which are not used again; then it is fetched.
  const Counters counters = program.run(joint_options("min_bypass", 2)).counters;
  EXPECT_EQ(counters.remote_access_bytes, 2 * kBlockBytes);
  EXPECT_EQ(bytes_in(counters), 3 * kBlockBytes);
  EXPECT_EQ(counters.evictions, 1u);
}

// UVMSmart's runtime on a GPU of two blocks whose units are fetched and evicted.
class UvmSmartRuntime : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kUnits = 2 * kBigPagesPerBlock;
  struct Chunks final : EvictionQueries {
    bool evictable(ChunkId chunk) const override { return used[chunk.value]; }
    ChunkView view(ChunkId) const override { return {}; }
    Nanoseconds now() const override { return {}; }
    ContentIndex incoming() const override { return {}; }
    std::uint32_t free_chunks() const override { return 0; }
    std::vector<bool> used = std::vector<bool>(kUnits, false);
  };

  void come(std::uint32_t unit) {
    chunks_.used[unit] = true;
    evictor_->on_allocated(ChunkId{unit}, ContentIndex(unit));
    evictor_->on_migrated(ChunkId{unit});
    migrator_->on_migrated(BlockIndex(unit / kBigPagesPerBlock), unit_mask(unit % kBigPagesPerBlock));
  }
  void leave(ChunkId chunk) {
    chunks_.used[chunk.value] = false;
    evictor_->on_released(chunk);
    migrator_->on_evicted(BlockIndex(chunk.value / kBigPagesPerBlock), unit_mask(chunk.value % kBigPagesPerBlock));
  }
  // Makes room for one unit; returns the first unit that is evicted and how many are evicted with it.
  std::pair<std::uint32_t, int> evict() {
    const ChunkId victim = evictor_->select_victim(chunks_);
    leave(victim);
    int more = 0;
    for (ChunkId early; (early = evictor_->select_early_victim(chunks_)).valid(); ++more) leave(early);
    return {victim.value, more};
  }
  // Returns whether a page that is read rests on the host.
  bool rests() {
    const PageMask page = PageMask::range(0, 1), none;
    return !migrator_
                ->rest({.block = BlockIndex(1),
                        .range = BlockIndex(0),
                        .reads = page,
                        .writes = none,
                        .on_host = page,
                        .memory = {2, 0, true}})
                .pages.empty();
  }

  Chunks chunks_;
  std::shared_ptr<Evictor> evictor_ = built_ins()->find(Slot::kEvict, "uvmsmart").create<Evictor>({}, 1, kUnits);
  std::shared_ptr<Migrator> migrator_ = std::dynamic_pointer_cast<Migrator>(evictor_);
};

TEST_F(UvmSmartRuntime, EvictsBlocksByLruUntilUnitsComeAgainAndThenByTheTree) {
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) come(unit);
  EXPECT_EQ(evict(), std::pair(0u, 31));
  EXPECT_FALSE(rests());
  migrator_->on_kernel(0);
  for (std::uint32_t unit = 0; unit < kBigPagesPerBlock; ++unit) come(unit);
  EXPECT_EQ(evict(), std::pair(32u, 0));  // more than half of every node is left
  EXPECT_FALSE(rests()) << "in order, kernel by kernel";
}

TEST_F(UvmSmartRuntime, WaitsForAccessesOnceUnitsCameInNoOrder) {
  for (std::uint32_t unit = kUnits; unit-- > 0;) come(unit);
  EXPECT_FALSE(rests()) << "nothing was evicted";
  EXPECT_EQ(evict().second, 0) << "by the tree";
  EXPECT_TRUE(rests());
  for (int access = 0; access < 6; ++access) rests();
  EXPECT_FALSE(rests()) << "the eighth access brings it";
}

// A new kernel starts a new sequence: its fetches need not follow those of the kernel before.
TEST_F(UvmSmartRuntime, LooksAtTheOrderWithinAKernel) {
  for (std::uint32_t unit = kBigPagesPerBlock; unit < kUnits; ++unit) come(unit);
  migrator_->on_kernel(0);
  for (std::uint32_t unit = 0; unit < kBigPagesPerBlock; ++unit) come(unit);
  EXPECT_EQ(evict(), std::pair(32u, 31));
  EXPECT_FALSE(rests());
}

}  // namespace
}  // namespace uvmsim::policy
