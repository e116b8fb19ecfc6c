// SPDX-License-Identifier: Apache-2.0
// The library's kernel for a matrix product: its name, which tells the simulator the tile and the operands' layout, and
// its grid.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/llm/model.h"
#include "sim/trace/record.h"

namespace uvmsim::llm {

// How the operands lie in memory, in the letters of cuBLAS, for a row-major result of rows x columns.
enum class Operands : std::uint8_t {
  kTn,  // the summed dimension runs along rows of memory in both: x times a weight of [out, in]
  kNn,  // along rows of the first only: x times a weight of [in, out]
  kNt,  // along rows of neither: the gradient of a weight
};

// Sizes of a product of matrices: rows x sum times sum x columns, `batches` times.
struct ProductShape {
  std::uint64_t rows = 1, sum = 1, columns = 1, batches = 1;
};

struct ProductKernel {
  std::string_view name;
  trace::Dim3 grid;
};

// Follows the choices that cuBLAS 13 made on an H200 in the recordings `gpt2`, `bert`, `llm_train` and `llm_generate`:
// of a few tiles that which fills the SMs best, and slices of the summed dimension where no tile fills them.
ProductKernel product_kernel(const ProductShape& shape, Operands operands, Number number, std::uint64_t sm_count);

}  // namespace uvmsim::llm
