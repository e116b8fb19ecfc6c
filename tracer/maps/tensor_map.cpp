// SPDX-License-Identifier: Apache-2.0
#include "tracer/maps/tensor_map.h"

#include <algorithm>

namespace uvmtrace {

namespace {

constexpr std::uint64_t kMaxDimension = std::uint64_t{1} << 32;
constexpr std::uint64_t kMaxStride = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxVa = std::uint64_t{1} << 57;
constexpr std::uint64_t kMost = std::uint64_t{1} << 63;

struct Axis {
  std::uint64_t count = 0, stride = 0;
};

// Returns the dimensions from 1 on that have more than one element and a stride other than 0, the smallest stride
// first.
std::vector<Axis> outer_axes(const TensorMap& map) {
  std::vector<Axis> axes;
  for (std::uint32_t d = 1; d < map.rank; ++d) {
    if (map.dims[d] > 1 && map.strides[d - 1] != 0) axes.push_back({map.dims[d], map.strides[d - 1]});
  }
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  return axes;
}

// Returns the length of the run that results if an axis repeats runs of `bytes` and the gaps between them are closed.
std::uint64_t closed(std::uint64_t bytes, const Axis& axis) { return (axis.count - 1) * axis.stride + bytes; }

// Joins runs: overlapping rows of several axes touch each other in some places.
void join(std::vector<ByteRun>& runs, std::uint64_t least_gap) {
  std::sort(runs.begin(), runs.end(), [](const ByteRun& a, const ByteRun& b) { return a.va < b.va; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    ByteRun& last = runs[kept];
    if (runs[i].va < last.va + last.bytes + least_gap) {
      last.bytes = std::max(last.va + last.bytes, runs[i].va + runs[i].bytes) - last.va;
    } else {
      runs[++kept] = runs[i];
    }
  }
  runs.resize(std::min(kept + 1, runs.size()));
}

}  // namespace

std::uint64_t row_bytes(const TensorMap& map) { return (map.dims[0] * map.element_bits + 7) / 8; }

std::uint64_t span_bytes(const TensorMap& map) {
  std::uint64_t bytes = row_bytes(map);
  for (std::uint32_t d = 1; d < map.rank; ++d) {
    const std::uint64_t stride = map.strides[d - 1];
    if (stride != 0 && map.dims[d] - 1 > (kMost - bytes) / stride) return kMost;
    bytes += (map.dims[d] - 1) * stride;
  }
  return bytes;
}

bool is_possible(const TensorMap& map) {
  if (map.rank < 1 || map.rank > kMaxMapRank || map.element_bits < 1 || map.element_bits > 64 || map.va >= kMaxVa) {
    return false;
  }
  for (std::uint32_t d = 0; d < map.rank; ++d) {
    const bool boxed = map.box[d] >= 1 && map.box[d] <= 256;
    if (map.dims[d] < 1 || map.dims[d] > kMaxDimension || !(boxed || (map.im2col && d != 0 && map.box[d] == 0))) {
      return false;
    }
    if (d != 0 && (map.strides[d - 1] >= kMaxStride || map.strides[d - 1] % 16 != 0)) return false;
  }
  return map.va % 16 == 0 && map.box[0] * map.element_bits % 128 == 0;
}

std::uint64_t box_count(const TensorMap& map) {
  std::uint64_t boxes = 1;
  for (std::uint32_t d = 0; d < map.rank; ++d) {
    if (map.box[d] == 0) return 0;
    const std::uint64_t along = (map.dims[d] + map.box[d] - 1) / map.box[d];
    if (along > kMost / boxes) return kMost;
    boxes *= along;
  }
  return boxes;
}

std::vector<TensorMap> first_boxes(const TensorMap& map, std::uint64_t boxes) {
  std::vector<TensorMap> out;
  TensorMap part = map;  // the part that is not yet divided; its dimensions from `d` on are single boxes
  std::uint64_t inner = box_count(map);
  for (std::uint32_t d = map.rank; d-- > 0 && boxes != 0;) {
    const std::uint64_t along = (map.dims[d] + map.box[d] - 1) / map.box[d];
    inner /= along;
    const std::uint64_t whole =
        std::min(boxes / inner, along);  // steps along this dimension whose inner boxes are all included
    if (whole != 0) {
      TensorMap piece = part;
      piece.dims[d] = std::min(whole * map.box[d], part.dims[d]);
      out.push_back(piece);
    }
    boxes = whole == along ? 0 : boxes - whole * inner;
    const std::uint64_t done = std::min(whole * map.box[d], part.dims[d]);
    part.va += done * (d == 0 ? 0 : map.strides[d - 1]);
    part.dims[d] = std::min<std::uint64_t>(part.dims[d] - done, map.box[d]);
  }
  return out;
}

MapRuns runs_of(const TensorMap& map, std::uint64_t least_gap, std::uint64_t most_runs) {
  MapRuns out;
  std::vector<Axis> axes = outer_axes(map);
  std::uint64_t bytes = row_bytes(map);
  std::uint64_t count = 1;
  for (const Axis& axis : axes) count = axis.count > kMost / count ? kMost : count * axis.count;
  while (!axes.empty()) {
    const Axis& axis = axes.front();
    const bool near = axis.stride < bytes + least_gap;
    if (!near && count <= most_runs) break;
    out.whole = out.whole && near;
    bytes = closed(bytes, axis);
    axes.erase(axes.begin());
    count = 1;
    for (const Axis& rest : axes) count = rest.count > kMost / count ? kMost : count * rest.count;
  }
  out.runs.push_back({map.va, bytes});
  for (const Axis& axis : axes) {
    const std::size_t inner = out.runs.size();
    for (std::uint64_t i = 1; i < axis.count; ++i) {
      for (std::size_t k = 0; k < inner; ++k) out.runs.push_back({out.runs[k].va + i * axis.stride, bytes});
    }
  }
  join(out.runs, least_gap);
  return out;
}

}  // namespace uvmtrace
