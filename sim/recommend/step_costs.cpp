// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/step_costs.h"

#include <algorithm>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/random.h"

namespace uvmsim::recommend {

namespace {

// The shortest kernel: an empty one between two events, less the cost of the events.
constexpr std::int64_t kShortestKernel = 2000;
// Bytes that a row costs in addition to its own, by operation.
constexpr std::uint64_t kReadExtra = 96, kWriteExtra = 256, kUpdateExtra = 320;
// Sort and run lengths: 66 us, and 54 ns per 1000 ids.
constexpr std::uint64_t kUniqueNs = 66000, kUniquePerThousand = 54;
constexpr std::int64_t kLongest = std::int64_t{1} << 50;

std::int64_t nanoseconds_of(WideUnsigned amount, std::uint64_t per_us) {
  const WideUnsigned ns = (amount * 1000 + per_us - 1) / per_us;
  return ns > static_cast<WideUnsigned>(kLongest) ? kLongest : static_cast<std::int64_t>(ns);
}

std::uint64_t peak(const config::GpuConfig& gpu, Precision precision) {
  switch (precision) {
    case Precision::kTf32:
      return gpu.tf32_flops_per_us != 0 ? gpu.tf32_flops_per_us : gpu.fp32_flops_per_us;
    case Precision::kHalf:
      return gpu.half_flops_per_us != 0 ? gpu.half_flops_per_us : gpu.fp32_flops_per_us;
    default:
      return gpu.fp32_flops_per_us;
  }
}

struct Layer {
  std::uint64_t inputs, outputs;
  bool bottom;
  std::uint64_t weights, biases;
};

std::vector<Layer> dense_layers(const Workload& workload) {
  const Dense& dense = workload.dense;
  std::vector<Layer> layers;
  const auto linear = [&](std::uint64_t inputs, std::uint64_t outputs, bool bottom, bool biased) {
    layers.push_back({inputs, outputs, bottom, inputs * outputs, biased ? outputs : 0});
  };
  for (std::size_t i = 0; i + 1 < dense.bottom_mlp.size(); ++i) {
    linear(dense.bottom_mlp[i], dense.bottom_mlp[i + 1], true, true);
  }
  const std::uint64_t features = workload.rows.size() + 1, width = features * workload.dimension;
  std::uint64_t inputs = width;
  for (std::uint32_t layer = 0; layer < dense.cross_layers; ++layer) {
    linear(width, dense.cross_rank, false, false);
    linear(dense.cross_rank, width, false, true);
  }
  if (dense.cross_layers == 0) {
    // The products of all pairs take as many operations as this layer.
    layers.push_back({width, features, false, 0, 0});
    inputs = workload.dimension + features * (features - 1) / 2;
  }
  for (const std::uint32_t outputs : dense.top_mlp) {
    linear(inputs, outputs, false, true);
    inputs = outputs;
  }
  return layers;
}

}  // namespace

StepCosts::StepCosts(const Workload& workload, const config::GpuConfig& gpu)
    : batch_(workload.batch),
      bytes_per_us_(gpu.memory_bytes_per_us),
      flops_per_us_(peak(gpu, workload.dense.precision)) {
  if (flops_per_us_ == 0) {
    throw_input_error("the system says nothing of how fast '{}' computes; allowed: gpus.0.fp32_flops_per_us above 0",
                      gpu.model);
  }
  for (const Layer& layer : dense_layers(workload)) {
    const std::int64_t ns = layer_ns(layer.inputs, layer.outputs);
    dense_forward_ns_ = std::min(kLongest, dense_forward_ns_ + ns);
    if (layer.bottom) dense_bottom_ns_ = std::min(kLongest, dense_bottom_ns_ + ns);
  }
}

std::int64_t StepCosts::stream_ns(std::uint64_t bytes) const {
  return std::max(kShortestKernel, nanoseconds_of(bytes, bytes_per_us_));
}
std::int64_t StepCosts::read_rows_ns(std::uint64_t rows, std::uint64_t row_bytes) const {
  return stream_ns(rows * (row_bytes + kReadExtra));
}
std::int64_t StepCosts::write_rows_ns(std::uint64_t rows, std::uint64_t row_bytes) const {
  return stream_ns(rows * (row_bytes + kWriteExtra));
}
std::int64_t StepCosts::update_rows_ns(std::uint64_t rows, std::uint64_t row_bytes) const {
  return stream_ns(rows * (2 * row_bytes + kUpdateExtra));
}
std::int64_t StepCosts::unique_ns(std::uint64_t ids) const {
  return static_cast<std::int64_t>(kUniqueNs + ids * kUniquePerThousand / 1000);
}

// Weights, inputs and outputs have 4 bytes each.
std::int64_t StepCosts::layer_ns(std::uint64_t inputs, std::uint64_t outputs) const {
  const WideUnsigned flops = WideUnsigned{2} * batch_ * inputs * outputs;
  const WideUnsigned bytes = 4 * (WideUnsigned{inputs} * outputs + WideUnsigned{batch_} * (inputs + outputs));
  return std::max({kShortestKernel, nanoseconds_of(flops, flops_per_us_), nanoseconds_of(bytes, bytes_per_us_)});
}

std::uint64_t dense_parameter_bytes(const Workload& workload) {
  std::uint64_t parameters = 0;
  for (const Layer& layer : dense_layers(workload)) parameters += layer.weights + layer.biases;
  return parameters * 4;
}

}  // namespace uvmsim::recommend
