// SPDX-License-Identifier: Apache-2.0
// The time of a kernel on a GPU with everything resident: its start-up time plus the longest of the times of its
// arithmetic, its bytes and its elements. Peaks are those of the system's file. The fraction of the peaks that a kind
// of kernel reaches was measured on recordings; README.md names them and compares the resulting kernel times with
// theirs.
#pragma once

#include <cstdint>

#include "sim/config/system.h"
#include "sim/llm/model.h"

namespace uvmsim::llm {

enum class Kind : std::uint8_t {
  kStream,          // contiguous, element by element: adds, fills, copies
  kOptimizer,       // the same over pieces of many tensors
  kStrided,         // element by element through strides: transposes, broadcasts, rotations
  kConcatenate,     // joins tensors
  kDropout,         // draws random numbers
  kRows,            // norms, softmax of short rows, gathers
  kLongRows,        // softmax over a vocabulary
  kColumns,         // sums over rows: gradients of biases and of norms
  kProduct,         // of matrices
  kBatchedProduct,  // of many small ones: scores and sums of eager attention
  kAttention,       // fused attention
};

struct Work {
  Kind kind = Kind::kStream;
  std::uint64_t flops = 0;     // multiplications and additions
  std::uint64_t elements = 0;  // of the output, of kStrided and kOptimizer
};

class Roofline {
 public:
  // Throws InputError if the GPU's file has no peak for the number format.
  Roofline(const config::GpuConfig& gpu, Number number);

  // `bytes` are read or written; bytes that are both count twice.
  std::int64_t time_ns(const Work& work, std::uint64_t bytes) const;

 private:
  std::uint64_t flops_per_us_, bytes_per_us_, sm_cycles_per_us_;
  bool half_;
};

}  // namespace uvmsim::llm
