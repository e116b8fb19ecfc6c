// SPDX-License-Identifier: Apache-2.0
#include "sim/report/page_owners.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/common/random.h"

namespace uvmsim::report {
namespace {

struct Stretch {
  std::uint32_t owner;
  std::uint64_t first, count;
  bool operator==(const Stretch&) const = default;
};

std::vector<Stretch> runs(const PageOwners& owners, std::uint64_t first, std::uint64_t end) {
  std::vector<Stretch> out;
  owners.for_each(first, end, [&](std::uint32_t owner, std::uint64_t at, std::uint64_t count) {
    out.push_back({owner, at, count});
  });
  return out;
}

TEST(PageOwners, NobodyOwnsAPageAtFirst) {
  const PageOwners owners;
  EXPECT_EQ(owners.at(0), 0u);
  EXPECT_EQ(runs(owners, 5, 1000), (std::vector<Stretch>{{0, 5, 995}}));
  EXPECT_TRUE(runs(owners, 7, 7).empty());
}

TEST(PageOwners, APartOfAnAllocationMayBelongToAnother) {
  PageOwners owners;
  owners.set(0, 1ull << 40, 1);
  owners.set(512, 520, 2);
  EXPECT_EQ(runs(owners, 500, 600), (std::vector<Stretch>{{1, 500, 12}, {2, 512, 8}, {1, 520, 80}}));
  owners.set(512, 520, 1);
  EXPECT_EQ(runs(owners, 500, 600), (std::vector<Stretch>{{1, 500, 100}}));
  owners.set(0, 1ull << 40, 0);
  EXPECT_EQ(runs(owners, 0, 1ull << 41), (std::vector<Stretch>{{0, 0, 1ull << 41}}));
}

TEST(PageOwners, AnyOrderOfChangesIsThatOfAnArray) {
  constexpr std::uint64_t kPages = 64;
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    PageOwners owners;
    std::vector<std::uint32_t> expected(kPages);
    for (int change = 0; change < 30; ++change) {
      const std::uint64_t first = random.below(kPages), end = first + random.below(kPages - first + 1);
      const auto owner = static_cast<std::uint32_t>(random.below(3));
      owners.set(first, end, owner);
      for (std::uint64_t page = first; page < end; ++page) expected[page] = owner;
      std::vector<Stretch> in_array;
      for (std::uint64_t page = 0; page < kPages; ++page) {
        if (page == 0 || expected[page] != expected[page - 1]) in_array.push_back({expected[page], page, 0});
        ++in_array.back().count;
        ASSERT_EQ(owners.at(page), expected[page]);
      }
      ASSERT_EQ(runs(owners, 0, kPages), in_array);
    }
  }
}

}  // namespace
}  // namespace uvmsim::report
