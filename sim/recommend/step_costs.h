// SPDX-License-Identifier: Apache-2.0
// The durations of a step's kernels with all rows in GPU memory.
//
// Rows: measured on an H200 (configs/measurements/row_gather_h200.txt) as bytes that a row costs in addition to its
// own, at the GPU's memory bandwidth. Other GPUs are assumed to have the same additional bytes: reads within 7 %,
// updates within 3 % for rows of 512 bytes. Sorting ids: measured, the same on every GPU. Dense layers: roofline, the
// lower bound.
#pragma once

#include <cstdint>

#include "sim/config/system.h"
#include "sim/recommend/workload.h"

namespace uvmsim::recommend {

class StepCosts {
 public:
  StepCosts(const Workload& workload, const config::GpuConfig& gpu);

  std::int64_t read_rows_ns(std::uint64_t rows, std::uint64_t row_bytes) const;
  std::int64_t write_rows_ns(std::uint64_t rows, std::uint64_t row_bytes) const;
  // `row_bytes` includes the optimizer's state of a row, whose cost was not measured.
  std::int64_t update_rows_ns(std::uint64_t rows, std::uint64_t row_bytes) const;
  std::int64_t stream_ns(std::uint64_t bytes) const;  // of contiguous memory
  // Sorts ids and finds the distinct ones (cub: radix sort and run lengths).
  std::int64_t unique_ns(std::uint64_t ids) const;
  // All linear layers, cross layers and products of features for a batch, in one direction.
  std::int64_t dense_forward_ns() const { return dense_forward_ns_; }
  // The part of the layers that need no embeddings.
  std::int64_t dense_bottom_ns() const { return dense_bottom_ns_; }

 private:
  std::int64_t layer_ns(std::uint64_t inputs, std::uint64_t outputs) const;

  std::uint64_t batch_, bytes_per_us_, flops_per_us_;
  std::int64_t dense_forward_ns_ = 0, dense_bottom_ns_ = 0;
};

// Bytes of the weights and biases of the dense layers, fp32.
std::uint64_t dense_parameter_bytes(const Workload& workload);

}  // namespace uvmsim::recommend
