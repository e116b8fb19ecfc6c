// SPDX-License-Identifier: Apache-2.0
#include "sim/advise/least_used.h"

#include <gtest/gtest.h>

#include <limits>

namespace uvmsim::advise {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Object object(trace::ObjectId id, std::uint64_t bytes, std::uint64_t touched_bytes) {
  Object made;
  made.id = id;
  made.bytes = bytes;
  made.kernels = 1;
  made.touched_bytes = touched_bytes;
  return made;
}

TEST(LeastUsed, TakesTheColdestFirstAndNoMoreThanItNeeds) {
  Memory memory;
  memory.objects = {object(1, 10 * kMiB, 100 * kMiB), object(2, 20 * kMiB, 20 * kMiB), object(3, 10 * kMiB, 20 * kMiB)};
  EXPECT_TRUE(least_used(memory, 0, Pieces::kParts).empty());
  const Part second{&memory.objects[1]}, third{&memory.objects[2]}, first{&memory.objects[0]};
  EXPECT_EQ(least_used(memory, 1, Pieces::kParts), std::vector<Part>{second});
  EXPECT_EQ(least_used(memory, 20 * kMiB, Pieces::kParts), std::vector<Part>{second});
  EXPECT_EQ(least_used(memory, 20 * kMiB + 1, Pieces::kParts), (std::vector<Part>{second, third}));
  EXPECT_EQ(least_used(memory, std::numeric_limits<std::uint64_t>::max(), Pieces::kParts),
            (std::vector<Part>{first, second, third}));
}

// The tenth and the twentieth part are hot. Adjacent cold parts become one.
TEST(LeastUsed, KeepsTheHotPartsOfALargeObject) {
  Memory memory;
  memory.objects = {object(7, 200 * kMiB, 60 * kMiB)};
  memory.objects[0].touched_by_part[9] = memory.objects[0].touched_by_part[19] = 30 * kMiB;
  const std::vector<Part> parts = least_used(memory, 180 * kMiB, Pieces::kParts);
  EXPECT_EQ(parts, (std::vector<Part>{{&memory.objects[0], 0, 45}, {&memory.objects[0], 50, 95}}));
  EXPECT_EQ(parts[0].bytes() + parts[1].bytes(), 180 * kMiB);
  EXPECT_EQ(least_used(memory, 180 * kMiB, Pieces::kWholeObjects), std::vector<Part>{{&memory.objects[0]}});
}

// Small tensors share blocks with others.
TEST(LeastUsed, LeavesSmallObjectsOut) {
  Memory memory;
  memory.objects = {object(1, 2 * kMiB - 1, 0), object(2, 2 * kMiB, 4 * kMiB)};
  EXPECT_EQ(least_used(memory, 4 * kMiB, Pieces::kWholeObjects), std::vector<Part>{{&memory.objects[1]}});
}

// Memory that is freed within an iteration is no object, unless the program ends there.
TEST(LeastUsed, KnowsWhatLivesOn) {
  using trace::RangeKind;
  const auto begin = trace::Range{RangeKind::kIterationBegin, "", 0},
             end = trace::Range{RangeKind::kIterationEnd, "", 0};
  const auto alloc = [](trace::ObjectId id) {
    return trace::ObjectAlloc{id, trace::ObjectKind::kManaged, 4 * kMiB, 0, 0};
  };
  const auto use = [](trace::ObjectId id) {
    trace::Kernel kernel;
    kernel.accesses.push_back({id, {{0, 1, trace::AccessMode::kRead}}});
    return kernel;
  };
  // 1 is a weight, 2 and 3 live in one iteration each, 4 is allocated in the first and freed in the second, of three.
  const std::vector<trace::Record> records{alloc(1),
                                           begin,
                                           alloc(2),
                                           use(1),
                                           use(2),
                                           trace::ObjectFree{2},
                                           alloc(4),
                                           use(4),
                                           end,
                                           begin,
                                           use(1),
                                           trace::ObjectFree{4},
                                           end,
                                           begin,
                                           alloc(3),
                                           use(3),
                                           use(1),
                                           trace::ObjectFree{3},
                                           trace::ObjectFree{1},
                                           end};
  std::size_t next = 0;
  const Memory memory = read_memory(4096, [&](trace::Record& record) {
    if (next == records.size()) return false;
    record = records[next++];
    return true;
  });
  ASSERT_EQ(memory.objects.size(), 1);
  EXPECT_EQ(memory.objects[0].id, 1);
}

// Counts agree with a count of single quanta, whatever the extents.
TEST(LeastUsed, CountsWhatEachPartIsTouched) {
  constexpr std::uint32_t kQuantum = 4096;
  constexpr std::uint64_t kBytes = 41 * kMiB, kQuanta = kBytes / kQuantum;
  trace::Kernel kernel;
  kernel.accesses.push_back({1,
                             {{0, 3, trace::AccessMode::kRead},
                              {500, 4000, trace::AccessMode::kWrite},
                              {kQuanta - 1, 1, trace::AccessMode::kRead}}});
  std::vector<trace::Record> records{trace::ObjectAlloc{1, trace::ObjectKind::kManaged, kBytes, 0, 0}, kernel};
  std::size_t next = 0;
  const Memory memory = read_memory(kQuantum, [&](trace::Record& record) {
    if (next == records.size()) return false;
    record = records[next++];
    return true;
  });
  ASSERT_EQ(memory.objects.size(), 1);
  std::array<std::uint64_t, Object::kParts> expected{};
  for (const trace::Extent& extent : kernel.accesses[0].extents) {
    for (std::uint64_t byte = extent.first * kQuantum; byte < (extent.first + extent.count) * kQuantum; ++byte) {
      ++expected[byte * Object::kParts / kBytes];
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(memory.objects[0].touched_by_part[i]), static_cast<double>(expected[i]), 1) << i;
  }
  EXPECT_EQ(memory.objects[0].touched_bytes, 4004 * kQuantum);
}

}  // namespace
}  // namespace uvmsim::advise
