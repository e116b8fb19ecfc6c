// SPDX-License-Identifier: Apache-2.0
// Patterns in which every thread computes one element of a row-major matrix. The launch says which thread blocks touch
// which rows and columns; the kernels state it as phases. The help texts at the end of this file describe the accesses
// of each.
#include <algorithm>
#include <numeric>

#include "sim/common/error.h"
#include "sim/common/fixed_log.h"
#include "sim/generate/generate_patterns.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

// The elements that the threads of a block compute.
struct BlockShape {
  std::uint64_t columns = 0, rows = 0;
};

// Returns blocks as PolyBench launches them: a warp side by side, the other warps below.
BlockShape block_of_warps(const GeneratorOptions& options) {
  constexpr std::uint64_t kWarp = 32;
  if (options.block % kWarp != 0) throw_input_error("block is {}; allowed: multiples of {}", options.block, kWarp);
  return {kWarp, options.block / kWarp};
}

BlockShape square_block(const GeneratorOptions& options) {
  const std::uint64_t edge = integer_sqrt(options.block);
  if (edge * edge != options.block) {
    throw_input_error("block is {}; allowed: squares, such as 256 (16 x 16) or 1024 (32 x 32)", options.block);
  }
  return {edge, edge};
}

// A program with a matrix whose rows are whole pages, one thread for each element. The grid's x counts columns of
// thread blocks, y rows.
class ElementPerThread : public SyntheticProgram {
 protected:
  ElementPerThread(const GeneratorOptions& options, const BlockShape& block)
      : SyntheticProgram(options), element_bytes_(element_bytes_of(options)), block_(block) {}

  void set_matrix(std::uint64_t rows, std::uint64_t row_bytes) {
    rows_ = rows;
    row_pages_ = row_bytes / kPageBytes;
    columns_ = row_bytes / element_bytes_;
    grid_x_ = columns_ / block_.columns;
    grid_y_ = rows_ / block_.rows;
    if (grid_x_ > INT32_MAX || grid_x_ * grid_y_ > kMaxGridBlocks) {
      throw_input_error("{} rows of {} thread blocks; allowed: up to {} in a row, {} in all", grid_y_, grid_x_,
                        INT32_MAX, kMaxGridBlocks);
    }
  }
  void check_phases(std::uint64_t phases) const {
    if (phases > kMaxPhases) throw_input_error("{} phases in one kernel; allowed: up to {}", phases, kMaxPhases);
  }
  void launch(Kernel& kernel) const {
    kernel.grid.x = static_cast<std::uint32_t>(grid_x_);
    kernel.grid.y = static_cast<std::uint32_t>(grid_y_);
    kernel.block.x = static_cast<std::uint32_t>(block_.columns);
    kernel.block.y = static_cast<std::uint32_t>(block_.rows);
    kernel.bytes_per_thread_access = static_cast<std::uint32_t>(element_bytes_);
  }
  // Rows [first, end).
  Extent rows(std::uint64_t first, std::uint64_t end, AccessMode mode) const {
    return {first * row_pages_, (end - first) * row_pages_, mode};
  }

  const std::uint64_t element_bytes_;
  const BlockShape block_;
  std::uint64_t rows_ = 0, columns_ = 0, row_pages_ = 0;
  std::uint64_t grid_x_ = 0, grid_y_ = 0;
};

class ConvolutionPerThread final : public ElementPerThread {
 public:
  explicit ConvolutionPerThread(const GeneratorOptions& options) : ElementPerThread(options, block_of_warps(options)) {
    const std::uint64_t bands = options.bytes / 2 / options.stride_bytes / block_.rows;
    if (bands == 0) {
      throw_input_error("bytes is {}; allowed: at least two matrices of {} rows of {} (stride-bytes)", options.bytes,
                        block_.rows, options.stride_bytes);
    }
    set_matrix(bands * block_.rows, options.stride_bytes);
    per_phase_ = options.blocks_per_phase == 0 ? grid_x_ : options.blocks_per_phase;
    if (per_phase_ > grid_x_ || grid_x_ % per_phase_ != 0) {
      throw_input_error("blocks-per-phase is {}; allowed: divisors of the {} thread blocks of a row", per_phase_,
                        grid_x_);
    }
    check_phases(grid_y_ * (grid_x_ / per_phase_));
    for (int i = 0; i < 2; ++i) add_object(rows_ * options.stride_bytes);
  }

