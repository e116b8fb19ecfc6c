// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/roofline.h"

#include <algorithm>
#include <array>

#include "sim/common/error.h"
#include "sim/common/random.h"

namespace uvmsim::llm {
namespace {

// The fraction of the peaks that a kind of kernel reaches, in thousandths, and its start-up time. A peak of 0 is no
// limit.
struct Reached {
  std::uint64_t fp32_flops, half_flops;         // thousandths of the peak
  std::uint64_t bandwidth;                      // thousandths
  std::uint64_t thousandth_elements_per_cycle;  // of one SM
  std::uint64_t start_ns;
};

// Measured: medians over kernels of that kind in recordings on an H200: for fp32 `gpt2_b32` and `vit`, for 16 bits
// `llm_train` and `llm_generate`, for bandwidths all four. README.md compares the resulting kernel times with the
// recordings.
constexpr std::array<Reached, 11> kReached = {{
    {0, 0, 900, 0, 1100},      // kStream
    {0, 0, 820, 2400, 1500},   // kOptimizer
    {0, 0, 870, 1200, 1500},   // kStrided
    {0, 0, 280, 0, 1500},      // kConcatenate
    {0, 0, 690, 0, 1500},      // kDropout
    {0, 0, 800, 0, 2500},      // kRows
    {0, 0, 540, 0, 2500},      // kLongRows
    {0, 0, 400, 0, 9000},      // kColumns
    {740, 780, 870, 0, 4000},  // kProduct
    {570, 300, 700, 0, 3000},  // kBatchedProduct
    {300, 300, 870, 0, 4000},  // kAttention
}};

std::uint64_t ns_of(WideUnsigned amount, std::uint64_t per_us, std::uint64_t thousandths) {
  if (per_us == 0 || thousandths == 0) return 0;
  return static_cast<std::uint64_t>(amount * 1000 * 1000 / (static_cast<WideUnsigned>(per_us) * thousandths));
}

}  // namespace

Roofline::Roofline(const config::GpuConfig& gpu, Number number)
    : flops_per_us_(number == Number::kFloat32 ? gpu.fp32_flops_per_us : gpu.half_flops_per_us),
      bytes_per_us_(gpu.memory_bytes_per_us),
      sm_cycles_per_us_(gpu.sm_count * (gpu.sm_clock_khz / 1000)),
      half_(number != Number::kFloat32) {
  if (flops_per_us_ == 0) throw_input_error("{}: no peak for 16-bit products (half_flops_per_us)", gpu.model);
}

std::int64_t Roofline::time_ns(const Work& work, std::uint64_t bytes) const {
  const Reached& reached = kReached.at(static_cast<std::size_t>(work.kind));
  const std::uint64_t longest =
      std::max({ns_of(work.flops, flops_per_us_, half_ ? reached.half_flops : reached.fp32_flops),
                ns_of(bytes, bytes_per_us_, reached.bandwidth),
                ns_of(work.elements, sm_cycles_per_us_, reached.thousandth_elements_per_cycle)});
  return static_cast<std::int64_t>(longest + reached.start_ns);
}

}  // namespace uvmsim::llm
