// SPDX-License-Identifier: Apache-2.0
// Compares the tree prefetcher with the naive one on random blocks.
#include <gtest/gtest.h>

#include "sim/common/random.h"
#include "tests/policy/faults.h"
#include "tests/policy/naive_tree.h"

namespace uvmsim::policy {
namespace {

class RandomBlocks {
 public:
  explicit RandomBlocks(std::uint64_t seed) : random_(seed) {}

  unsigned below(unsigned bound) { return static_cast<unsigned>(random_.below(bound)); }

  // Returns a mask of single pages and runs inside [first, end), from empty to nearly full.
  PageMask mask(unsigned first, unsigned end, unsigned most_runs) {
    PageMask mask;
    for (unsigned runs = below(most_runs + 1); runs > 0; --runs) {
      const unsigned page = first + below(end - first);
      const unsigned longest = below(3) == 0 ? 120 : 20;
      mask.set_range(page, std::min(1 + below(longest), end - page));
    }
    return mask;
  }

 private:
  Random random_;
};

void compare(RandomBlocks& random, Prefetcher& tree, unsigned threshold, unsigned first, unsigned end) {
  BlockUnderTest block{tree, first, end};
  block.resident = random.mask(first, end, 12);
  block.thrashing = random.below(3) == 0 ? random.mask(first, end, 4) : PageMask();
  PageMask faulted = random.mask(first, end, 6) - block.resident;
  faulted.set(first + random.below(end - first));
  const FaultedBlock as_given{.block = BlockIndex(7),
                              .first_page = first,
                              .end_page = end,
                              .resident = block.resident,
                              .faulted = faulted,
                              .thrashing = block.thrashing,
                              .now = {}};
  ASSERT_TRUE(block.added(faulted) == naive_tree(as_given, threshold))
      << "pages [" << first << ", " << end << "), threshold " << threshold;
}

TEST(TreeProperty, AgreesWithTheNaiveTreeOnFullBlocks) {
  RandomBlocks random(1);
  const auto tree = prefetcher("tree");
  for (int i = 0; i < 4000 && !::testing::Test::HasFatalFailure(); ++i) compare(random, *tree, 51, 0, kPagesPerBlock);
}

TEST(TreeProperty, AgreesWithTheNaiveTreeOnPartOfABlock) {
  RandomBlocks random(2);
  const auto tree = prefetcher("tree");
  for (int i = 0; i < 4000 && !::testing::Test::HasFatalFailure(); ++i) {
    const unsigned first = random.below(kPagesPerBlock);
    const unsigned longest = random.below(2) == 0 ? kPagesPerBlock : 40;
    compare(random, *tree, 51, first, first + 1 + random.below(std::min(longest, kPagesPerBlock - first)));
  }
}

TEST(TreeProperty, AgreesWithTheNaiveTreeForEveryThreshold) {
  RandomBlocks random(3);
  for (unsigned threshold = 1; threshold <= 100; ++threshold) {
    const auto tree = prefetcher("tree", {{"threshold", std::to_string(threshold)}});
    for (int i = 0; i < 25 && !::testing::Test::HasFatalFailure(); ++i) {
      compare(random, *tree, threshold, random.below(2) * 21, kPagesPerBlock - random.below(2) * 37);
    }
  }
}

TEST(TreeProperty, NeverReturnsFaultedOrThrashingPagesOrPagesOutsideTheBlock) {
  RandomBlocks random(4);
  const auto tree = prefetcher("tree");
  for (int i = 0; i < 2000; ++i) {
    const unsigned first = random.below(256);
    BlockUnderTest block{*tree, first, 512 - random.below(200)};
    block.resident = random.mask(first, block.end_page, 10);
    block.thrashing = random.mask(first, block.end_page, 2);
    const PageMask faulted = random.mask(first, block.end_page, 5);
    const PageMask added = block.added(faulted);
    ASSERT_FALSE(added.intersects(faulted | block.thrashing));
    ASSERT_TRUE(PageMask::range(first, block.end_page - first).contains(added));
  }
}

}  // namespace
}  // namespace uvmsim::policy
