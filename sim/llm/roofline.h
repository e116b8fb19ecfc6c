// SPDX-License-Identifier: Apache-2.0
// How long a kernel takes on a GPU with everything resident: as long as its arithmetic, its bytes or its elements take,
// whichever is longest, and its start. Peaks are those of the system's file; which part of them a kind of kernel
// reaches was measured on recordings (README.md: of which, and how far the sum is from the recordings' own times).
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
  // Throws InputError where the GPU's file has no peak for the number format.
  Roofline(const config::GpuConfig& gpu, Number number);

  // `bytes`: read and written; what is both counts twice.
  std::int64_t time_ns(const Work& work, std::uint64_t bytes) const;

 private:
  std::uint64_t flops_per_us_, bytes_per_us_, sm_cycles_per_us_;
  bool half_;
};

}  // namespace uvmsim::llm
