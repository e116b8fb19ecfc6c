// SPDX-License-Identifier: Apache-2.0
#include "sim/common/range_map.h"

#include <gtest/gtest.h>

#include <array>

#include "sim/common/random.h"

namespace uvmsim {
namespace {

TEST(RangeMap, HoldsWhatAnArrayHolds) {
  Random random(51);
  for (unsigned instance = 0; instance < 50; ++instance) {
    RangeMap<int> map;
    std::array<int, 64> array{};
    for (unsigned change = 0; change < 60; ++change) {
      const std::uint64_t first = random.below(array.size()), end = first + random.below(array.size() - first + 1);
      const int value = static_cast<int>(random.below(3));
      map.assign(first, end, value);
      for (std::uint64_t i = first; i < end; ++i) array[i] = value;

      const std::uint64_t from = random.below(array.size()), to = from + random.below(array.size() - from + 1);
      std::uint64_t next = from;
      map.for_each(from, to, [&](std::uint64_t begin, std::uint64_t stop, int held) {
        ASSERT_EQ(begin, next);
        ASSERT_LT(begin, stop);
        for (; next < stop; ++next) ASSERT_EQ(array[next], held);
      });
      ASSERT_EQ(next, to);
      for (std::uint64_t i = 0; i < array.size(); ++i) ASSERT_EQ(map.value(i), array[i]);

      std::uint64_t last_end = 0;
      int last_value = 0;
      map.for_each([&](std::uint64_t begin, std::uint64_t stop, int held) {
        ASSERT_NE(held, 0);
        ASSERT_TRUE(begin > last_end || held != last_value) << "two runs that are one";
        last_end = stop;
        last_value = held;
      });
    }
  }
}

}  // namespace
}  // namespace uvmsim
