// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/time_scale.h"

#include <algorithm>
#include <string_view>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/trace/kernel_names.h"
#include "sim/trace/limits.h"

namespace uvmsim::engine {
namespace {

constexpr std::uint64_t kMillion = 1000000;
// The part of the peak bandwidth that streaming kernels reach, in tenths.
constexpr std::uint64_t kReachedTenths = 9;
// Below this a kernel is mostly start and end: the shortest kernels of the recordings take 1 to 2 us.
constexpr std::uint64_t kShortNs = 5000;

std::uint64_t ratio(WideUnsigned recorded, WideUnsigned target) {
  if (recorded == 0 || target == 0) return kMillion;
  return static_cast<std::uint64_t>((recorded * kMillion + target / 2) / target);
}

std::uint64_t times(std::uint64_t ns, std::uint64_t millionths) {
  const WideUnsigned scaled = (WideUnsigned{ns} * millionths + kMillion / 2) / kMillion;
  constexpr auto kMost = static_cast<std::uint64_t>(trace::kMaxTimeNs);
  if (scaled > kMost) throw_input_error("a kernel of {} ns times {} millionths is too long", ns, millionths);
  return static_cast<std::uint64_t>(scaled);
}

// A GPU without tensor cores for a type computes with the next wider one.
std::uint64_t tf32_peak(const config::GpuConfig& gpu) {
  return gpu.tf32_flops_per_us != 0 ? gpu.tf32_flops_per_us : gpu.fp32_flops_per_us;
}
std::uint64_t half_peak(const config::GpuConfig& gpu) {
  return gpu.half_flops_per_us != 0 ? gpu.half_flops_per_us : tf32_peak(gpu);
}

std::uint64_t quanta_of(const std::vector<trace::Extent>& extents) {
  std::uint64_t quanta = 0;
  for (const trace::Extent& extent : extents) {
    quanta += extent.mode == trace::AccessMode::kReadWrite ? 2 * extent.count : extent.count;
  }
  return quanta;
}

// Returns the bytes that a kernel moves: bytes that are both read and written count twice.
WideUnsigned bytes_of(const trace::Kernel& kernel, std::uint32_t quantum_bytes) {
  WideUnsigned once = 0, in_phases = 0;
  for (const trace::ObjectAccess& access : kernel.accesses) once += quanta_of(access.extents);
  for (const trace::Phase& phase : kernel.phases) {
    for (const trace::PhaseAccess& access : phase.accesses) in_phases += quanta_of(access.extents);
  }
  return std::max(once, in_phases) * quantum_bytes;
}

}  // namespace

Arithmetic arithmetic_of(const trace::Kernel& kernel) {
  // Names of cuBLAS, cuDNN, CUTLASS and PyTorch.
  const std::string_view name = kernel.name;
  const bool matrix = kernel.distribution == trace::Distribution::kTiled ||
                      trace::distribution_by_name(name) == trace::Distribution::kTiled ||
                      trace::names_any(name, {"nvjet", "fmha", "flash", "sdpa"});
  if (!matrix) return Arithmetic::kOther;
  // PyTorch's attention in fp32 runs on the tensor cores, in three TF32 products.
  if (trace::names_any(name, {"tf32", "s1688", "fmha_cutlassF_f32", "fmha_cutlassB_f32"})) return Arithmetic::kTf32;
  return trace::half_precision_by_name(name) ? Arithmetic::kHalf : Arithmetic::kFp32;
}

TimeScale::TimeScale(const TimeScaleChoice& choice, const config::GpuConfig& target, std::uint32_t quantum_bytes)
    : target_bytes_per_us_(std::max<std::uint64_t>(target.memory_bytes_per_us, 1)), quantum_bytes_(quantum_bytes) {
  if (choice.recorded_on) result_.recorded_on = choice.recorded_on->model;
  if (choice.factor_millionths != 0) {
    result_.rule = TimeScaleRule::kFixed;
    result_.factor_millionths = choice.factor_millionths;
    return;
  }
  if (!choice.recorded_on) return;
  const config::GpuConfig& from = *choice.recorded_on;
  result_.rule = TimeScaleRule::kRoofline;
  result_.memory.millionths = ratio(from.memory_bytes_per_us, target.memory_bytes_per_us);
  result_.fp32.millionths = ratio(from.fp32_flops_per_us, target.fp32_flops_per_us);
  result_.tf32.millionths = ratio(tf32_peak(from), tf32_peak(target));
  result_.half.millionths = ratio(half_peak(from), half_peak(target));
  result_.sm.millionths =
      ratio(WideUnsigned{from.sm_count} * from.sm_clock_khz, WideUnsigned{target.sm_count} * target.sm_clock_khz);
  result_.clock.millionths = ratio(from.sm_clock_khz, target.sm_clock_khz);
}

void TimeScale::apply(trace::Kernel& kernel) {
  if (result_.rule == TimeScaleRule::kNone || kernel.duration_ns <= 0) return;
  const auto recorded = static_cast<std::uint64_t>(kernel.duration_ns);
  if (result_.rule == TimeScaleRule::kFixed) {
    kernel.duration_ns = static_cast<std::int64_t>(times(recorded, result_.factor_millionths));
    return;
  }
  TimeScaleClass* work_class = &result_.sm;
  if (recorded < kShortNs) {
    work_class = &result_.clock;
  } else if (const Arithmetic arithmetic = arithmetic_of(kernel); arithmetic != Arithmetic::kOther) {
    work_class = arithmetic == Arithmetic::kFp32   ? &result_.fp32
                 : arithmetic == Arithmetic::kTf32 ? &result_.tf32
                                                   : &result_.half;
  }
  // The time in memory on the target GPU; no more than the kernel's whole time was spent there.
  const std::uint64_t memory_at_most = times(recorded, result_.memory.millionths);
  const WideUnsigned memory = bytes_of(kernel, quantum_bytes_) * 1000 * 10 / kReachedTenths / target_bytes_per_us_;
  const bool all_memory = memory >= memory_at_most;
  const std::uint64_t in_memory = all_memory ? memory_at_most : static_cast<std::uint64_t>(memory);
  const std::uint64_t at_work = all_memory ? 0 : times(recorded, work_class->millionths);
  const bool memory_bound = in_memory > at_work;
  const std::uint64_t scaled = memory_bound ? in_memory : at_work;
  TimeScaleClass& bound = memory_bound ? result_.memory : *work_class;
  ++bound.kernels;
  bound.recorded_ns += recorded;
  bound.scaled_ns += scaled;
  kernel.duration_ns = static_cast<std::int64_t>(scaled);
}

}  // namespace uvmsim::engine

namespace uvmsim {

const char* time_scale_rule_name(TimeScaleRule rule) {
  switch (rule) {
    case TimeScaleRule::kNone:
      break;
    case TimeScaleRule::kFixed:
      return "fixed";
    case TimeScaleRule::kRoofline:
      return "roofline";
  }
  return "none";
}

}  // namespace uvmsim
