// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/kernel_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace uvmsim::trace {

namespace {

constexpr std::uint32_t kMostOfShape = 1024;

// Parses "128x64..." at the begin of the text, and "8" after "128x64x" or "128x64_" (0 if absent).
struct LeadingShape {
  std::uint32_t first = 0, second = 0, third = 0;
};
std::optional<LeadingShape> leading_shape(std::string_view text) {
  std::uint32_t first = 0, second = 0;
  const char* const end = text.data() + text.size();
  const auto one = std::from_chars(text.data(), end, first);
  if (one.ec != std::errc{} || one.ptr == end || *one.ptr != 'x') return std::nullopt;
  const auto two = std::from_chars(one.ptr + 1, end, second);
  if (two.ec != std::errc{} || first == 0 || second == 0 || first > kMostOfShape || second > kMostOfShape) {
    return std::nullopt;
  }
  LeadingShape shape{first, second};
  if (two.ptr != end && (*two.ptr == 'x' || *two.ptr == '_')) {
    std::uint32_t third = 0;
    const auto three = std::from_chars(two.ptr + 1, end, third);
    if (three.ec == std::errc{} && third <= kMostOfShape) shape.third = third;
  }
  return shape;
}

}  // namespace

bool names_any(std::string_view kernel_name, std::initializer_list<std::string_view> parts) {
  const auto holds = [&](std::string_view part) { return kernel_name.find(part) != std::string_view::npos; };
  return std::ranges::any_of(parts, holds);
}

bool half_precision_by_name(std::string_view kernel_name) {
  return names_any(kernel_name,
                   {"f16f16", "bf16", "fp16", "_f16", "s16816", "h16816", "h1688", "h884", "hgemm", "nvjet"});
}

Distribution distribution_by_name(std::string_view kernel_name) {
  return names_any(kernel_name, {"gemm", "fprop", "dgrad", "wgrad", "xmma_", "winograd", "convolve", "implicit_con"})
             ? Distribution::kTiled
             : Distribution::kBlockLinear;
}

std::optional<MatrixTile> matrix_tile_by_name(std::string_view kernel_name) {
  if (kernel_name.find("gemm") == std::string_view::npos) return std::nullopt;
  if (names_any(kernel_name, {"fprop", "dgrad", "wgrad", "convolve", "implicit"})) return std::nullopt;
  MatrixTile tile;
  if (names_any(kernel_name, {"cf32"})) {
    tile.element_bytes = 8;
  } else if (half_precision_by_name(kernel_name)) {
    tile.element_bytes = 2;
  }
  // The two letters follow BLAS, which stores matrices by columns: what BLAS calls the first matrix is here the one
  // with the output's columns.
  const std::string_view after_gemm = kernel_name.substr(kernel_name.find("gemm"));
  tile.columns_run_along_sum = names_any(after_gemm, {"_tn_", "_tt_"});
  tile.rows_run_along_sum = !names_any(after_gemm, {"_nt_", "_tt_"});
  constexpr std::string_view kTileSize = "tilesize";
  if (const std::size_t at = kernel_name.find(kTileSize); at != std::string_view::npos) {
    const auto shape = leading_shape(kernel_name.substr(at + kTileSize.size()));
    if (!shape) return std::nullopt;
    tile.rows = shape->first;
    tile.columns = shape->second;
    tile.sum_elements = shape->third;
    return tile;
  }
  if (kernel_name.find("cutlass") == std::string_view::npos) return std::nullopt;
  const std::size_t gemm = kernel_name.find("gemm", kernel_name.find("cutlass"));
  for (std::size_t at = kernel_name.find('_', gemm); at != std::string_view::npos; at = kernel_name.find('_', at + 1)) {
    const auto shape = leading_shape(kernel_name.substr(at + 1));
    if (!shape) continue;
    tile.columns = shape->first;
    tile.rows = shape->second;
    tile.sum_elements = shape->third;
    tile.cutlass = true;
    return tile;
  }
  return std::nullopt;
}

std::optional<MulticastTile> multicast_tile_by_name(std::string_view kernel_name) {
  constexpr std::string_view kName = "nvjet_";
  std::size_t at = kernel_name.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::optional<MulticastTile> tile;
  int shapes = 0;  // tile, slab and stages, cluster
  for (at = kernel_name.find('_', at); at != std::string_view::npos; at = kernel_name.find('_', at + 1)) {
    const auto shape = leading_shape(kernel_name.substr(at + 1));
    if (!shape) continue;
    if (++shapes == 1) tile = MulticastTile{shape->first, shape->second};
    if (shapes == 3) {
      tile->cluster_rows = std::max(1u, shape->first);
      tile->cluster_columns = std::max(1u, shape->second);
      break;
    }
  }
  return tile;
}

