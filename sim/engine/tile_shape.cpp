// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/tile_shape.h"

#include <cmath>

namespace uvmsim::engine {

namespace {

// Thread blocks of a convolution that march through its input together (measured on one 3x3 convolution).
constexpr std::uint64_t kConvolutionGroup = 64;

// Returns the square root, rounded down. The processor's result is corrected, so that it is the same on every machine.
std::uint64_t root(std::uint64_t value) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value)));
  while (root * root > value) --root;
  while ((root + 1) * (root + 1) <= value) ++root;
  return root;
}

// Returns how many tiles of `side` cover `length`.
std::uint64_t tiles_for(std::uint64_t length, std::uint64_t side) { return (length + side - 1) / side; }

// Returns the tiles if the kernel's grid computes a matrix of that many rows and columns.
std::optional<ProductTiles> tiles_of(const trace::Kernel& kernel, const trace::MatrixTile& tile, std::uint64_t rows,
                                     std::uint64_t columns) {
  const ProductTiles tiles = ProductTiles::of(tile, rows, columns);
  const bool fits = kernel.grid.x == tiles.grid_x() && kernel.grid.y == tiles.grid_y();
  return fits ? std::optional(tiles) : std::nullopt;
}

// Returns the shape of a kernel whose name says its tile; none if its grid fits no such shape.
std::optional<TileShape> shape_by_name(const trace::Kernel& kernel, const trace::MatrixTile& tile,
                                       const ProductBytes& bytes) {
  const std::uint64_t depth = std::max<std::uint64_t>(1, kernel.grid.z);
  // `elements`: of one batch's output.
  const auto shape_of = [&](std::uint64_t rows, std::uint64_t elements, const ProductTiles& tiles, bool batched) {
    TileShape shape;
    shape.batches = batched ? depth : 1;
    shape.slices = batched ? 1 : depth;
    shape.rows = tiles.rows;
    shape.columns = tiles.columns;
    shape.tile_rows = tile.rows;
    shape.matrix_rows = rows;
    shape.row_part_of_tile = tile.columns;
    shape.row_parts = std::clamp<std::uint64_t>(elements / rows, 1, tiles.columns * tile.columns);
    shape.cutlass = tile.cutlass;
    shape.swizzle = tiles.swizzle;
    return shape;
  };
  for (const bool batched : {false, true}) {
    if (batched && depth == 1) break;
    const std::uint64_t elements = bytes.output / tile.element_bytes / (batched ? depth : 1);
    // The sizes of the inputs give the number of rows.
    for (const bool second : {false, true}) {
      const double input = static_cast<double>(second ? bytes.other_input : bytes.input);
      const double other = static_cast<double>(second ? bytes.input : bytes.other_input);
      if (input == 0 || other == 0) break;
      const double square = static_cast<double>(elements) * input / other;
      if (square >= 1e18) break;
      const std::uint64_t rows = std::max<std::uint64_t>(1, root(static_cast<std::uint64_t>(square + 0.5)));
      for (const std::uint64_t about : {rows, rows + 1, tiles_for(rows, tile.rows) * tile.rows}) {
        if (about > rows + std::max<std::uint64_t>(1, rows / 64)) continue;  // sizes are whole quanta
        if (const auto tiles = tiles_of(kernel, tile, about, tiles_for(elements, about))) {
          TileShape shape = shape_of(about, elements, *tiles, batched);
          shape.second_has_rows = second;
          shape.depth = (second ? bytes.other_input : bytes.input) / (about * tile.element_bytes * shape.batches);
          return shape;
        }
      }
    }
  }
  // Else the grid gives the number of rows, up to a tile.
  for (const bool batched : {false, true}) {
    if (batched && depth == 1) break;
    const std::uint64_t elements = bytes.output / tile.element_bytes / (batched ? depth : 1);
    for (const std::uint64_t swizzle : {8u, 4u, 2u, 1u}) {
      if (kernel.grid.x % swizzle != 0 || (!tile.cutlass && swizzle != 1)) continue;
      const std::uint64_t rows = kernel.grid.x / swizzle * tile.rows;
      if (const auto tiles = tiles_of(kernel, tile, rows, tiles_for(elements, rows))) {
        return shape_of(rows, elements, *tiles, batched);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

ProductTiles ProductTiles::of(const trace::MatrixTile& tile, std::uint64_t matrix_rows, std::uint64_t matrix_columns) {
  ProductTiles tiles{tiles_for(matrix_rows, tile.rows), tiles_for(matrix_columns, tile.columns)};
  if (tile.cutlass) tiles.swizzle = tiles.columns >= 6 ? 8 : tiles.columns >= 3 ? 4 : tiles.columns >= 2 ? 2 : 1;
  return tiles;
}

TileShape TileShape::of_product(const trace::Kernel& kernel, const std::optional<trace::MatrixTile>& tile,
                                const ProductBytes& bytes) {
  TileShape shape;
  if (const auto by_name = tile ? shape_by_name(kernel, *tile, bytes) : std::nullopt) {
    shape = *by_name;
    shape.fits_name = true;
  } else {
    shape.batches = std::max<std::uint64_t>(1, kernel.grid.z);
    const std::uint64_t blocks = std::max<std::uint64_t>(1, std::uint64_t{kernel.grid.x} * kernel.grid.y);
    if (kernel.grid.x > 1 && kernel.grid.y > 1) {
      shape.rows = kernel.grid.x;
      shape.columns = kernel.grid.y;
    } else {
      shape.rows = root(blocks - 1) + 1;
      shape.columns = blocks / shape.rows;  // blocks that are left over are idle
    }
    // A square tile of 4-byte elements.
    shape.tile_rows = std::max<std::uint64_t>(1, root(bytes.output / shape.batches / blocks / 4));
    shape.matrix_rows = shape.rows * shape.tile_rows;
    shape.row_parts = shape.columns;
  }
  shape.blocks = std::max<std::uint64_t>(1, std::uint64_t{kernel.grid.x} * kernel.grid.y);
  shape.grid_x = std::max<std::uint64_t>(1, kernel.grid.x);
  // Limits rows and parts so that their products with bytes stay within 64 bits. No real matrix comes near.
  const std::uint64_t most = (std::uint64_t{1} << 62) / (4 * bytes.output + (1u << 20));
  shape.matrix_rows = std::clamp<std::uint64_t>(shape.matrix_rows, 1, most);
  for (; shape.row_parts > most * shape.matrix_rows; shape.row_parts /= 2) shape.row_part_of_tile /= 2;
  return shape;
}

ConvolutionShape ConvolutionShape::of(const trace::Kernel& kernel) {
  ConvolutionShape shape;
  shape.batches = std::max<std::uint64_t>(1, kernel.grid.z);
  shape.blocks = std::max<std::uint64_t>(1, std::uint64_t{kernel.grid.x} * kernel.grid.y);
  shape.group = std::min(kConvolutionGroup, shape.blocks);
  return shape;
}

ConvolutionShape ConvolutionShape::of(const trace::Kernel& kernel, std::uint64_t output_bytes, std::uint64_t images) {
  ConvolutionShape shape = of(kernel);
  const std::optional<trace::PixelTile> tile = trace::pixel_tile_by_name(kernel.name);
  shape.tile_named = tile.has_value();
  if (!tile || images == 0 || shape.batches != 1) return shape;
  constexpr std::uint64_t kElementBytes = 4, kMostRounding = 512 / kElementBytes;  // output_bytes is rounded up
  const std::uint64_t elements = output_bytes / kElementBytes;
  const std::uint64_t most = std::uint64_t{kernel.grid.x} * tile->channels;
  for (std::uint64_t channels = most; channels + tile->channels > most && channels != 0; --channels) {
    const std::uint64_t pixels = elements / channels / images * images;
    if (pixels == 0 || tiles_for(pixels, tile->pixels) != kernel.grid.y) continue;
    if (elements - pixels * channels >= kMostRounding) continue;
    shape.images = images;
    shape.channels = channels;
    shape.image_pixels = pixels / images;
    shape.channel_tiles = kernel.grid.x;
    shape.tile = *tile;
    shape.group = std::max<std::uint64_t>(1, shape.blocks / images);
    break;
  }
  return shape;
}

}  // namespace uvmsim::engine
