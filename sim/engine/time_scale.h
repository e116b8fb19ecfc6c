// SPDX-License-Identifier: Apache-2.0
// Scales kernel durations recorded on one GPU to another GPU, by a roofline.
//
// A trace says how long a kernel took and which bytes it touched. Phases count, so that bytes that later thread blocks
// read again count again. Two limits apply to a kernel:
//  - memory. Streaming kernels reach 0.9 of the peak bandwidth (the median of the kernels of six training programs that
//    do nothing but stream is 0.90). A kernel of B bytes that took d spent the time m = min(d, B / (0.9 bandwidth)) in
//    memory, and on another GPU spends m * (bandwidth ratio);
//  - its own work, if memory does not explain its time (m < d). That is d, and on another GPU d * (ratio), where the
//    ratio is that of
//      the matrix peak     for matrix products, convolutions and attention, by name or marked as tiled: fp32, TF32 or
//                          half precision (fp16, bf16) as the name says;
//      SMs times clock     for all others: instructions, shared memory and caches, whose rates per SM and clock differ
//                          little between generations;
//      the clock           for kernels below 5 us, which are start, end and a few dependent accesses on any GPU.
// The kernel takes the longer of the two times; the limit behind it is the kernel's class in the result. If both GPUs
// are equal in all peaks, every duration stays exactly as it is. Host gaps belong to the host of the recording and are
// not scaled; copies and sets take their time from the system anyway.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/config/system.h"
#include "sim/trace/record.h"

namespace uvmsim {

// The rule by which recorded durations become durations on the system's GPU.
struct TimeScaleChoice {
  std::uint64_t factor_millionths = 0;           // not 0: the factor of every kernel's recorded duration
  std::optional<config::GpuConfig> recorded_on;  // factor 0: roofline from this GPU; absent: durations stay as they are
};

enum class TimeScaleRule : std::uint8_t { kNone, kFixed, kRoofline };

// "none", "fixed", "roofline"
const char* time_scale_rule_name(TimeScaleRule rule);

// The kernels of one class: their recorded and their scaled time.
struct TimeScaleClass {
  std::uint64_t millionths = 1000000;  // factor of durations
  // Kernels of the trace, each counted once, however often its iteration is repeated.
  std::uint64_t kernels = 0;
  std::uint64_t recorded_ns = 0, scaled_ns = 0;
};

struct TimeScaleResult {
  TimeScaleRule rule = TimeScaleRule::kNone;
  std::string recorded_on;                    // the GPU's model; empty: unknown
  std::uint64_t factor_millionths = 1000000;  // kFixed
  // kRoofline
  TimeScaleClass memory, fp32, tf32, half, sm, clock;
};

// Calls visit(name, factor, class) for each class, in output order.
template <class Result, class Visit>
void for_each_time_scale_class(Result& result, Visit&& visit) {
  visit("memory", result.memory.millionths, result.memory);
  visit("fp32", result.fp32.millionths, result.fp32);
  visit("tf32", result.tf32.millionths, result.tf32);
  visit("half", result.half.millionths, result.half);
  visit("sm", result.sm.millionths, result.sm);
  visit("clock", result.clock.millionths, result.clock);
}

namespace engine {

class TimeScale {
 public:
  TimeScale(const TimeScaleChoice& choice, const config::GpuConfig& target, std::uint32_t quantum_bytes);

  // Replaces the duration of a kernel. Throws InputError if it becomes longer than a trace may say.
  void apply(trace::Kernel& kernel);
  const TimeScaleResult& result() const { return result_; }

 private:
  std::uint64_t target_bytes_per_us_;
  std::uint32_t quantum_bytes_;
  TimeScaleResult result_;
};

// The arithmetic of a kernel, as far as its name says.
enum class Arithmetic : std::uint8_t { kOther, kFp32, kTf32, kHalf };
Arithmetic arithmetic_of(const trace::Kernel& kernel);

}  // namespace engine
}  // namespace uvmsim
