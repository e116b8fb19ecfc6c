// SPDX-License-Identifier: Apache-2.0
#include "sim/import/access_set.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace uvmsim::trace {

void AccessSet::add(ObjectId object, std::uint64_t first, std::uint64_t end, AccessMode mode) {
  if (first >= end) return;
  if (!pieces_.empty()) {  // most pieces follow the one before
    Piece& last = pieces_.back();
    if (last.object == object && last.mode == mode && first <= last.end && first >= last.first) {
      last.end = std::max(last.end, end);
      return;
    }
  }
  pieces_.push_back({object, first, end, mode});
  if (pieces_.size() >= compact_at_) {
    compact();
    compact_at_ = std::max<std::size_t>(4096, 2 * pieces_.size());
  }
}

void AccessSet::compact() {
  // A sweep over the borders of the pieces of one object, counting how many readers and writers are open.
  struct Border {
    ObjectId object;
    std::uint64_t at;
    int readers, writers;
  };
  std::vector<Border> borders;
  borders.reserve(2 * pieces_.size());
  for (const Piece& piece : pieces_) {
    const int reads = (static_cast<unsigned>(piece.mode) & 1u) != 0 ? 1 : 0;
    const int writes = (static_cast<unsigned>(piece.mode) & 2u) != 0 ? 1 : 0;
    borders.push_back({piece.object, piece.first, reads, writes});
    borders.push_back({piece.object, piece.end, -reads, -writes});
  }
  std::sort(borders.begin(), borders.end(),
            [](const Border& a, const Border& b) { return std::tie(a.object, a.at) < std::tie(b.object, b.at); });
  pieces_.clear();
  int readers = 0, writers = 0;
  for (std::size_t i = 0; i < borders.size(); ++i) {
    readers += borders[i].readers;
    writers += borders[i].writers;
    const bool last_here =
        i + 1 == borders.size() || borders[i + 1].object != borders[i].object || borders[i + 1].at != borders[i].at;
    if (!last_here || (readers == 0 && writers == 0)) continue;
    const auto mode = static_cast<AccessMode>((readers > 0 ? 1 : 0) | (writers > 0 ? 2 : 0));
    const std::uint64_t end = borders[i + 1].at;  // something is open, so there is another border of this object
    if (!pieces_.empty() && pieces_.back().object == borders[i].object && pieces_.back().end == borders[i].at &&
        pieces_.back().mode == mode) {
      pieces_.back().end = end;
    } else {
      pieces_.push_back({borders[i].object, borders[i].at, end, mode});
    }
  }
}

std::vector<ObjectAccess> AccessSet::take() {
  compact();
  std::vector<ObjectAccess> accesses;
  for (const Piece& piece : pieces_) {
    if (accesses.empty() || accesses.back().object != piece.object) accesses.push_back({piece.object, {}});
    accesses.back().extents.push_back({piece.first, piece.end - piece.first, piece.mode});
  }
  pieces_.clear();
  return accesses;
}

}  // namespace uvmsim::trace
