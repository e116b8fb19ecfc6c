// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/product_kernels.h"

#include <algorithm>

#include "sim/llm/launch_shapes.h"

namespace uvmsim::llm {
namespace {

// A tile of rows x columns of the result, and how many blocks of it an SM holds.
struct Tile {
  std::uint64_t rows, columns;
  std::uint64_t blocks_per_sm;

  std::uint64_t count(const ProductShape& shape) const {
    return std::uint64_t{blocks_for(shape.rows, rows)} * blocks_for(shape.columns, columns);
  }
};
constexpr Tile kSmall{64, 64, 4}, kTall{128, 64, 2}, kSquare{128, 128, 2};  // cuBLAS's own
constexpr Tile kWide{128, 256, 1}, kHigh{256, 128, 1};                      // CUTLASS's

// The share of time in which blocks fill the SMs, in thousandths, if all blocks take equally long.
std::uint64_t filled(std::uint64_t blocks, std::uint64_t slots) {
  return 1000 * blocks / ((blocks + slots - 1) / slots * slots);
}

class Choice {
 public:
  Choice(const ProductShape& shape, std::uint64_t sm_count) : shape_(shape), sm_count_(sm_count) {}

  std::uint64_t filled_by(const Tile& tile, std::uint64_t slices = 1) const {
    return filled(tile.count(shape_) * slices, tile.blocks_per_sm * sm_count_);
  }

  ProductKernel of_library(std::string_view name, const Tile& tile, std::uint64_t slices = 1) const {
    return {name,
            {blocks_for(shape_.rows, tile.rows), blocks_for(shape_.columns, tile.columns),
             blocks_for(shape_.batches * slices, 1)}};
  }
  // CUTLASS lets 8, 4, 2 or 1 tiles across follow each other (MatrixTile::cutlass in trace/kernel_names.h).
  ProductKernel of_cutlass(std::string_view name, const Tile& tile, std::uint64_t slices) const {
    const std::uint32_t across = blocks_for(shape_.columns, tile.columns), down = blocks_for(shape_.rows, tile.rows);
    const std::uint32_t together = across >= 6 ? 8 : across >= 3 ? 4 : across >= 2 ? 2 : 1;
    return {name, {blocks_for(std::uint64_t{down} * together, 1), blocks_for(across, together), blocks_for(slices, 1)}};
  }

  // The number of slices of the sum that fills the SMs best.
  std::uint64_t slices(const Tile& tile) const {
    constexpr std::uint64_t kMost = 9, kManyWaves = 4, kWithMany = 2;
    if (tile.count(shape_) >= kManyWaves * sm_count_ * tile.blocks_per_sm) return kWithMany;
    std::uint64_t best = 1;
    for (std::uint64_t slices = 2; slices <= kMost; ++slices) {
      if (filled_by(tile, slices) > filled_by(tile, best)) best = slices;
    }
    return best;
  }

 private:
  const ProductShape& shape_;
  std::uint64_t sm_count_;
};

constexpr std::uint64_t kWellFilled = 950, kPoorlyFilled = 850;  // thousandths

ProductKernel tn_kernel(const ProductShape& shape, const Choice& choice) {
  constexpr std::string_view kSquareName = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8";
  constexpr std::uint64_t kLongSum = 2048, kSlices = 8;
  if (choice.filled_by(kSquare) >= kWellFilled) return choice.of_library(kSquareName, kSquare);
  if (choice.filled_by(kTall) > choice.filled_by(kSquare)) {
    return choice.of_library("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x8", kTall);
  }
  return choice.of_library(kSquareName, kSquare, shape.sum >= kLongSum ? kSlices : 1);
}

ProductKernel nn_kernel(const ProductShape& shape, const Choice& choice) {
  constexpr std::string_view kWideName = "cutlass_80_simt_sgemm_256x128_8x4_nn_align1";
  constexpr std::uint64_t kLongSum = 2048, kSlices = 4;
  if (choice.filled_by(kWide) >= kWellFilled) return choice.of_cutlass(kWideName, kWide, 1);
  const std::uint64_t best = std::max(choice.filled_by(kSmall), choice.filled_by(kTall));
  if (choice.filled_by(kWide, kSlices) >= kWellFilled && (best < kPoorlyFilled || shape.sum >= kLongSum)) {
    return choice.of_cutlass(kWideName, kWide, kSlices);
  }
  return choice.filled_by(kSmall) >= choice.filled_by(kTall)
             ? choice.of_library("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8", kSmall)
             : choice.of_library("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x64x8", kTall);
}

ProductKernel nt_kernel(const ProductShape& shape, const Choice& choice) {
  const bool wide = shape.columns >= shape.rows;
  const Tile& tile = wide ? kWide : kHigh;
  return choice.of_cutlass(
      wide ? "cutlass_80_simt_sgemm_256x128_8x4_nt_align1" : "cutlass_80_simt_sgemm_128x256_8x4_nt_align1", tile,
      choice.slices(tile));
}

ProductKernel batched_kernel(Operands operands, const Choice& choice) {
  constexpr std::string_view kNames[] = {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8",
                                         "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8",
                                         "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x64x8"};
  return choice.of_library(kNames[static_cast<std::size_t>(operands)], kSmall);
}

// Persistent kernels: two columns of blocks, as many as there are SMs.
ProductKernel half_kernel(const ProductShape& shape, Operands operands, std::uint64_t sm_count) {
  constexpr std::uint64_t kFewRows = 64;
  if (shape.rows <= kFewRows && shape.batches == 1) {
    return {"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", {4, blocks_for(shape.columns, 256), 1}};
  }
  constexpr std::string_view kNames[] = {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT",
                                         "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT",
                                         "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN"};
  return {kNames[static_cast<std::size_t>(operands)], {2, blocks_for(sm_count / 2, 1), 1}};
}

}  // namespace

ProductKernel product_kernel(const ProductShape& shape, Operands operands, Number number, std::uint64_t sm_count) {
  if (number != Number::kFloat32) return half_kernel(shape, operands, sm_count);
  const Choice choice(shape, sm_count);
  if (shape.batches != 1) return batched_kernel(operands, choice);
  switch (operands) {
    case Operands::kTn:
      return tn_kernel(shape, choice);
    case Operands::kNn:
      return nn_kernel(shape, choice);
    case Operands::kNt:
      break;
  }
  return nt_kernel(shape, choice);
}

}  // namespace uvmsim::llm
