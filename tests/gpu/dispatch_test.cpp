// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace uvmsim::gpu {
namespace {

std::map<int, int> sms_per_gpc(const std::vector<std::uint8_t>& order) {
  std::map<int, int> count;
  for (const std::uint8_t gpc : order) ++count[gpc];
  return count;
}

// Measured on an H100 and an H200.
TEST(Dispatch, AGridThatFillsAHopperGoesGpcByGpc) {
  const auto order = gpcs_in_order_of_dispatch(132, 8, 132);
  ASSERT_EQ(order.size(), 132u);
  const std::map<int, int> measured = {{0, 18}, {1, 16}, {2, 16}, {3, 16}, {4, 16}, {5, 16}, {6, 16}, {7, 18}};
  EXPECT_EQ(sms_per_gpc(order), measured);
  std::vector<std::uint8_t> runs = order;
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  EXPECT_EQ(runs, (std::vector<std::uint8_t>{1, 7, 1, 2, 3, 4, 5, 6, 0}));
}

TEST(Dispatch, ASmallerOneGoesToAllGpcsInTurn) {
  const auto order = gpcs_in_order_of_dispatch(132, 8, 16);
  EXPECT_EQ(std::vector<std::uint8_t>(order.begin() + 8, order.begin() + 16),
            (std::vector<std::uint8_t>{7, 1, 2, 3, 4, 5, 6, 0}));
}

TEST(Dispatch, EverySmOfAnyGpuHasItsPlace) {
  for (std::uint32_t sms = 1; sms < 200; ++sms) {
    for (std::uint32_t gpcs = 1; gpcs <= 12; ++gpcs) {
      for (const std::uint64_t blocks : {std::uint64_t{1}, std::uint64_t{100000}}) {
        const auto order = gpcs_in_order_of_dispatch(sms, gpcs, blocks);
        ASSERT_EQ(order.size(), sms) << gpcs << " GPCs";
        ASSERT_LT(*std::max_element(order.begin(), order.end()), gpcs);
      }
    }
  }
}

}  // namespace
}  // namespace uvmsim::gpu
