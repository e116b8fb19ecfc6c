// SPDX-License-Identifier: Apache-2.0
// A tensor map: what a kernel that loads or stores by tensor copies (Hopper's TMA) is told of a tensor, and which bytes
// that is.
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
  std::array<std::uint64_t, kMaxMapRank> dims{};         // elements, innermost first
  std::array<std::uint64_t, kMaxMapRank - 1> strides{};  // bytes between neighbours of dimension 1 and on
  // Elements of one copy; of an im2col map only the innermost is known (channels), the others are 0.
  std::array<std::uint32_t, kMaxMapRank> box{};

  bool operator==(const TensorMap&) const = default;
};

// Bytes of a row, and from the first to the last of all. Saturate at 2^63.
std::uint64_t row_bytes(const TensorMap& map);
std::uint64_t span_bytes(const TensorMap& map);

// Returns whether CUDA allows all numbers: rank, dimensions up to 2^32, strides of 16 bytes and below 2^40, boxes.
bool is_possible(const TensorMap& map);

// Returns the number of copies that move all of it once; 0 when the box is not known (im2col).
std::uint64_t box_count(const TensorMap& map);

// The map of its first `boxes` boxes, the innermost dimension first: maps, since what is left of a dimension follows
// whole ones. `boxes` is at least 1.
std::vector<TensorMap> first_boxes(const TensorMap& map, std::uint64_t boxes);

struct ByteRun {
  std::uint64_t va = 0, bytes = 0;
  bool operator==(const ByteRun&) const = default;
};

// The bytes of the map as ascending runs. Gaps of fewer than `least_gap` bytes are closed; more than `most_runs` runs
// are avoided by closing the smallest gaps, and `whole` tells whether none but those below `least_gap` were.
struct MapRuns {
  std::vector<ByteRun> runs;
  bool whole = true;
};
MapRuns runs_of(const TensorMap& map, std::uint64_t least_gap, std::uint64_t most_runs);

}  // namespace uvmtrace
