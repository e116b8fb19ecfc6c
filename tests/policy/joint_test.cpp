// Policies that fill several slots: one object for all of them, chosen in all; MIN with bypass and UVMSmart's runtime
// in whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/policy/registry.h"
#include "tests/engine/program.h"
#include "tests/policy/message_of.h"

namespace uvmsim::policy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RunOptions joint_options(const std::string& name, std::uint64_t chunks, const GivenParameters& given = {}) {
  RunOptions options = options_with(chunks);
  for (const Slot slot : default_registry().find(Slot::kEvict, name).slots) options.*choice_of(slot) = {name, given};
  return options;
}

// Fills all four slots and notes what it was asked before the first victim.
class Everywhere final : public Prefetcher, public Evictor, public Planner, public Migrator {
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

  struct Asked {
    int prefetch = 0, plan = 0, migrate = 0;
  };
  static inline int made = 0;
  static inline Asked asked;

 private:
  Asked so_far_;
};

TEST(Joint, OneObjectFillsAllSlots) {
  add_policy<Everywhere>(default_registry(), "everywhere");
  uvmsim::Program program;
  const trace::ObjectId id = program.alloc(4 * kBlockBytes);
  program.host(id);
  program.kernel("k", 1000, {id});
  program.sync();
  program.run(joint_options("everywhere", 2));
  EXPECT_EQ(Everywhere::made, 1);
  EXPECT_GT(Everywhere::asked.prefetch, 0);
  EXPECT_GT(Everywhere::asked.plan, 0);
  EXPECT_GT(Everywhere::asked.migrate, 0);

  RunOptions two_gpus = joint_options("everywhere", 2);
  two_gpus.system.gpus.push_back(two_gpus.system.gpus[0]);
  two_gpus.system.host_links.push_back(two_gpus.system.host_links[0]);
  EXPECT_THAT(message_of([&] { program.run(two_gpus); }), HasSubstr("one prefetcher serves all GPUs of a program: 2"));
}

TEST(Joint, IsChosenInAllOfItsSlotsWithTheSameParameters) {
  PolicyChoices choices;
  choices.evict.name = "min_bypass";
  EXPECT_THAT(message_of([&] { check_choices(choices); }),
              AllOf(HasSubstr("evict policy 'min_bypass' fills several slots, and 'first_touch' is chosen for migrate"),
                    HasSubstr("for evict and migrate")));
  choices.migrate.name = "min_bypass";
  check_choices(choices);
  choices.migrate.parameters = {{"granularity", "64k"}};
  EXPECT_THAT(message_of([&] { check_choices(choices); }), HasSubstr("with the same parameters"));
  choices.evict.name = "lrm";
  EXPECT_THAT(message_of([&] { check_choices(choices); }), HasSubstr("'lrm' is chosen for evict"));
}

// N blocks again and again through memory for C: C of them come and stay, the others are used where they are.
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
  for (const trace::ObjectId id : {first, second, late, first, second, late, late, late})
    program.kernel("k", 1000, {id});
  program.sync();
  // It rests once, and again after both others, which are not used again; then it comes.
  const Counters counters = program.run(joint_options("min_bypass", 2)).counters;
  EXPECT_EQ(counters.remote_access_bytes, 2 * kBlockBytes);
  EXPECT_EQ(bytes_in(counters), 3 * kBlockBytes);
  EXPECT_EQ(counters.evictions, 1u);
}

// One thread goes through six blocks, unit after unit, a kernel per pass.
uvmsim::Program walk_units(int passes, bool descending) {
  constexpr std::uint64_t kUnits = 6 * kBigPagesPerBlock;
  uvmsim::Program program;
  const trace::ObjectId id = program.alloc(kUnits * kBigPageBytes);
  program.host(id);
  for (int pass = 0; pass < passes; ++pass) {
    trace::Kernel& kernel = program.walk("walk", id, 0, program.pages(id));
    kernel.touches.clear();
    for (std::uint64_t i = 0; i < kUnits; ++i) {
      const std::uint64_t unit = descending ? kUnits - 1 - i : i;
      for (std::uint64_t page = 0; page < kPagesPerBigPage; ++page) {
        kernel.touches.push_back({0, unit * kPagesPerBigPage + page, trace::AccessMode::kRead});
      }
    }
  }
  program.sync();
  return program;
}

Counters run_with(const char* evict, const uvmsim::Program& program) {
  RunOptions options = options_with(4);
  if (std::string_view(evict) == "uvmsmart") options = joint_options(evict, 4);
  options.evict.name = evict;
  options.prefetch = {"tree", {{"cascade", "true"}}};
  return program.run(options).counters;
}

TEST(UvmSmartRuntime, EvictsBlocksByLruWhileNothingCameTwice) {
  const uvmsim::Program program = walk_units(1, false);
  const Counters plain = run_with("lru", program), smart = run_with("uvmsmart", program);
  EXPECT_EQ(plain.evictions, 2u);
  EXPECT_EQ(smart.evictions, 2u * kBigPagesPerBlock);
  EXPECT_EQ(bytes_in(smart), bytes_in(plain));
}

TEST(UvmSmartRuntime, EvictsByTheTreeOnceSomethingDid) {
  const uvmsim::Program program = walk_units(4, false);
  const Counters tree = run_with("tree_pre_eviction", program), smart = run_with("uvmsmart", program);
  EXPECT_NE(smart.evictions % kBigPagesPerBlock, 0u);
  EXPECT_LT(smart.faulting_pages, 2 * tree.faulting_pages);
}

TEST(UvmSmartRuntime, WaitsForAccessesWhereUnitsComeInNoOrder) {
  const uvmsim::Program program = walk_units(2, true);
  const Counters tree = run_with("tree_pre_eviction", program), smart = run_with("uvmsmart", program);
  // A lone thread faults on a unit page by page until it has been accessed eight times.
  EXPECT_GT(smart.faulting_pages, 4 * tree.faulting_pages);
}

}  // namespace
}  // namespace uvmsim::policy
