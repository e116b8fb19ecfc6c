// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/chunk_list.h"

#include <gtest/gtest.h>

namespace uvmsim::policy {
namespace {

std::vector<std::uint32_t> forwards(const ChunkLists& lists, std::uint32_t list) {
  std::vector<std::uint32_t> order;
  for (ChunkId chunk = lists.front(list); chunk.valid(); chunk = lists.next(chunk)) order.push_back(chunk.value);
  return order;
}
std::vector<std::uint32_t> backwards(const ChunkLists& lists, std::uint32_t list) {
  std::vector<std::uint32_t> order;
  for (ChunkId chunk = lists.back(list); chunk.valid(); chunk = lists.previous(chunk)) order.push_back(chunk.value);
  return order;
}
using Order = std::vector<std::uint32_t>;

TEST(ChunkLists, StartEmpty) {
  const ChunkLists lists(3, 2);
  EXPECT_TRUE(lists.empty(0));
  EXPECT_TRUE(lists.empty(1));
  EXPECT_FALSE(lists.front(0).valid());
  EXPECT_FALSE(lists.back(1).valid());
  EXPECT_FALSE(lists.contains(ChunkId{2}));
}

TEST(ChunkLists, HoldStateOnlyForChunksThatWereOnOne) {
  ChunkLists lists(0xfffffff0, 2);
  EXPECT_FALSE(lists.contains(ChunkId{0xffffffef}));
  lists.remove(ChunkId{0xffffffef});
  lists.move_to_back(1, ChunkId{5});
  lists.move_to_front(1, ChunkId{9});
  EXPECT_EQ(forwards(lists, 1), (Order{9, 5}));
  EXPECT_FALSE(lists.contains(ChunkId{7}));
}

TEST(ChunkLists, KeepOrderBothWays) {
  ChunkLists lists(4);
  lists.move_to_back(0, ChunkId{2});
  lists.move_to_back(0, ChunkId{0});
  lists.move_to_front(0, ChunkId{3});
  EXPECT_EQ(forwards(lists, 0), (Order{3, 2, 0}));
  EXPECT_EQ(backwards(lists, 0), (Order{0, 2, 3}));
  lists.move_to_back(0, ChunkId{2});
  lists.move_to_front(0, ChunkId{3});
  EXPECT_EQ(forwards(lists, 0), (Order{3, 0, 2}));
  lists.remove(ChunkId{0});
  lists.remove(ChunkId{0});
  EXPECT_EQ(backwards(lists, 0), (Order{2, 3}));
  EXPECT_FALSE(lists.contains(ChunkId{0}));
  EXPECT_TRUE(lists.contains(ChunkId{3}));
}

TEST(ChunkLists, AChunkIsOnOneListAtATime) {
  ChunkLists lists(3, 2);
  lists.move_to_back(0, ChunkId{0});
  lists.move_to_back(0, ChunkId{1});
  lists.move_to_front(1, ChunkId{0});
  EXPECT_EQ(forwards(lists, 0), (Order{1}));
  EXPECT_EQ(forwards(lists, 1), (Order{0}));
  lists.move_to_back(1, ChunkId{1});
  EXPECT_TRUE(lists.empty(0));
  EXPECT_EQ(forwards(lists, 1), (Order{0, 1}));
}

TEST(ChunkLists, ACheckedBuildNamesAChunkThatDoesNotExist) {
  if constexpr (kModelChecks) {
    ChunkLists lists(3);
    EXPECT_THROW(lists.remove(ChunkId{}), ModelError);
    EXPECT_THROW(lists.move_to_back(0, ChunkId{3}), ModelError);
    EXPECT_THROW(lists.move_to_back(1, ChunkId{0}), ModelError);
  }
}

}  // namespace
}  // namespace uvmsim::policy
