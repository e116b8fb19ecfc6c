// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/experiment_program.h"

#include <gtest/gtest.h>

namespace uvmsim::validate {
namespace {

Allocation tensor(std::vector<std::uint64_t> shape, bool output) {
  Allocation result;
  result.output = output;
  result.bytes = 4;
  for (const std::uint64_t size : shape) result.bytes *= size;
  result.shape = std::move(shape);
  return result;
}

TEST(KernelEstimate, FlopsOfAMatrixProduct) {
  Experiment experiment;
  experiment.allocations = {tensor({4096, 768}, false), tensor({3072, 768}, false), tensor({4096, 3072}, true)};
  MeasuredKernel kernel;
  kernel.name = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n";
  EXPECT_EQ(library_flops(experiment, kernel), 2ull * 4096 * 768 * 3072);
  kernel.name = "vectorized_elementwise_kernel";
  EXPECT_EQ(library_flops(experiment, kernel), 0u);
}

TEST(KernelEstimate, FlopsOfAConvolutionWhicheverTensorIsComputed) {
  const std::uint64_t flops = 2ull * 32 * 64 * 128 * 128 * (48 * 3 * 3);
  MeasuredKernel kernel;
  kernel.name = "sm80_xmma_fprop_implicit_gemm";
  Experiment forward;
  forward.allocations = {tensor({32, 48, 128, 128}, false), tensor({64, 48, 3, 3}, false),
                         tensor({32, 64, 128, 128}, true)};
  EXPECT_EQ(library_flops(forward, kernel), flops);
  kernel.name = "sm80_xmma_dgrad_implicit_gemm";
  Experiment data_gradient;
  data_gradient.allocations = {tensor({32, 64, 128, 128}, false), tensor({64, 48, 3, 3}, false),
                               tensor({32, 48, 128, 128}, true)};
  EXPECT_EQ(library_flops(data_gradient, kernel), flops);
}

TEST(KernelEstimate, HugeShapesDoNotOverflow) {
  Experiment experiment;
  experiment.allocations = {tensor({1, 1}, false), tensor({1, 1}, true)};
  experiment.allocations[0].shape = {1ull << 40, 1ull << 40};
  experiment.allocations[1].shape = {1ull << 40, 1ull << 40};
  MeasuredKernel kernel;
  kernel.name = "gemm";
  EXPECT_GT(library_flops(experiment, kernel), 1ull << 60);
  config::GpuConfig gpu;
  gpu.fp32_flops_per_us = 1;
  EXPECT_GT(library_ns(experiment, kernel, gpu), 0);
}

TEST(KernelEstimate, SmallGridsAreBoundByLatency) {
  config::GpuConfig gpu;
  gpu.memory_bytes_per_us = 4800000;
  const std::uint64_t bytes = 256ull << 20;
  EXPECT_GT(stream_ns(bytes, 8, true, gpu), 5 * stream_ns(bytes, 1056, true, gpu));
  EXPECT_EQ(stream_ns(bytes, 100000, true, gpu), stream_ns(bytes, 200000, true, gpu));
}

}  // namespace
}  // namespace uvmsim::validate
