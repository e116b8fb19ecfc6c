// SPDX-License-Identifier: Apache-2.0
// A tensor map: the description of a tensor for a kernel that loads or stores by tensor copies (Hopper's TMA), and the
// bytes that it covers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace uvmtrace {

inline constexpr std::uint32_t kMaxMapRank = 5;

struct TensorMap {
  std::uint64_t va = 0;
  std::uint32_t element_bits = 0;
  std::uint32_t rank = 0;
  bool im2col = false;
  std::array<std::uint64_t, kMaxMapRank> dims{};         // number of elements, innermost first
  std::array<std::uint64_t, kMaxMapRank - 1> strides{};  // bytes between neighbours, from dimension 1 on
  // Elements of one copy; for an im2col map only the innermost is known (channels), and the others are 0.
  std::array<std::uint32_t, kMaxMapRank> box{};

  bool operator==(const TensorMap&) const = default;
};

// Return the bytes of a row, and the bytes from the first to the last of all. Both saturate at 2^63.
std::uint64_t row_bytes(const TensorMap& map);
std::uint64_t span_bytes(const TensorMap& map);

// Returns whether CUDA allows all numbers: rank, dimensions up to 2^32, strides that are multiples of 16 bytes below
// 2^40, boxes.
bool is_possible(const TensorMap& map);

// Returns the number of copies that move all of it once; 0 if the box is not known (im2col).
std::uint64_t box_count(const TensorMap& map);

// Returns the map's first `boxes` boxes, the innermost dimension first. The result is several maps, because a remaining
// part of a dimension follows complete ones. `boxes` is at least 1.
std::vector<TensorMap> first_boxes(const TensorMap& map, std::uint64_t boxes);

struct ByteRun {
  std::uint64_t va = 0, bytes = 0;
  bool operator==(const ByteRun&) const = default;
};

// The bytes of the map as ascending runs. Gaps of fewer than `least_gap` bytes are closed. If there are more than
// `most_runs` runs, the smallest gaps are closed too, and `whole` is then false.
struct MapRuns {
  std::vector<ByteRun> runs;
  bool whole = true;
};
MapRuns runs_of(const TensorMap& map, std::uint64_t least_gap, std::uint64_t most_runs);

}  // namespace uvmtrace
