// SPDX-License-Identifier: Apache-2.0
// Correlations of page orders whose values are known in closed form.
#include "sim/validate/page_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace uvmsim::validate {
namespace {

std::vector<std::uint64_t> pages(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}
std::vector<std::uint64_t> reversed(std::vector<std::uint64_t> pages) {
  std::ranges::reverse(pages);
  return pages;
}
PageOrder compared(const PagesByBatch& measured, const PagesByBatch& simulated) {
  return compare_page_order(measured, simulated).value();
}

TEST(PageOrder, IsOneForTheSameOrderAndMinusOneForTheReverse) {
  const PagesByBatch measured{pages(0, 10), pages(10, 10)};
  const PageOrder same = compared(measured, {pages(0, 3), pages(3, 17)});
  EXPECT_EQ(same.pages, 20u);
  EXPECT_DOUBLE_EQ(same.all, 1);
  EXPECT_DOUBLE_EQ(same.within_batches.value(), 1);
  const PageOrder reverse = compared(measured, {reversed(pages(0, 20))});
  EXPECT_DOUBLE_EQ(reverse.all, -1);
  EXPECT_DOUBLE_EQ(reverse.within_batches.value(), -1);
}

TEST(PageOrder, TellsTheOrderOfBatchesFromThatWithinThem) {
  // Batches of 10 pages in the same order, each reversed within itself: the differences of ranks are 9, 7, ..., -9.
  const PageOrder within = compared({pages(0, 10), pages(10, 10)}, {reversed(pages(0, 10)), reversed(pages(10, 10))});
  EXPECT_DOUBLE_EQ(within.within_batches.value(), -1);
  EXPECT_DOUBLE_EQ(within.all, 1 - 6.0 * (2 * 330) / (20 * (20 * 20 - 1)));
  // The two batches in the other order: every rank differs by 10.
  const PageOrder across = compared({pages(0, 10), pages(10, 10)}, {pages(10, 10), pages(0, 10)});
  EXPECT_DOUBLE_EQ(across.within_batches.value(), 1);
  EXPECT_DOUBLE_EQ(across.all, 1 - 6.0 * (20 * 100) / (20 * (20 * 20 - 1)));
}

TEST(PageOrder, IsOfPagesThatBothSidesRaised) {
  // Two neighbours are exchanged.
  const PageOrder order = compared({{90, 0, 1, 2, 3}, {4, 5, 6, 7, 91}}, {{0, 2}, {92, 1, 3, 4, 5, 6, 7}});
  EXPECT_EQ(order.pages, 8u);
  EXPECT_DOUBLE_EQ(order.all, 1 - 6.0 * 2 / (8 * (8 * 8 - 1)));
  EXPECT_FALSE(order.within_batches) << "no batch has eight pages";
  EXPECT_FALSE(compare_page_order({pages(0, 8)}, {pages(1, 8)})) << "seven in common";
  EXPECT_FALSE(compare_page_order({}, {{2, 3}}));
}

TEST(PageOrder, WithinBatchesIsTheMedianOfThem) {
  const std::vector<std::uint64_t> a = pages(0, 8), b = pages(8, 8), c = pages(16, 8);
  EXPECT_DOUBLE_EQ(compared({a, b, c}, {reversed(a), b, c}).within_batches.value(), 1);
  EXPECT_DOUBLE_EQ(compared({a, b, c}, {reversed(a), b, reversed(c)}).within_batches.value(), -1);
  EXPECT_DOUBLE_EQ(compared({a, b}, {reversed(a), b}).within_batches.value(), 0);
}

}  // namespace
}  // namespace uvmsim::validate
