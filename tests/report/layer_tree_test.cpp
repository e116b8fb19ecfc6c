// SPDX-License-Identifier: Apache-2.0
#include "sim/report/layer_tree.h"

#include <gtest/gtest.h>

namespace uvmsim::report {
namespace {

HostRangeEvent push(const char* name, std::uint64_t record) { return {RangeEdge::kPush, name, 0, record}; }
HostRangeEvent pop(std::uint64_t record) { return {RangeEdge::kPop, "", 0, record}; }

TEST(LayerTree, RecordsLieInTheInnermostOpenRange) {
  LayerTree tree;
  tree.mark(push("model", 3));
  tree.mark(push("conv", 5));
  tree.mark(pop(8));
  tree.mark(pop(10));
  EXPECT_EQ(tree.at(2).layer, 0u);
  EXPECT_EQ(tree.path(tree.at(4).layer), "model");
  EXPECT_EQ(tree.path(tree.at(7).layer), "model / conv");
  EXPECT_EQ(tree.path(tree.at(9).layer), "model");
  EXPECT_EQ(tree.at(11).layer, 0u);
  EXPECT_EQ(tree.path(0), "");
}

TEST(LayerTree, TheSameNameInTheSamePlaceIsTheSameLayer) {
  LayerTree tree;
  tree.mark(push("a", 1));
  tree.mark(push("x", 2));
  tree.mark(pop(3));
  tree.mark(pop(4));
  tree.mark(push("a", 5));
  tree.mark(push("x", 6));
  const std::uint32_t again = tree.now().layer;
  tree.mark(pop(7));
  tree.mark(pop(8));
  tree.mark(push("x", 9));
  EXPECT_EQ(tree.at(2).layer, again);
  EXPECT_NE(tree.now().layer, again);
  EXPECT_EQ(tree.layers().size(), 4u);  // root, a, a / x, x
}

TEST(LayerTree, IterationsBeginAndEndAcrossRanges) {
  LayerTree tree;
  tree.mark({RangeEdge::kIterationBegin, "", 7, 10});
  tree.mark(push("a", 11));
  tree.mark({RangeEdge::kIterationEnd, "", 7, 20});
  EXPECT_EQ(tree.at(9).iteration, kNoIteration);
  EXPECT_EQ(tree.at(15).iteration, 7);
  EXPECT_EQ(tree.at(21).iteration, kNoIteration);
  EXPECT_EQ(tree.path(tree.at(21).layer), "a");
}

TEST(LayerTree, AnEndWithoutABeginningChangesNothing) {
  LayerTree tree;
  tree.mark(pop(1));
  tree.mark(pop(2));
  EXPECT_EQ(tree.now().layer, 0u);
}

}  // namespace
}  // namespace uvmsim::report
