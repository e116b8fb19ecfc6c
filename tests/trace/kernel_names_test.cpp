// SPDX-License-Identifier: Apache-2.0
// Properties that names of real kernels reveal (cuBLAS and cuDNN of CUDA 13.0, PyTorch 2.11).
#include "sim/trace/kernel_names.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace uvmsim::trace {
namespace {

TEST(KernelNames, MatrixProductsAndConvolutionsAreTiled) {
  for (const char* name : {"_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE",
                           "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize256x64x8_stage3",
                           "_ZN5cudnn17winograd_nonfused21winogradWgradDelta4x4IffEEv"}) {
    EXPECT_EQ(distribution_by_name(name), Distribution::kTiled) << name;
  }
  EXPECT_EQ(distribution_by_name("_ZN2at6native29vectorized_elementwise_kernelILi4E"), Distribution::kBlockLinear);
}

TEST(KernelNames, CublassOwnKernelsNameRowsFirstAndCutlassColumns) {
  const std::pair<const char*, bool> names[] = {
      {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x256x8_stage3_warpsize2x2x1_ffma", false},
      {"_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE", true}};
  for (const auto& [name, cutlass] : names) {
    const auto tile = matrix_tile_by_name(name);
    ASSERT_TRUE(tile) << name;
    EXPECT_EQ(tile->rows, 128u) << name;
    EXPECT_EQ(tile->columns, 256u) << name;
    EXPECT_EQ(tile->element_bytes, 4u) << name;
    EXPECT_EQ(tile->cutlass, cutlass) << name;
  }
}

TEST(KernelNames, LettersSayAlongWhatInputsRun) {
  const auto along = [](const char* letters) {
    const auto tile = matrix_tile_by_name(std::string("cutlass_80_simt_sgemm_256x128_8x4_") + letters + "_align1");
    return std::pair(tile->rows_run_along_sum, tile->columns_run_along_sum);
  };
  EXPECT_EQ(along("nn"), std::pair(true, false));
  EXPECT_EQ(along("tn"), std::pair(true, true));
  EXPECT_EQ(along("nt"), std::pair(false, false));
  EXPECT_EQ(along("tt"), std::pair(false, true));
}

TEST(KernelNames, ElementsMayBeHalvesOrComplex) {
  EXPECT_EQ(matrix_tile_by_name("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x3_tn_align8")->element_bytes,
            2u);
  EXPECT_EQ(matrix_tile_by_name("sm80_xmma_gemm_cf32cf32_f32f32_cf32_nt_n_tilesize32x64x8_stage3")->element_bytes, 8u);
}

TEST(KernelNames, NoTileWhereTheNameSaysNone) {
  for (const char* name :
       {"gemm", "tilesize128x64x8", "sgemm_tilesize", "sgemm_tilesize128", "sgemm_tilesizex64", "sgemm_tilesize0x64x8",
        "sgemm_tilesize4294967296x64x8", "sgemm_tilesize4096x64x8", "cutlass_sgemm_", "cutlass_sgemm_align1",
        "_Z18sgemm_largek_lds64ILb1E", "sm80_xmma_fprop_implicit_gemm_f32f32_tilesize256x64x8_stage3"}) {
    EXPECT_FALSE(matrix_tile_by_name(name)) << name;
  }
}

TEST(KernelNames, BatchNormHasABlockPerChannel) {
  EXPECT_TRUE(block_per_channel_by_name("_ZN5cudnn24bn_fw_tr_1C11_singlereadIfLi512ELb1ELi1ELi2ELi0EEEv"));
  EXPECT_TRUE(block_per_channel_by_name("_ZN5cudnn21bn_bw_1C11_kernel_newIff6float2Li128ELb1ELi1EEEv"));
  EXPECT_FALSE(block_per_channel_by_name("_ZN2at6native18layer_norm_kernel"));
}

TEST(KernelNames, BatchNormSaysHowManyThreadsShareAPlane) {
  const auto threads = [](std::string_view name) {
    const PlaneThreads found = threads_of_plane_by_name(name);
    return std::pair(found.load, found.store);
  };
  EXPECT_EQ(threads("_ZN5cudnn25bn_fw_tr_1C11_kernel_NCHWIffiLi128ELb1ELi1ELb1EEEv"), std::pair(128ul, 128ul));
  EXPECT_EQ(threads("_ZN5cudnn21bn_bw_1C11_kernel_newIff6float2Li32ELb1ELi1EEEv"), std::pair(32ul, 0ul));
  EXPECT_EQ(threads("_ZN5cudnn24bn_fw_tr_1C11_singlereadIfLi512ELb1ELi1ELi2ELi0EEEv"), std::pair(0ul, 0ul));
  EXPECT_EQ(threads("bn_fw_tr_1C11_kernel_NCHW"), std::pair(0ul, 0ul));
  EXPECT_EQ(threads("bn_bw_1C11_kernel_newILi99999999999999999999E"), std::pair(0ul, 0ul));
}

TEST(KernelNames, TransformsSayHowManyPlanesTheyHave) {
  EXPECT_EQ(tile_transform_by_name("_Z19fft2d_r2c_16x16IfEvP6float2PKT_iiiiiiii").planes, 16u * 9);
  EXPECT_EQ(tile_transform_by_name("_Z17fft2d_r2c_32x32IfLb0ELj1ELb0EEvP6float2PKT_").planes, 32u * 17);
  EXPECT_EQ(tile_transform_by_name("fft2d_c2r_32x32").planes, 0u);
  const std::string winograd = "_ZN5cudnn17winograd_nonfused";
  EXPECT_EQ(tile_transform_by_name(winograd + "20winogradWgradData4x4IffEEvNS0_18WinogradDataParamsI").planes, 36u);
  EXPECT_EQ(tile_transform_by_name(winograd + "25winogradWgradDelta9x9_5x5IffEEvNS0_19Winograd").planes, 169u);
  EXPECT_EQ(tile_transform_by_name(winograd + "22winogradWgradOutput4x4IffEEv").planes, 0u);
}

TEST(KernelNames, ConvolutionsSayTheirTileOfPixelsAndChannels) {
  const auto tile =
      pixel_tile_by_name("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize256x64x8_");
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->pixels, 256u);
  EXPECT_EQ(tile->channels, 64u);
  EXPECT_TRUE(pixel_tile_by_name("sm80_xmma_dgrad_implicit_gemm_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3"));
  EXPECT_FALSE(pixel_tile_by_name("sm80_xmma_fprop_implicit_gemm_f32f32_f32_nhwckrsc_nhwc_tilesize256x64x8_stage3"));
  EXPECT_FALSE(pixel_tile_by_name("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3"));
}

TEST(KernelNames, RandomNumbersAndDropoutAreLoops) {
  const auto uniform = loop_by_name("_ZN2at6native43distribution_elementwise_grid_stride_kernelIfLi4EZNS0");
  ASSERT_TRUE(uniform);
  EXPECT_EQ(uniform->bytes_per_access * uniform->unroll, 16u);
  EXPECT_EQ(loop_by_name("_ZN2at6native43distribution_elementwise_grid_stride_kernelIdLi2EZNS0")->unroll, 2u);
  EXPECT_EQ(loop_by_name("fused_dropout_kernel_vecIffjLi1ELi4EbEEv")->bytes_per_access, 16u);
  EXPECT_FALSE(loop_by_name("_ZN2at6native29vectorized_elementwise_kernelILi4E"));
}

}  // namespace
}  // namespace uvmsim::trace
