// SPDX-License-Identifier: Apache-2.0
#include "sim/import/access_set.h"

#include <algorithm>
#include <tuple>

namespace uvmsim::trace {

void AccessSet::add(ObjectId object, std::uint64_t first, std::uint64_t end, AccessMode mode) {
  if (first >= end) return;
  pieces_.push_back({object, first, end, mode});
  if (pieces_.size() < join_at_) return;
  for (const auto& [joined, extents] : take()) {
    for (const Extent& extent : extents) {
      pieces_.push_back({joined, extent.first, extent.first + extent.count, extent.mode});
    }
  }
  join_at_ = std::max(kFewest, 2 * pieces_.size());
}

std::vector<ObjectAccess> AccessSet::take() {
  std::ranges::sort(pieces_, {}, [](const Piece& piece) { return std::tie(piece.object, piece.first); });
  std::vector<ObjectAccess> accesses;
  std::uint64_t read_to = 0, written_to = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto& [object, first, end, mode] = pieces_[i];
    if (accesses.empty() || accesses.back().object != object) {
      accesses.push_back({object, {}});
      read_to = written_to = 0;
    }
    if (mode != AccessMode::kWrite) read_to = std::max(read_to, end);
    if (mode != AccessMode::kRead) written_to = std::max(written_to, end);
    // Emits quanta that no later piece changes: those before the begin of the next piece.
    const bool last = i + 1 == pieces_.size() || pieces_[i + 1].object != object;
    const std::uint64_t stop = std::min(last ? UINT64_MAX : pieces_[i + 1].first, std::max(read_to, written_to));
    for (std::uint64_t at = first; at < stop;) {
      const bool read = read_to > at, written = written_to > at;
      const std::uint64_t to = std::min({stop, read ? read_to : stop, written ? written_to : stop});
      const auto both = static_cast<AccessMode>((read ? 1 : 0) | (written ? 2 : 0));
      append_extent(accesses.back().extents.edit(), {at, to - at, both});
      at = to;
    }
  }
  pieces_.clear();
  return accesses;
}

}  // namespace uvmsim::trace
