// SPDX-License-Identifier: Apache-2.0
// The simple prefetchers: none and sequential.
#include <gtest/gtest.h>

#include "tests/policy/faults.h"

namespace uvmsim::policy {
namespace {

TEST(None, BringsNothingByDefault) {
  const auto none = prefetcher("none");
  BlockUnderTest block{*none};
  EXPECT_TRUE(block.service(mask_of({0, 77})) == mask_of({0, 77}));
}

TEST(None, BringsTheChosenUnit) {
  const auto big_pages = prefetcher("none", {{"granularity", "64k"}});
  BlockUnderTest block{*big_pages};
  EXPECT_TRUE(block.service(mask_of({0, 77})) == (PageMask::range(0, 16) | PageMask::range(64, 16)));
  block.thrashing = mask_of({100});
  EXPECT_TRUE(block.service(mask_of({97, 200})) == (mask_of({97}) | PageMask::range(192, 16)));

  const auto whole = prefetcher("none", {{"granularity", "2m"}});
  BlockUnderTest tail{*whole, 0, 100};
  EXPECT_TRUE(tail.service(mask_of({50})) == PageMask::range(0, 100));
}

TEST(Sequential, BringsTheUnitAndThoseAhead) {
  const auto local = prefetcher("sequential");
  BlockUnderTest block{*local};
  EXPECT_TRUE(block.service(mask_of({17, 30, 511})) == (PageMask::range(16, 16) | PageMask::range(496, 16)));

  const auto ahead = prefetcher("sequential", {{"units_ahead", "2"}});
  BlockUnderTest other{*ahead};
  EXPECT_TRUE(other.service(mask_of({17})) == PageMask::range(16, 48));
  EXPECT_TRUE(other.service(mask_of({490})) == PageMask::range(480, 32)) << "stops at the end of the block";
  other.thrashing = mask_of({130});
  EXPECT_TRUE(other.service(mask_of({128})) == PageMask::range(128, 48) - mask_of({130}));
}

TEST(Sequential, AFullSweepOfABlockTakes32Faults) {
  const auto local = prefetcher("sequential");
  BlockUnderTest block{*local};
  unsigned faults = 0;
  for (unsigned page = 0; page < kPagesPerBlock; page = block.resident.next_clear(page)) {
    block.service(mask_of({page}));
    ++faults;
  }
  EXPECT_EQ(faults, 32u);
}

}  // namespace
}  // namespace uvmsim::policy
