// SPDX-License-Identifier: Apache-2.0
// The slices of a grid: slice k holds the blocks with block * slices / blocks == k, by their linear number
// x + gridDim.x * (y + gridDim.y * z). Grids with fewer blocks than slices have one slice per block.
#pragma once

#include <cstdint>

namespace uvmtrace::access {

struct Slices {
  std::uint64_t blocks = 1;
  std::uint32_t count = 0;

  Slices(std::uint64_t grid_blocks, std::uint32_t wanted)
      : blocks(grid_blocks == 0 ? 1 : grid_blocks),
        count(blocks < wanted ? static_cast<std::uint32_t>(blocks) : wanted) {}

  // Returns a factor for which the high 64 bits of block * factor are the slice. This is exact below 2^32 blocks;
  // beyond that a block at the edge of a slice may count for its neighbour. 0 if each block is a slice.
  std::uint64_t factor() const {
    if (count == 0 || count == blocks) return 0;
    __extension__ using Wide = unsigned __int128;
    const Wide round_up = blocks >> 32 == 0 ? blocks - 1 : 0;  // above 2^32 rounding up could give a wrong slice
    return static_cast<std::uint64_t>(((static_cast<Wide>(count) << 64) + round_up) / blocks);
  }
  // The first block of slice k; first_block(count) is the number of blocks.
  std::uint64_t first_block(std::uint32_t k) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(k) * blocks + count - 1) / count);
  }
};

}  // namespace uvmtrace::access
