// SPDX-License-Identifier: Apache-2.0
// Tests of AccessSet: accesses in any order become the extents that a byte-by-byte model has.
#include "sim/import/access_set.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/common/error.h"
#include "sim/import/address_map.h"

namespace uvmsim::trace {
namespace {

using Model = std::map<std::pair<ObjectId, std::uint64_t>, unsigned>;

Model model_of(const std::vector<ObjectAccess>& accesses) {
  Model model;
  ObjectId last_object = 0;
  for (const ObjectAccess& access : accesses) {
    EXPECT_GT(access.object, last_object);
    last_object = access.object;
    std::uint64_t last_end = 0;
    const Extent* before = nullptr;
    for (const Extent& extent : access.extents) {
      EXPECT_GE(extent.first, last_end);
      EXPECT_GT(extent.count, 0u);
      // otherwise they would be joined
      EXPECT_FALSE(before != nullptr && extent.first == last_end && extent.mode == before->mode);
      last_end = extent.first + extent.count;
      before = &extent;
      for (std::uint64_t i = extent.first; i < last_end; ++i) {
        model[{access.object, i}] = static_cast<unsigned>(extent.mode);
      }
    }
  }
  return model;
}

TEST(AccessSet, IsWhatWasAdded) {
  std::uint64_t x = 1;
  const auto random = [&](std::uint64_t bound) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    return (x >> 33) % bound;
  };
  for (int round = 0; round < 50; ++round) {
    AccessSet set;
    Model model;
    const std::uint64_t pieces = round % 10 == 0 ? 9000 : 30;  // the set keeps fewer unsorted
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const ObjectId object = 1 + random(3);
      const std::uint64_t first = random(200), end = first + random(9);
      const auto mode = static_cast<AccessMode>(1 + random(3));
      set.add(object, first, end, mode);
      for (std::uint64_t at = first; at < end; ++at) model[{object, at}] |= static_cast<unsigned>(mode);
    }
    EXPECT_EQ(model_of(set.take()), model);
    EXPECT_TRUE(set.take().empty());
  }
}

TEST(AddressMap, FindsWhatOverlaps) {
  AddressMap map;
  map.insert(1, 4096, 8192);
  map.insert(2, 20480, 4096);
  EXPECT_EQ(map.find(4095).id, kNoObject);
  EXPECT_EQ(map.find(4096).id, 1u);
  EXPECT_EQ(map.find(12287).id, 1u);
  EXPECT_EQ(map.find(12288).id, kNoObject);
  EXPECT_EQ(map.overlapping(0, 1u << 20).size(), 2u);
  EXPECT_EQ(map.overlapping(12288, 8192).size(), 0u);
  EXPECT_THROW(map.insert(3, 24575, 10), InputError);
  EXPECT_THROW(map.insert(3, 0, 0), InputError);
  EXPECT_THROW(map.insert(3, UINT64_MAX, 10), InputError);
  AccessSet set;
  EXPECT_EQ(map.add_accesses(8192, 16384, AccessMode::kWrite, 4096, set), 8192u);
  const auto accesses = set.take();
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].extents[0].first, 1u);
  EXPECT_EQ(accesses[1].extents[0].count, 1u);
  EXPECT_EQ(map.remove(4096).id, 1u);
  EXPECT_EQ(map.remove(4096).id, kNoObject);
}

}  // namespace
}  // namespace uvmsim::trace
