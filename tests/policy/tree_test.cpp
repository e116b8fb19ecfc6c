// SPDX-License-Identifier: Apache-2.0
// Compares the tree prefetcher with examples worked out by hand from the driver's rules.
#include <gtest/gtest.h>

#include <vector>

#include "tests/policy/faults.h"

namespace uvmsim::policy {
namespace {

struct Step {
  PageMask faulted;
  PageMask moved;
};

class TreeTest : public ::testing::Test {
 protected:
  void expect_steps(BlockUnderTest block, const std::vector<Step>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_TRUE(block.service(steps[i].faulted) == steps[i].moved) << "step " << i;
    }
  }
  BlockUnderTest block_of(unsigned pages) { return {*tree_, 0, pages}; }
  BlockUnderTest full_block() { return block_of(kPagesPerBlock); }
  static PageMask range(unsigned first, unsigned end) { return PageMask::range(first, end - first); }
  // Returns `count` pages from `first` on, `step` apart.
  static PageMask every(unsigned first, unsigned step, unsigned count) {
    PageMask mask;
    for (unsigned i = 0; i < count; ++i) mask.set(first + i * step);
    return mask;
  }

  std::shared_ptr<Prefetcher> tree_ = prefetcher("tree");
};

TEST_F(TreeTest, FaultsOnTheFirstMissingPageDoubleUpToTheBlock) {
  expect_steps(full_block(), {{mask_of({0}), range(0, 16)},
                              {mask_of({16}), range(16, 32)},
                              {mask_of({32}), range(32, 64)},
                              {mask_of({64}), range(64, 128)},
                              {mask_of({128}), range(128, 256)},
                              {mask_of({256}), range(256, 512)}});
}

// uvm_perf_prefetch_threshold=0 is legal: any page exceeds it.
TEST_F(TreeTest, WithThresholdZeroAFaultBringsItsBlock) {
  tree_ = prefetcher("tree", {{"threshold", "0"}});
  expect_steps(full_block(), {{mask_of({300}), range(0, 512)}});
  expect_steps(block_of(100), {{mask_of({7}), range(0, 100)}});
}

TEST_F(TreeTest, ScatteredFaultsBringTheirUnitsOnly) {
  expect_steps(full_block(),
               {{mask_of({300}), range(288, 304)}, {mask_of({5}), range(0, 16)}, {mask_of({511}), range(496, 512)}});
  expect_steps(full_block(), {{mask_of({0, 32}), range(0, 16) | range(32, 48)}});
  expect_steps(full_block(), {{mask_of({7, 100, 200, 333, 480}),
                               range(0, 16) | range(96, 112) | range(192, 208) | range(320, 336) | range(480, 496)}});
}

TEST_F(TreeTest, FaultsOfOneBatchCountTogether) {
  expect_steps(full_block(), {{mask_of({0, 16, 32}), range(0, 64)}});
  expect_steps(full_block(), {{every(0, 16, 16), range(0, 256)}, {mask_of({256}), range(256, 512)}});
}

TEST_F(TreeTest, EveryOtherUnitStaysBelowTheThresholdUntilOneMoreComes) {
  const PageMask alternate = every(0, 32, 16);
  expect_steps(full_block(), {{alternate, alternate.grown_to_big_pages()}});
  expect_steps(full_block(), {{alternate | mask_of({16}), range(0, 512)}});
}

TEST_F(TreeTest, AFullBatchOfOnePageEachNeedsNoPrefetch) {
  BlockUnderTest block = full_block();
  EXPECT_TRUE(block.added(range(0, 256)).empty());
  expect_steps(block, {{range(0, 256), range(0, 256)}, {range(256, 261), range(256, 512)}});
}

TEST_F(TreeTest, BackwardsIsTheMirrorImage) {
  expect_steps(full_block(), {{mask_of({511}), range(496, 512)},
                              {mask_of({495}), range(480, 496)},
                              {mask_of({479}), range(448, 480)},
                              {mask_of({447}), range(384, 448)},
                              {mask_of({383}), range(256, 384)},
                              {mask_of({255}), range(0, 256)}});
}

TEST_F(TreeTest, AThrashingPageKeepsItsUnitFromGrowing) {
  BlockUnderTest block = full_block();
  block.thrashing = mask_of({3});
  expect_steps(block, {{mask_of({0}), mask_of({0})}, {mask_of({3}), mask_of({3})}});
  // A neighbouring fault may still add the rest of that unit: 18 of 32 pages are present.
  block.resident = mask_of({0, 4});
  expect_steps(block, {{mask_of({16}), range(0, 32) - mask_of({0, 3, 4})}});
}

TEST_F(TreeTest, InAThrashingUnitTheTreeReachesDownToSinglePages) {
  BlockUnderTest block = full_block();
  block.thrashing = mask_of({0});
  block.resident = mask_of({8, 9, 10});
  // Five of pages 8 to 15 are present, so that node is dense; five of the 16 pages of the unit are too few.
  expect_steps(block, {{mask_of({11, 12}), mask_of({11, 12, 13, 14, 15})}});
}

TEST_F(TreeTest, SmallBlocksHaveSmallTrees) {
  expect_steps(block_of(256), {{mask_of({0}), range(0, 16)},
                               {mask_of({16}), range(16, 32)},
                               {mask_of({32}), range(32, 64)},
                               {mask_of({64}), range(64, 128)},
                               {mask_of({128}), range(128, 256)}});
  expect_steps(block_of(24), {{mask_of({0}), range(0, 24)}});
  expect_steps(block_of(10), {{mask_of({3}), range(0, 10)}});
  expect_steps(block_of(32), {{mask_of({0}), range(0, 16)}, {mask_of({16}), range(16, 32)}});
}

TEST_F(TreeTest, AnEmptyBlockOnItsPreferredLocationComesWhole) {
  BlockUnderTest block = full_block();
  block.preferred = true;
  expect_steps(block, {{mask_of({300}), range(0, 512)}});
  block.resident = mask_of({0});
  expect_steps(block, {{mask_of({300}), range(288, 304)}});
  block.resident = {};
  block.first_page = 100;
  block.end_page = 200;
  expect_steps(block, {{mask_of({150}), range(100, 200)}});
}

// Pages [40, 512): 64 KB units begin at page 48; leaf 0 of the tree is page 32.
TEST_F(TreeTest, ABlockThatBeginsInsideAUnitAlignsItsTreeToUnits) {
  BlockUnderTest block{*tree_, 40, 512};
  expect_steps(block, {{mask_of({50}), range(48, 64)}, {mask_of({70}), range(64, 80)}});
  // Prefix and suffix are units of their own.
  expect_steps(block, {{mask_of({44}), range(40, 48)}});
  block.end_page = 500;
  expect_steps(block, {{mask_of({499}), range(496, 500)}});
}

// Pages [42, 512): the node [8, 16) around the 6 pages of the prefix begins before leaf 10, the first real one. The
// driver then begins the region at its 10th page, behind the region's end: no prefetch.
TEST_F(TreeTest, TheDriversCutDropsAnUnalignedPrefix) {
  const BlockUnderTest block{*tree_, 42, 512};
  expect_steps(block, {{mask_of({44}), mask_of({44})}});
  BlockUnderTest dense = block;
  dense.resident = range(48, 64);
  // Leaves [0, 32) are dense (22 of 32): the tree takes pages up to 64, but only from page 42 + 10 on.
  EXPECT_TRUE(dense.added(mask_of({44})) == range(52, 64));
}

TEST_F(TreeTest, ABlockWithoutAWholeUnitIsOneUnit) {
  const BlockUnderTest block{*tree_, 10, 30};
  expect_steps(block, {{mask_of({12}), range(10, 30)}});
  BlockUnderTest thrashing = block;
  thrashing.thrashing = mask_of({29});
  expect_steps(thrashing, {{mask_of({12}), mask_of({12})}});
}

TEST_F(TreeTest, TheThresholdIsStrict) {
  const auto half = prefetcher("tree", {{"threshold", "50"}});
  BlockUnderTest block{*half};
  EXPECT_TRUE(block.service(mask_of({0})) == range(0, 16)) << "16 of 32 are not more than 50 percent";
  const auto less = prefetcher("tree", {{"threshold", "49"}});
  BlockUnderTest eager{*less};
  EXPECT_TRUE(eager.service(mask_of({0})) == range(0, 32)) << "but more than 49";
  const auto never = prefetcher("tree", {{"threshold", "100"}});
  BlockUnderTest lazy{*never};
  EXPECT_TRUE(lazy.added(range(0, 511)).empty());
}

TEST_F(TreeTest, MinFaultsCountsFaultedPagesPerBlockAndDestination) {
  const auto patient = prefetcher("tree", {{"min_faults", "3"}});
  BlockUnderTest block{*patient};
  EXPECT_TRUE(block.added(mask_of({0})).empty());
  EXPECT_TRUE(block.added(mask_of({20})).empty());
  EXPECT_FALSE(block.added(mask_of({40})).empty());
  block.to_host = true;
  EXPECT_TRUE(block.added(mask_of({0, 1})).empty());
  EXPECT_FALSE(block.added(mask_of({20})).empty());
  patient->on_freed(BlockIndex(7));
  EXPECT_TRUE(block.added(mask_of({0})).empty());
}

}  // namespace
}  // namespace uvmsim::policy
