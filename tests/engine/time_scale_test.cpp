// SPDX-License-Identifier: Apache-2.0
// Durations of one GPU converted to another, computed by hand.
#include "sim/engine/time_scale.h"

#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/engine/program.h"

namespace uvmsim::engine {
namespace {

// 1000 GB/s, 10 SMs at 1 GHz, 10 TFLOPS, 80 in TF32, 160 in half precision.
config::GpuConfig fast() {
  config::GpuConfig gpu;
  gpu.model = "fast";
  gpu.memory_bytes_per_us = 1000000;
  gpu.sm_count = 10;
  gpu.sm_clock_khz = 1000000;
  gpu.fp32_flops_per_us = 10000000;
  gpu.tf32_flops_per_us = 80000000;
  gpu.half_flops_per_us = 160000000;
  return gpu;
}
// A quarter of the bandwidth, SMs times clock 5 to 8, clock 10 to 8, 2 TFLOPS, 40 in half precision, no TF32.
config::GpuConfig slow() {
  config::GpuConfig gpu = fast();
  gpu.model = "slow";
  gpu.memory_bytes_per_us = 250000;
  gpu.sm_count = 5;
  gpu.sm_clock_khz = 800000;
  gpu.fp32_flops_per_us = 2000000;
  gpu.tf32_flops_per_us = 0;
  gpu.half_flops_per_us = 40000000;
  return gpu;
}

// Makes a kernel that reads one object, in quanta of 1000 bytes.
trace::Kernel kernel(const std::string& name, std::int64_t duration_ns, std::uint64_t kilobytes) {
  trace::Kernel k;
  k.name = name;
  k.duration_ns = duration_ns;
  k.accesses = {{1, {{0, kilobytes, trace::AccessMode::kRead}}}};
  return k;
}

std::int64_t scaled(trace::Kernel k, TimeScaleResult* result = nullptr) {
  TimeScale scale({0, fast()}, slow(), 1000);
  scale.apply(k);
  if (result != nullptr) *result = scale.result();
  return k.duration_ns;
}

TEST(TimeScale, FactorsAreTheRatiosOfThePeaks) {
  const TimeScaleResult r = TimeScale({0, fast()}, slow(), 512).result();
  EXPECT_EQ(r.rule, TimeScaleRule::kRoofline);
  EXPECT_EQ(r.recorded_on, "fast");
  EXPECT_EQ(r.memory.millionths, 4000000u);
  EXPECT_EQ(r.fp32.millionths, 5000000u);
  EXPECT_EQ(r.tf32.millionths, 40000000u);  // in fp32, as the GPU has no TF32
  EXPECT_EQ(r.half.millionths, 4000000u);
  EXPECT_EQ(r.sm.millionths, 2500000u);
  EXPECT_EQ(r.clock.millionths, 1250000u);
}

TEST(TimeScale, MemoryBound) {
  // 90 MB in 100 us are 900 GB/s, nine tenths of the peak: memory limits all of its time.
  TimeScaleResult result;
  EXPECT_EQ(scaled(kernel("copy", 100000, 90000), &result), 400000);
  EXPECT_EQ(result.memory.kernels, 1u);
  EXPECT_EQ(result.memory.recorded_ns, 100000u);
  EXPECT_EQ(result.memory.scaled_ns, 400000u);
  // more than the peak, so the data come from caches
  EXPECT_EQ(scaled(kernel("copy", 100000, 500000), nullptr), 400000);
  EXPECT_EQ(scaled(kernel("gemm", 100000, 90000)), 400000);  // whatever it computes
}

TEST(TimeScale, PartlyMemory) {
  // 72 MB in 100 us: 80 us of memory, which take 320 on the other GPU; its own work takes 250. The longer one counts.
  TimeScaleResult result;
  EXPECT_EQ(scaled(kernel("strided", 100000, 72000), &result), 320000);
  EXPECT_EQ(result.memory.kernels, 1u);
  // 50 us of memory, which take 200 on the other GPU
  EXPECT_EQ(scaled(kernel("strided", 100000, 45000), &result), 250000);
  EXPECT_EQ(result.sm.kernels, 1u);
  EXPECT_EQ(result.memory.kernels, 0u);
}

TEST(TimeScale, ComputeBound) {
  TimeScaleResult result;
  EXPECT_EQ(scaled(kernel("volta_sgemm_128x64_nn", 100000, 9000), &result), 500000);
  EXPECT_EQ(result.fp32.kernels, 1u);
  EXPECT_EQ(scaled(kernel("cutlass_80_tensorop_s1688gemm_128x128", 100000, 9000), &result), 4000000);
  EXPECT_EQ(result.tf32.kernels, 1u);
  EXPECT_EQ(scaled(kernel("ampere_fp16_s16816gemm_fp16_128x64", 100000, 9000), &result), 400000);
  EXPECT_EQ(result.half.kernels, 1u);
  EXPECT_EQ(scaled(kernel("max_pool", 100000, 9000), &result), 250000);
  EXPECT_EQ(result.sm.kernels, 1u);
  trace::Kernel tiled = kernel("my_product", 100000, 9000);
  tiled.distribution = trace::Distribution::kTiled;
  EXPECT_EQ(scaled(tiled), 500000);
}

TEST(TimeScale, ShortKernels) {
  TimeScaleResult result;
  EXPECT_EQ(scaled(kernel("sgemm", 4000, 1), &result), 5000);
  EXPECT_EQ(result.clock.kernels, 1u);
  EXPECT_EQ(scaled(kernel("sgemm", 5000, 1)), 25000);
  EXPECT_EQ(scaled(kernel("fill", 4000, 3600)), 16000);  // short, but all of it memory
}

TEST(TimeScale, PhasesAndWritesCount) {
  // 45 MB, read in two phases, or read and written: 90 MB either way.
  trace::Kernel twice = kernel("row_sums", 100000, 45000);
  for (const std::uint64_t first : {0, 1}) {
    twice.phases.edit().push_back({first, 1, {{0, {{0, 45000, trace::AccessMode::kRead}}}}});
  }
  EXPECT_EQ(scaled(twice), 400000);
  trace::Kernel both = kernel("add", 100000, 0);
  both.accesses = {{1, {{0, 45000, trace::AccessMode::kReadWrite}}}};
  EXPECT_EQ(scaled(both), 400000);
}

TEST(TimeScale, TheSameGpuChangesNothing) {
  TimeScale scale({0, fast()}, fast(), 1000);
  for (const std::int64_t duration : {1, 4999, 5000, 123457, 1000000007}) {
    for (const std::uint64_t kilobytes : {1, 100, 111111, 100000000}) {
      for (const char* name : {"sgemm", "copy"}) {
        trace::Kernel k = kernel(name, duration, kilobytes);
        scale.apply(k);
        EXPECT_EQ(k.duration_ns, duration);
      }
    }
  }
}

TEST(TimeScale, UnknownGpuAndFixedFactor) {
  TimeScale none({0, std::nullopt}, slow(), 512);
  trace::Kernel k = kernel("copy", 1001, 900);
  none.apply(k);
  EXPECT_EQ(k.duration_ns, 1001);
  EXPECT_EQ(none.result().rule, TimeScaleRule::kNone);

  TimeScale fixed({1500000, fast()}, slow(), 512);
  fixed.apply(k);
  EXPECT_EQ(k.duration_ns, 1502);  // 1501.5, rounded half up
  EXPECT_EQ(fixed.result().rule, TimeScaleRule::kFixed);
  EXPECT_EQ(fixed.result().factor_millionths, 1500000u);

  k.duration_ns = std::int64_t{1} << 62;
  EXPECT_THROW(fixed.apply(k), InputError);
}

// Names as in the libraries.
TEST(TimeScale, Arithmetic) {
  const auto of = [](const char* name) {
    trace::Kernel k;
    k.name = name;
    return arithmetic_of(k);
  };
  EXPECT_EQ(of("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x128x8"), Arithmetic::kFp32);
  EXPECT_EQ(of("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16"),
            Arithmetic::kTf32);
  EXPECT_EQ(of("_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE"), Arithmetic::kFp32);
  EXPECT_EQ(of("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64"), Arithmetic::kHalf);
  EXPECT_EQ(of("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"), Arithmetic::kHalf);
  EXPECT_EQ(of("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7"), Arithmetic::kHalf);
  EXPECT_EQ(of("_Z39fmha_cutlassF_f32_aligned_64x64_rf_sm80N22PyTorchMemEffAttention15AttentionKernelE"),
            Arithmetic::kTf32);
  EXPECT_EQ(of("_Z17wgrad_alg0_engineIfLi128ELi5ELi5ELi3ELi3ELi3ELb0ELi512EEviiiPKT_iPT0_S2_"), Arithmetic::kFp32);
  EXPECT_EQ(of("_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_addIN3c108BFloat16EEEE"),
            Arithmetic::kOther);
}

// In a run kernels are scaled, the host's time is not, and the ideal time changes accordingly.
TEST(TimeScale, InARun) {
  const auto program = [](std::int64_t gap_ns) {
    uvmsim::Program p;
    const auto id = p.alloc(4 * kMiB);
    p.host(id);
    trace::Kernel& k = p.kernel("max_pool", 300000, {id});
    k.host_gap_ns = gap_ns;
    p.sync();
    return p;
  };
  RunOptions options = options_with(0);
  const RunResult as_recorded = program(0).run(options);
  EXPECT_EQ(as_recorded.time_scale.rule, TimeScaleRule::kNone);
  options.time_scale.factor_millionths = 3000000;
  const RunResult longer = program(0).run(options);
  EXPECT_EQ(longer.counters.kernel_compute_ns, 900000u);
  EXPECT_EQ(longer.ideal.value - as_recorded.ideal.value, 600000);
  options.time_scale.factor_millionths = 1000000;
  const RunResult same = program(0).run(options);
  EXPECT_EQ(same.total, as_recorded.total);
  options.time_scale.factor_millionths = 3000000;
  EXPECT_EQ((program(50000).run(options).ideal - longer.ideal).value, 50000);
}

}  // namespace
}  // namespace uvmsim::engine