std::optional<PixelTile> pixel_tile_by_name(std::string_view kernel_name) {
  constexpr std::string_view kTileSize = "tilesize";
  const std::size_t at = kernel_name.find(kTileSize);
  if (at == std::string_view::npos || !names_any(kernel_name, {"nchwkcrs_nchw"}) ||
      !names_any(kernel_name, {"fprop_implicit_gemm", "dgrad_implicit_gemm"})) {
    return std::nullopt;
  }
  const auto shape = leading_shape(kernel_name.substr(at + kTileSize.size()));
  return shape ? std::optional(PixelTile{shape->first, shape->second}) : std::nullopt;
}

ConvolutionEngine convolution_engine_by_name(std::string_view kernel_name) {
  constexpr std::array<std::pair<std::string_view, ConvolutionEngine>, 5> kEngines{{
      {"implicit_convolve_sgemm", ConvolutionEngine::kWordByWord},
      {"dgrad_engine", ConvolutionEngine::kImageGradient},
      {"wgrad_implicit_gemm", ConvolutionEngine::kWeightGradient},
      {"wgrad_alg0_engine", ConvolutionEngine::kWeightGradientAtomics},
      {"wgrad_alg1_engine", ConvolutionEngine::kWeightGradientAtomicsOfWindow},
  }};
  for (const auto& [part, engine] : kEngines) {
    if (kernel_name.find(part) != std::string_view::npos) return engine;
  }
  return ConvolutionEngine::kOther;
}

std::optional<Loop> loop_by_name(std::string_view kernel_name) {
  if (names_any(kernel_name, {"distribution_elementwise_grid_stride_kernel"})) {
    const bool doubles = names_any(kernel_name, {"grid_stride_kernelId"});
    return doubles ? Loop{8, 2} : Loop{4, 4};
  }
  if (names_any(kernel_name, {"fused_dropout_kernel_vec"})) return Loop{16, 1};
  if (concatenates_by_name(kernel_name)) return Loop{names_any(kernel_name, {"vectorized", "aligned16"}) ? 16u : 4u, 1};
  return std::nullopt;
}

bool concatenates_by_name(std::string_view kernel_name) { return names_any(kernel_name, {"CatArrayBatchedCopy"}); }

std::uint32_t bytes_per_access_by_name(std::string_view kernel_name) {
  return names_any(kernel_name,
                   {"vectorized", "_vec", "aligned16", "reduce_kernel", "cunn_SoftMax", "multi_tensor_apply"})
             ? 16
             : 4;
}

bool block_per_channel_by_name(std::string_view kernel_name) {
  return names_any(kernel_name, {"bn_fw_tr_1C11", "bn_bw_1C11"});
}

PlaneThreads threads_of_plane_by_name(std::string_view kernel_name) {
  constexpr std::string_view kForward = "bn_fw_tr_1C11_kernel_NCHW", kBackward = "bn_bw_1C11_kernel_new";
  constexpr std::string_view kNumber = "Li";  // mangled
  const bool forward = names_any(kernel_name, {kForward});
  const std::size_t at = kernel_name.find(forward ? kForward : kBackward);
  const std::size_t number = at == std::string_view::npos ? at : kernel_name.find(kNumber, at);
  if (number == std::string_view::npos) return {};
  std::uint64_t threads = 0;
  const std::string_view digits = kernel_name.substr(number + kNumber.size());
  if (std::from_chars(digits.data(), digits.data() + digits.size(), threads).ec != std::errc{}) return {};
  return {threads, forward ? threads : 0};
}

TileTransform tile_transform_by_name(std::string_view kernel_name) {
  if (names_any(kernel_name, {"fft2d_r2c_16x16"})) return {16 * 9, 8};
  if (names_any(kernel_name, {"fft2d_r2c_32x32"})) return {32 * 17, 8};
  if (!names_any(kernel_name, {"winograd_nonfused"})) return {};
  if (names_any(kernel_name, {"WgradData4x4", "WgradDelta4x4", "ForwardData4x4"})) return {6 * 6, 4, true};
  if (names_any(kernel_name, {"WgradData9x9_5x5", "WgradDelta9x9_5x5", "ForwardData9x9_5x5"})) {
    return {13 * 13, 4, true};
  }
  return {};
}

bool reads_once_by_name(std::string_view kernel_name) { return names_any(kernel_name, {"singleread"}); }

bool row_per_block_by_name(std::string_view kernel_name) {
  return names_any(kernel_name, {"vectorized_layer_norm_kernel"});
}

bool row_in_registers_by_name(std::string_view kernel_name) { return names_any(kernel_name, {"softmax_warp_"}); }

bool image_per_z_by_name(std::string_view kernel_name) { return names_any(kernel_name, {"nchwToNhwc"}); }

}  // namespace uvmsim::trace
