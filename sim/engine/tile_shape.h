// SPDX-License-Identifier: Apache-2.0
// The division of a matrix product's or convolution's operands among its thread blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/trace/kernel_names.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

// Bytes of a matrix product's operands: of the output and of the two inputs, in any order.
struct ProductBytes {
  std::uint64_t output = 0, input = 0, other_input = 0;
};

// The tiles of a matrix, and the grid that CUTLASS or cuBLAS launches for them.
struct ProductTiles {
  std::uint64_t rows = 1, columns = 1;
  std::uint64_t swizzle = 1;  // columns side by side in the grid's x; 1 except for CUTLASS
  std::uint64_t grid_x() const { return rows * swizzle; }
  std::uint64_t grid_y() const { return (columns + swizzle - 1) / swizzle; }

  static ProductTiles of(const trace::MatrixTile& tile, std::uint64_t matrix_rows, std::uint64_t matrix_columns);
};

// The output of a matrix product is one row-major matrix per batch, cut into `rows` x `columns` tiles. Names and grids
// of cuBLAS's kernels give the tiles. The sizes tell which of the inputs has the output's rows, and how many rows there
// are: for M x K, K x N and M x N matrices, M is the root of output * input / other. The blocks of other kernels form
// the grid's x by y tiles, or about a square.
struct TileShape {
  std::uint64_t blocks = 1;   // per z of the grid
  std::uint64_t batches = 1;  // every z has its own part of every operand
  std::uint64_t slices = 1;   // or all z sum up in the same tiles; one of the two is 1
  std::uint64_t rows = 1;     // rows and columns of tiles
  std::uint64_t columns = 1;
  std::uint64_t tile_rows = 1;  // rows of the matrix in a tile
  std::uint64_t matrix_rows = 1;
  std::uint64_t row_part_of_tile = 1;  // a tile covers row_part_of_tile / row_parts of a row of the matrix
  std::uint64_t row_parts = 1;
  bool cutlass = false;       // trace::MatrixTile
  std::uint64_t swizzle = 1;  // columns of tiles side by side
  std::uint64_t grid_x = 1;
  bool second_has_rows = false;  // of two large inputs, the second one has the output's rows
  std::uint64_t depth = 0;       // length of the sum over all slices; 0: unknown
  bool fits_name = false;        // the tiles are those that the name says

  // Returns the shape. `tile`: by the kernel's name.
  static TileShape of_product(const trace::Kernel& kernel, const std::optional<trace::MatrixTile>& tile,
                              const ProductBytes& bytes);
};

struct TilePlace {
  TilePlace(const TileShape& shape, std::uint64_t unit) {
    const std::uint64_t z = unit / shape.blocks;
    const std::uint64_t block = unit % shape.blocks;
    batch = shape.batches == 1 ? 0 : std::min(z, shape.batches - 1);
    slice = shape.slices == 1 ? 0 : std::min(z, shape.slices - 1);
    if (shape.cutlass) {
      const std::uint64_t x = block % shape.grid_x;
      row = x / shape.swizzle;
      column = block / shape.grid_x * shape.swizzle + x % shape.swizzle;
    } else {
      row = block % shape.rows;
      column = block / shape.rows;
    }
  }
  // Returns whether the block has no tile: swizzled grids are rounded up, squares down.
  bool idle(const TileShape& shape) const { return row >= shape.rows || column >= shape.columns; }

  std::uint64_t batch, slice, row, column;
};

// A convolution has one large input. Groups of blocks march through it and store together. If the kernel's name gives
// its tile and `images` is known, a block's output is a stretch in each plane of its channels.
struct ConvolutionShape {
  std::uint64_t blocks = 1;   // of a batch
  std::uint64_t batches = 1;  // every z has its own part of every operand
  std::uint64_t group = 1;
  std::uint64_t images = 0;  // images of the output; 0: its planes are not known
  std::uint64_t channels = 1, image_pixels = 1;
  std::uint64_t channel_tiles = 1;
  trace::PixelTile tile;
  bool tile_named = false;  // the name says a tile, which the planes may or may not fit

  static ConvolutionShape of(const trace::Kernel& kernel);
  // Returns the same, with an output of that many bytes (in whole quanta of a trace) and images (0: unknown).
  static ConvolutionShape of(const trace::Kernel& kernel, std::uint64_t output_bytes, std::uint64_t images);
  std::uint64_t groups() const { return std::max<std::uint64_t>(1, blocks / group); }
};

}  // namespace uvmsim::engine
