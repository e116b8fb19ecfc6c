// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/launch_shapes.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace uvmsim::llm {
namespace {

struct Entry {
  std::string_view begin;  // of the name
  LaunchShape shape;
  std::uint32_t half_registers = 0;  // with 16-bit numbers, if it is another number
};

// Measured: as the recordings `gpt2`, `bert`, `llm_train`, `llm_generate` and `h100/moe_generate` show them
// (PyTorch 2.11, cuBLAS 13, cuDNN 9). The first entry that fits counts.
constexpr Entry kEntries[] = {
    {"vectorized_elementwise_kernel<mul>", {{128, 1, 1}, 32, 0}, 40},
    {"vectorized_elementwise_kernel<add>", {{128, 1, 1}, 32, 0}, 34},
    {"vectorized_elementwise_kernel<fill>", {{128, 1, 1}, 16, 0}},
    {"vectorized_elementwise_kernel<masked_scale>", {{128, 1, 1}, 34, 0}},
    {"vectorized_elementwise_kernel<activation_backward>", {{128, 1, 1}, 32, 0}, 40},
    {"vectorized_elementwise_kernel", {{128, 1, 1}, 32, 0}},
    {"unrolled_elementwise_kernel", {{128, 1, 1}, 32, 0}},
    {"index_elementwise_kernel", {{128, 1, 1}, 36, 0}},
    {"elementwise_kernel", {{128, 1, 1}, 18, 0}},
    {"fused_dropout_kernel_vec", {{256, 1, 1}, 51, 0}},
    {"CatArrayBatchedCopy", {{512, 1, 1}, 29, 0}, 25},
    {"multi_tensor_apply_kernel<mul>", {{512, 1, 1}, 27, 0}, 24},
    {"multi_tensor_apply_kernel", {{512, 1, 1}, 32, 0}},
    {"reduce_kernel<argmax>", {{64, 8, 1}, 32, 8208}},
    {"reduce_kernel<mean>", {{512, 1, 1}, 32, 2064}},
    {"reduce_kernel<sum>", {{32, 4, 1}, 54, 2064}},
    {"vectorized_layer_norm_kernel", {{32, 4, 1}, 39, 24}, 27},
    {"layer_norm_grad_input_kernel_vectorized", {{128, 1, 1}, 32, 16}},
    {"GammaBetaBackwardCUDAKernel", {{32, 32, 1}, 31, 8448}},
    {"softmax_warp_forward", {{32, 4, 1}, 32, 0}},
    {"softmax_warp_backward", {{32, 4, 1}, 56, 0}},
    {"cunn_SoftMaxForward", {{1024, 1, 1}, 32, 128}},
    {"cunn_SoftMaxBackward", {{512, 1, 1}, 56, 2048}, 32},
    {"nll_loss_forward_reduce", {{256, 1, 1}, 32, 2048}},
    {"nll_loss_backward_reduce", {{256, 1, 1}, 32, 0}},
    {"vectorized_gather_kernel", {{192, 1, 1}, 32, 0}},
    {"DeviceRadixSortOnesweepKernel", {{384, 1, 1}, 80, 38912}},
    {"DeviceReduceSingleTileKernel", {{256, 1, 1}, 29, 44}},
    {"DeviceSelectSweepKernel", {{384, 1, 1}, 40, 33792}},
    {"compute_grad_weight", {{768, 1, 1}, 32, 0}},
    {"sum_and_scatter", {{768, 1, 1}, 24, 0}},
    {"write_indices", {{256, 1, 1}, 32, 0}},
    {"gatherTopK", {{32, 1, 1}, 32, 128}},
    {"bitonicSortKVInPlace", {{16, 1, 1}, 52, 5632}},
    {"indexFuncLargeIndex", {{128, 1, 1}, 32, 0}},
    {"sdpa_flash_fprop_decode", {{128, 1, 1}, 121, 45376}},
    {"sdpa_flash_fprop", {{384, 1, 1}, 168, 134144}},
    {"sdpa_flash_bprop", {{384, 1, 1}, 168, 152576}},
    {"compute_dot_do_o", {{128, 1, 1}, 26, 0}},
    {"convert_dq_to_16bits", {{128, 1, 1}, 30, 0}},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8", {{128, 1, 1}, 128, 13056}},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8", {{128, 1, 1}, 121, 12672}},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x64x8", {{128, 1, 1}, 114, 12288}},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x8", {{128, 1, 1}, 218, 19200}},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x64x8", {{128, 1, 1}, 224, 18816}},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8", {{128, 1, 1}, 255, 33792}},
    {"cutlass_80_simt_sgemm", {{256, 1, 1}, 202, 49152}},
    {"nvjet_sm90_tst_64x8_64x16", {{384, 1, 1}, 168, 164308}},
    {"nvjet_sm90_tst", {{384, 1, 1}, 168, 213188}},
};

}  // namespace

LaunchShape launch_shape(std::string_view kernel, Number number) {
  for (const Entry& entry : kEntries) {
    if (!kernel.starts_with(entry.begin)) continue;
    LaunchShape shape = entry.shape;
    if (number != Number::kFloat32 && entry.half_registers != 0) shape.registers_per_thread = entry.half_registers;
    return shape;
  }
  throw std::logic_error("no launch shape of the generated kernel " + std::string(kernel));
}

std::uint32_t blocks_for(std::uint64_t amount, std::uint64_t per_block) {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>((amount + per_block - 1) / per_block, 1, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace uvmsim::llm
