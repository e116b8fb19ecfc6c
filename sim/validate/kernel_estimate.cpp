// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "sim/common/random.h"
#include "sim/validate/experiment_program.h"

namespace uvmsim::validate {

namespace {

// Step times from the pauses between the batches of stream_*_g8, in which the blocks cross present pages. measured: 32
// steps take 6.4 to 9 us when reading (four loads in flight per thread), 1.4 us when writing.
constexpr std::uint64_t kReadStepNs = 220;
constexpr std::uint64_t kWriteStepNs = 45;
constexpr std::uint64_t kBytesPerBlockStep = 256 * 16;

// The share of the peak that real kernels reach, percent. measured: sum_lastdim_48m on resident data reads 2.9 TB/s in
// all, 3.6 TB/s without its start, of 4.8.
constexpr std::uint64_t kMemoryPercent = 75;
// measured: with resident inputs the first fault comes when the first wave of blocks writes its results. matmul_2048
// (one wave) then has done 52 of 67 TFLOP/s, linear_4096x768x3072 (2.9 waves) 51, conv3x3_64c_128px (7.75 waves) 41.
constexpr std::uint64_t kMatrixPercent = 77;
constexpr std::uint64_t kConvolutionPercent = 61;

// Returns a * b, capped, because shapes come from a file.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 62;
  return b != 0 && a > limit / b ? limit : a * b;
}

// Returns the nanoseconds for `amount` at `percent` of `peak` per microsecond.
std::int64_t time_ns(std::uint64_t amount, std::uint64_t peak, std::uint64_t percent) {
  const WideUnsigned rate = static_cast<WideUnsigned>(peak) * percent;
  if (rate == 0) return 0;
  const WideUnsigned time = static_cast<WideUnsigned>(amount) * 1000 * 100 / rate;
  return static_cast<std::int64_t>(std::min<WideUnsigned>(time, std::uint64_t{1} << 60));
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_convolution(std::string_view name) {
  return contains(name, "fprop") || contains(name, "dgrad") || contains(name, "wgrad") || contains(name, "conv");
}
bool is_matrix_product(std::string_view name) { return contains(name, "gemm") || contains(name, "Gemm"); }

std::uint64_t elements(const Allocation& tensor) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : tensor.shape) count = product(count, size);
  return count;
}

// 2 x activations at the filters' output x filter volume, for whichever of the three tensors is computed.
std::uint64_t convolution_flops(const Experiment& experiment) {
  const Allocation* filter = nullptr;
  for (const Allocation& tensor : experiment.allocations) {
    if (tensor.shape.size() == 4 && (filter == nullptr || tensor.bytes < filter->bytes)) filter = &tensor;
  }
  if (filter == nullptr || filter->shape[0] == 0) return 0;
  std::uint64_t activations = 0;
  for (const Allocation& tensor : experiment.allocations) {
    if (&tensor != filter && tensor.shape.size() == 4 && tensor.shape[1] == filter->shape[0]) {
      activations = tensor.output ? elements(tensor) : std::max(activations, elements(tensor));
      if (tensor.output) break;
    }
  }
  return product(2 * activations, elements(*filter) / filter->shape[0]);
}

// 2 x results x common dimension, which is the last one of the first operand.
std::uint64_t matrix_flops(const Experiment& experiment) {
  const Allocation* first = nullptr;
  std::uint64_t results = 0;
  for (const Allocation& tensor : experiment.allocations) {
    if (tensor.output) results = std::max(results, elements(tensor));
    if (!tensor.output && first == nullptr && tensor.shape.size() >= 2) first = &tensor;
  }
  return first == nullptr ? 0 : product(2 * results, first->shape.back());
}

}  // namespace

std::int64_t stream_ns(std::uint64_t bytes, std::uint64_t grid_blocks, bool reads, const config::GpuConfig& gpu) {
  const std::uint64_t step_bytes = product(std::max<std::uint64_t>(grid_blocks, 1), kBytesPerBlockStep);
  const std::uint64_t steps = (bytes + step_bytes - 1) / step_bytes;
  const auto latency = static_cast<std::int64_t>(steps * (reads ? kReadStepNs : kWriteStepNs));
  return kLaunchNs + std::max(latency, time_ns(bytes, gpu.memory_bytes_per_us, kMemoryPercent));
}

std::uint64_t library_flops(const Experiment& experiment, const MeasuredKernel& kernel) {
  if (is_convolution(kernel.name)) return convolution_flops(experiment);
  if (is_matrix_product(kernel.name)) return matrix_flops(experiment);
  return 0;
}

std::int64_t library_ns(const Experiment& experiment, const MeasuredKernel& kernel, const config::GpuConfig& gpu) {
  std::uint64_t bytes = 0;
  for (const Allocation& tensor : experiment.allocations) bytes += tensor.bytes;
  const std::uint64_t percent = is_convolution(kernel.name) ? kConvolutionPercent : kMatrixPercent;
  return kLaunchNs + std::max(time_ns(bytes, gpu.memory_bytes_per_us, kMemoryPercent),
                              time_ns(library_flops(experiment, kernel), gpu.fp32_flops_per_us, percent));
}

}  // namespace uvmsim::validate
