// SPDX-License-Identifier: Apache-2.0
// Checks which bytes a map covers.
#include "tracer/maps/tensor_map.h"

#include <gtest/gtest.h>

#include <set>

namespace uvmtrace::maps_test {
namespace {

TensorMap map_of(std::vector<std::uint64_t> dims, std::vector<std::uint64_t> strides, std::vector<std::uint32_t> box) {
  TensorMap out;
  out.va = 0x7f0000000000;
  out.element_bits = 32;
  out.rank = static_cast<std::uint32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), out.dims.begin());
  std::copy(strides.begin(), strides.end(), out.strides.begin());
  std::copy(box.begin(), box.end(), out.box.begin());
  return out;
}

// Returns the addresses of the map's elements, computed one by one.
std::set<std::uint64_t> addresses(const TensorMap& map, std::uint64_t boxes = ~0ull) {
  std::set<std::uint64_t> out;
  std::uint64_t at[5] = {};
  const std::uint64_t along[2] = {(map.dims[0] + map.box[0] - 1) / map.box[0],
                                  map.rank > 1 ? (map.dims[1] + map.box[1] - 1) / map.box[1] : 1};
  for (;;) {
    const std::uint64_t box = at[0] / map.box[0] + (map.rank > 1 ? at[1] / map.box[1] * along[0] : 0);
    std::uint64_t va = map.va + at[0] * 4;
    for (std::uint32_t d = 1; d < map.rank; ++d) va += at[d] * map.strides[d - 1];
    if (box < boxes) out.insert(va);
    std::uint32_t d = 0;
    while (d < map.rank && ++at[d] == map.dims[d]) at[d++] = 0;
    if (d == map.rank) return out;
  }
}

std::set<std::uint64_t> addresses(const std::vector<ByteRun>& runs) {
  std::set<std::uint64_t> out;
  for (const ByteRun& run : runs) {
    for (std::uint64_t i = 0; i < run.bytes; i += 4) out.insert(run.va + i);
  }
  return out;
}

TEST(TensorMap, RunsAreTheElements) {
  for (const TensorMap& map : {map_of({100}, {}, {64}), map_of({10, 7}, {64}, {4, 2}), map_of({16, 7}, {64}, {16, 2}),
                               map_of({8, 5, 3}, {64, 48}, {8, 1, 1}),  // rows that interleave
                               map_of({4, 3, 2, 2}, {1024, 16, 4096}, {4, 1, 1, 1}),
                               map_of({4, 3, 2, 2, 3}, {0, 16, 4096, 64}, {4, 1, 1, 1, 1})}) {
    const MapRuns runs = runs_of(map, 1, 1000);
    EXPECT_TRUE(runs.whole);
    EXPECT_EQ(addresses(runs.runs), addresses(map));
    for (std::size_t i = 1; i < runs.runs.size(); ++i) {
      EXPECT_GT(runs.runs[i].va, runs.runs[i - 1].va + runs.runs[i - 1].bytes);
    }
  }
}

TEST(TensorMap, GapsAndTooManyRuns) {
  const TensorMap map = map_of({10, 1000}, {1024}, {10, 1});
  EXPECT_EQ(runs_of(map, 512, 1000).runs.size(), 1000u);
  const MapRuns closed = runs_of(map, 512, 999);
  EXPECT_FALSE(closed.whole);
  EXPECT_EQ(closed.runs, (std::vector<ByteRun>{{map.va, 999 * 1024 + 40}}));
  EXPECT_TRUE(runs_of(map, 1024, 10).whole);
  EXPECT_EQ(span_bytes(map), 999u * 1024 + 40);
}

TEST(TensorMap, FirstBoxes) {
  const TensorMap map = map_of({10, 7}, {64}, {4, 2});
  EXPECT_EQ(box_count(map), 12u);
  for (std::uint64_t boxes = 1; boxes <= 12; ++boxes) {
    std::set<std::uint64_t> found;
    for (const TensorMap& part : first_boxes(map, boxes)) found.merge(addresses(part));
    EXPECT_EQ(found, addresses(map, boxes)) << boxes;
  }
}

TEST(TensorMap, Impossible) {
  const TensorMap good = map_of({16, 7}, {64}, {16, 2});
  EXPECT_TRUE(is_possible(good));
  const auto change = [&](auto&& f) {
    TensorMap map = good;
    f(map);
    return is_possible(map);
  };
  EXPECT_FALSE(change([](TensorMap& m) { m.rank = 0; }));
  EXPECT_FALSE(change([](TensorMap& m) { m.rank = 6; }));
  EXPECT_FALSE(change([](TensorMap& m) { m.va += 8; }));
  EXPECT_FALSE(change([](TensorMap& m) { m.dims[1] = 0; }));
  EXPECT_FALSE(change([](TensorMap& m) { m.dims[1] = (1ull << 32) + 1; }));
  EXPECT_FALSE(change([](TensorMap& m) { m.strides[0] = 24; }));
  EXPECT_FALSE(change([](TensorMap& m) { m.strides[0] = 1ull << 40; }));
  EXPECT_FALSE(change([](TensorMap& m) { m.box[0] = 257; }));
  EXPECT_FALSE(change([](TensorMap& m) { m.box[0] = 3; }));
  TensorMap huge = map_of({1ull << 32, 1ull << 32, 1ull << 32}, {(1ull << 40) - 16, (1ull << 40) - 16}, {4, 1, 1});
  EXPECT_EQ(span_bytes(huge), 1ull << 63);  // saturates
}

}  // namespace
}  // namespace uvmtrace::maps_test
