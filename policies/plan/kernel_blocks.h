// SPDX-License-Identifier: Apache-2.0
// The blocks of a kernel, each once, in the order in which a planner fetches them. There are two orders: a list, and
// that of a kernel's arguments, which takes no memory per block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/common/range_map.h"
#include "sim/policy/planner.h"

namespace uvmsim::policy {

class BlockChain {
 public:
  explicit BlockChain(std::vector<BlockIndex> blocks) : blocks_(std::move(blocks)) {}
  void append(BlockIndex block) { blocks_.push_back(block); }

  // A place in the order.
  using Place = std::size_t;
  Place begin() const { return 0; }
  // Returns the block there, none behind the last one.
  std::optional<BlockIndex> at(const Place& place) const {
    return place < blocks_.size() ? std::optional(blocks_[place]) : std::nullopt;
  }
  void advance(Place& place) const { ++place; }

  // Calls f(run) for runs of neighbours that together are the blocks.
  template <class F>
  void for_each_run(F&& f) const {
    std::vector<BlockIndex> sorted = blocks_;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0, end = 0; i < sorted.size(); i = end) {
      for (end = i + 1; end < sorted.size() && sorted[end].value == sorted[end - 1].value + 1;) ++end;
      f(BlockRun{sorted[i], end - i});
    }
  }

 private:
  std::vector<BlockIndex> blocks_;
};

// The memory of a kernel's arguments. Kernels walk through all their operands at the same time: the first blocks of all
// arguments come first. Of blocks that lie equally far in their arguments that of the first argument comes first.
class ArgumentBlocks {
 public:
  explicit ArgumentBlocks(const KernelLaunch& kernel) {
    RangeMap<Claim> claims;
    std::uint32_t argument = 0;
    for (const KernelArgument& each : kernel.arguments) {
      BlockRun run;
      std::uint64_t position = 0;  // of the run's end in the argument
      const auto add_run = [&] {
        add(claims, {run.first.value - (position - run.count), each.memory.size(), argument}, run);
      };
      for (const BlockPages& part : each.memory) {
        if (part.block.value != run.first.value + run.count) {
          add_run();
          run = {part.block, 0};
        }
        ++run.count;
        ++position;
      }
      add_run();
      ++argument;
    }
    claims.for_each([&](std::uint64_t first, std::uint64_t end, const Claim& claim) {
      pieces_.push_back({claim, first, end});
    });
    pieces_.shrink_to_fit();
  }

  // As in BlockChain. A place is the next block of every piece that has one left, as a heap.
  struct Next {
    std::size_t piece = 0;
    std::uint64_t block = 0;
  };
  using Place = std::vector<Next>;
  Place begin() const {
    Place place;
    for (std::size_t i = 0; i < pieces_.size(); ++i) place.push_back({i, pieces_[i].first});
    std::make_heap(place.begin(), place.end(), Later{pieces_});
    return place;
  }
  std::optional<BlockIndex> at(const Place& place) const {
    return place.empty() ? std::nullopt : std::optional(BlockIndex(place.front().block));
  }
  void advance(Place& place) const {
    std::pop_heap(place.begin(), place.end(), Later{pieces_});
    Next& next = place.back();
    if (++next.block == pieces_[next.piece].end) return place.pop_back();
    std::push_heap(place.begin(), place.end(), Later{pieces_});
  }

  template <class F>
  void for_each_run(F&& f) const {
    for (const Piece& piece : pieces_) f(BlockRun{BlockIndex(piece.first), piece.end - piece.first});
  }

 private:
  // An argument that names a block: as the one at position `block` - `origin` of its `size` blocks.
  struct Claim {
    std::uint64_t origin = 0;  // modulo 2^64
    std::uint64_t size = 0;    // 0: no argument
    std::uint32_t argument = 0;
    bool operator==(const Claim&) const = default;
  };
  // Blocks [first, end) by the argument in which they come first.
  struct Piece {
    Claim claim;
    std::uint64_t first = 0, end = 0;
  };

  // Returns whether block a lies less far in its argument than block b in another one.
  static bool less_far(std::uint64_t a, const Claim& of_a, std::uint64_t b, const Claim& of_b) {
    return (a - of_a.origin) * of_b.size < (b - of_b.origin) * of_a.size;
  }
  struct Later {
    const std::vector<Piece>& pieces;
    bool operator()(const Next& a, const Next& b) const {
      const Claim &of_a = pieces[a.piece].claim, &of_b = pieces[b.piece].claim;
      if (less_far(b.block, of_b, a.block, of_a)) return true;
      return !less_far(a.block, of_a, b.block, of_b) && of_b.argument < of_a.argument;
    }
  };

  // Claims the blocks of the run that come earlier by this claim than by those of the arguments before.
  static void add(RangeMap<Claim>& claims, const Claim& claim, const BlockRun& run) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> claimed;
    claims.for_each(run.first.value, run.first.value + run.count,
                    [&](std::uint64_t first, std::uint64_t end, const Claim& before) {
                      const auto earlier = [&](std::uint64_t block) {
                        return before.size == 0 || less_far(block, claim, block, before);
                      };
                      // Both positions grow evenly, so that the answer changes once at most.
                      const bool begins = earlier(first);
                      std::uint64_t same = first, border = end;
                      while (border - same > 1) {
                        const std::uint64_t middle = same + (border - same) / 2;
                        (earlier(middle) == begins ? same : border) = middle;
                      }
                      claimed.emplace_back(begins ? first : border, begins ? border : end);
                    });
    for (const auto& [first, end] : claimed) claims.assign(first, end, claim);
  }

  std::vector<Piece> pieces_;
};

}  // namespace uvmsim::policy
