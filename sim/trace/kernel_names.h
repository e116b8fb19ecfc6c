// SPDX-License-Identifier: Apache-2.0
// Properties of a kernel's accesses that its name reveals.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

bool names_any(std::string_view kernel_name, std::initializer_list<std::string_view> parts);

// Returns whether the kernel computes on 2-byte elements.
bool half_precision_by_name(std::string_view kernel_name);

// Returns kTiled for the matrix products and convolutions of cuBLAS, cuDNN and CUTLASS, else kBlockLinear.
Distribution distribution_by_name(std::string_view kernel_name);

// The tile of a row-major product that one thread block computes.
struct MatrixTile {
  std::uint32_t rows = 0, columns = 0;  // in elements
  std::uint32_t element_bytes = 4;
  // CUTLASS: block x works on row x / w of tiles and column x % w + y * w; w is 8, 4, 2 or 1, by the number of columns.
  // Otherwise x is the row and y the column.
  bool cutlass = false;
  // One flag for the input with the output's rows, one for the input with its columns: true if the summed dimension
  // runs along rows of memory, as in `_tn_`; false if it runs across them.
  bool rows_run_along_sum = true, columns_run_along_sum = true;
  // Elements of the summed dimension that a block loads at a time, for each row or column of its tile; 0: unknown.
  std::uint32_t sum_elements = 0;
};

// Returns the tile of a matrix product whose name contains it: `tilesize128x64x8` of cuBLAS's own kernels,
// `256x128_8x4` of CUTLASS's, where the columns come first. Found from names and grids of products of known shape under
// cuBLAS 13 (tests/engine/tile_shape_test.cpp).
std::optional<MatrixTile> matrix_tile_by_name(std::string_view kernel_name);

// The tile of cuBLAS's products for Hopper (`nvjet_sm90_tst_256x128_64x4_1x2_h_...`): its rows and columns, and the
// numbers of a cluster's blocks that lie side by side in each direction and receive shared data by multicast.
struct MulticastTile {
  std::uint32_t rows = 0, columns = 0;
  std::uint32_t cluster_rows = 1, cluster_columns = 1;
  std::uint32_t element_bytes = 2;
};
std::optional<MulticastTile> multicast_tile_by_name(std::string_view kernel_name);

// The tile of cuDNN's implicit products that write NCHW tensors (`fprop`, `dgrad` with `tilesize256x64x8`): the grid's
// x counts tiles of channels, y tiles of the pixels of all images in sequence. Found from grids of convolutions of
// known shape.
struct PixelTile {
  std::uint32_t pixels = 0, channels = 0;
};
std::optional<PixelTile> pixel_tile_by_name(std::string_view kernel_name);

// cuDNN's convolutions other than implicit products of NCHW pixels (PixelTile), by what they compute and store.
enum class ConvolutionEngine : std::uint8_t {
  kOther,
  kWordByWord,                     // `implicit_convolve_sgemm`: stores one word at a time
  kImageGradient,                  // `dgrad_engine`: stores one word at a time
  kWeightGradient,                 // `wgrad` of NHWC tensors
  kWeightGradientAtomics,          // `wgrad_alg0_engine`: slices of the sum are added by atomics
  kWeightGradientAtomicsOfWindow,  // `wgrad_alg1_engine`: uses atomics in the same way
};
ConvolutionEngine convolution_engine_by_name(std::string_view kernel_name);

// A grid-stride loop.
struct Loop {
  std::uint32_t bytes_per_access = 4;  // of one thread
  std::uint32_t unroll = 1;            // strides per iteration of the loop, which a thread accesses at once
};

// Returns the loop of PyTorch's random numbers (four strides at once, as its generator yields four), its dropout and
// its concatenation, of which the grid's y counts the inputs.
std::optional<Loop> loop_by_name(std::string_view kernel_name);

// Returns the largest number of bytes that a thread of the kernel loads or stores with one instruction: 16 if the
// kernel's name says that it is vectorized, else 4.
std::uint32_t bytes_per_access_by_name(std::string_view kernel_name);

// Returns whether the kernel puts inputs side by side into its output, the y of its grid counting the inputs (PyTorch's
// concatenation).
bool concatenates_by_name(std::string_view kernel_name);

// Returns whether each thread block has one channel of an NCHW tensor, which is a plane of every image (cuDNN's batch
// norm).
bool block_per_channel_by_name(std::string_view kernel_name);

// For such a kernel, the number of threads that share a plane when they load and when they store; 0: the name does not
// say.
struct PlaneThreads {
  std::uint64_t load = 0, store = 0;
};
// Returns the numbers in the names of cuDNN's bn_fw_tr_1C11_kernel_NCHW and bn_bw_1C11_kernel_new; the latter stores in
// another way.
PlaneThreads threads_of_plane_by_name(std::string_view kernel_name);

// A transform of tiles of an image. Each value of a tile's transform lies in a plane of its own; a block stores a piece
// of every plane.
struct TileTransform {
  std::uint64_t planes = 0;  // 0: another kernel
  std::uint32_t value_bytes = 4;
  bool thread_has_all = false;  // values of its tile; else the threads of a block share them
};
// Returns the transform of cuDNN's two-dimensional Fourier transforms of real tiles (fft2d_r2c_32x32), and of
// Winograd's of images and of gradients (winogradWgradData4x4, winogradWgradDelta9x9_5x5): tiles of 6 by 6, or 13
// by 13.
TileTransform tile_transform_by_name(std::string_view kernel_name);

// Returns whether a kernel of batch norm keeps its input until it writes (cuDNN's `singleread`).
bool reads_once_by_name(std::string_view kernel_name);

// Returns whether all warps of a block process the same row together, whatever the shape of the block (PyTorch's layer
// norm).
bool row_per_block_by_name(std::string_view kernel_name);

// Returns whether each warp loads all of its rows before it stores any (PyTorch's softmax of short rows).
bool row_in_registers_by_name(std::string_view kernel_name);

// Returns whether the grid's z counts the images of an NCHW tensor.
bool image_per_z_by_name(std::string_view kernel_name);

}  // namespace uvmsim::trace