 private:
  void fill(std::uint64_t, std::uint64_t, Kernel& kernel) override {
    launch(kernel);
    kernel.accesses = {{1, {rows(0, rows_, AccessMode::kRead)}}, {2, {rows(0, rows_, AccessMode::kWrite)}}};
    for (std::uint64_t b = 0; b < grid_x_ * grid_y_; b += per_phase_) {
      const std::uint64_t row = b / grid_x_ * block_.rows, column = b % grid_x_ * block_.columns;
      const std::uint64_t end_row = row + block_.rows, end_column = column + per_phase_ * block_.columns;
      kernel.phases.edit().push_back(
          {b,
           per_phase_,
           {{0, part(before(row), std::min(end_row + 1, rows_), before(column), end_column + 1, AccessMode::kRead)},
            {1, part(row, end_row, column, end_column, AccessMode::kWrite)}}});
    }
  }
  static std::uint64_t before(std::uint64_t place) { return place == 0 ? 0 : place - 1; }
  // The pages of columns [column, end_column) of some rows.
  std::vector<Extent> part(std::uint64_t row, std::uint64_t end_row, std::uint64_t column, std::uint64_t end_column,
                           AccessMode mode) const {
    const std::uint64_t first = column * element_bytes_ / kPageBytes;
    const std::uint64_t end = std::min((end_column * element_bytes_ + kPageBytes - 1) / kPageBytes, row_pages_);
    std::vector<Extent> extents;
    if (end - first == row_pages_) {
      extents.push_back(rows(row, end_row, mode));
      return extents;
    }
    for (; row < end_row; ++row) extents.push_back({row * row_pages_ + first, end - first, mode});
    return extents;
  }

  std::uint64_t per_phase_ = 0;
};

// The blocks of a row walk through B together, from its first row to its last, as in a grid-stride loop.
class ProductPerThread final : public ElementPerThread {
 public:
  enum class Staging : std::uint8_t { kNone, kShared };

  ProductPerThread(const GeneratorOptions& options, Staging staging)
      : ElementPerThread(options, staging == Staging::kShared ? square_block(options) : block_of_warps(options)),
        staging_(staging) {
    const std::uint64_t unit = std::lcm(std::lcm(kPageBytes / element_bytes_, block_.rows), block_.columns);
    const std::uint64_t n = integer_sqrt(options.bytes / 3 / element_bytes_) / unit * unit;
    if (n == 0) {
      throw_input_error("bytes is {}; allowed: at least three matrices of {} x {} elements, {} in all", options.bytes,
                        unit, unit, 3 * unit * unit * element_bytes_);
    }
    set_matrix(n, n * element_bytes_);
    check_phases(grid_y_);
    for (int i = 0; i < 3; ++i) add_object(n * n * element_bytes_);
  }

 private:
  void fill(std::uint64_t, std::uint64_t, Kernel& kernel) override {
    const bool shared = staging_ == Staging::kShared;
    const AccessMode result = shared ? AccessMode::kWrite : AccessMode::kReadWrite;
    launch(kernel);
    kernel.distribution = Distribution::kGridStride;
    if (shared) {
      const std::uint64_t tiles = 2 * block_.rows * block_.columns * element_bytes_;  // of A and of B
      kernel.shared_bytes_per_block = static_cast<std::uint32_t>(tiles);
    }
    kernel.accesses = {{1, {rows(0, rows_, AccessMode::kRead)}},
                       {2, {rows(0, rows_, AccessMode::kRead)}},
                       {3, {rows(0, rows_, result)}}};
    for (std::uint64_t y = 0; y < grid_y_; ++y) {
      const std::uint64_t row = y * block_.rows, end_row = row + block_.rows;
      kernel.phases.edit().push_back({y * grid_x_,
                                      grid_x_,
                                      {{0, {rows(row, end_row, AccessMode::kRead)}},
                                       {1, kernel.accesses[1].extents},
                                       {2, {rows(row, end_row, result)}}}});
    }
  }

  Staging staging_;
};

}  // namespace

std::span<const GeneratorPattern> element_patterns() {
  static constexpr GeneratorPattern kPatterns[] = {
      {"convolution_per_thread",
       "every thread computes an element of one matrix from its 3 x 3 neighbours in another one (PolyBench 2DCONV); "
       "bytes/2 each, rows of stride-bytes; thread blocks of 32 columns and r = block / 32 rows, phases of "
       "blocks-per-phase blocks",
       "S = bytes / 2, m phases of whole rows of thread blocks: they read S + 2 (m - 1) stride-bytes and write S. "
       "With room for r + 2 rows every page comes once under LRU.",
       make_pattern<ConvolutionPerThread>},
      {"product_per_thread",
       "C = A x B + C, n x n elements; every thread walks a row of A and a column of B and reads and writes its "
       "element of C (PolyBench GEMM); thread blocks of 32 columns and block / 32 rows, a phase per row of thread "
       "blocks, which walks through B row by row",
       "With m = n / (block / 32) phases: A and C once, B m times, so |A| + m |B| + |C| bytes over all phases. If B "
       "does not fit, LRU moves that much; with r rows of thread blocks at a time |A| + m / r |B| + |C|.",
       make_pattern<ProductPerThread, ProductPerThread::Staging::kNone>},
      {"product_tiled",
       "C = A x B, n x n elements; thread blocks of t x t threads (block = t x t) stage tiles of A and of B in shared "
       "memory and write C; a phase per row of thread blocks, which walks through B by t rows",
       "As product_per_thread, with m = n / t phases.",
       make_pattern<ProductPerThread, ProductPerThread::Staging::kShared>},
  };
  return kPatterns;
}

}  // namespace uvmsim::trace
