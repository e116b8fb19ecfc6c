// SPDX-License-Identifier: Apache-2.0
// Patterns whose thread blocks return to pages, so that they have phases. The help texts at the end of this file
// describe the accesses of each.
#include <algorithm>

#include "sim/common/error.h"
#include "sim/common/fixed_log.h"
#include "sim/generate/generate_patterns.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

class TiledMatmul final : public SyntheticProgram {
 public:
  explicit TiledMatmul(const GeneratorOptions& options) : SyntheticProgram(options) {
    const std::uint64_t t = options.tile, e = element_bytes_of(options);
    if (t == 0 || t > 65536 || t * t * e % kPageBytes != 0) {
      throw_input_error(
          "tile is {}; allowed: up to 65536 and such that tile x tile x element-bytes is a multiple of {}", t,
          kPageBytes);
    }
    tiles_ = integer_sqrt(options.bytes / 3 / e) / t;
    if (tiles_ == 0) throw_input_error("bytes is {}; allowed: at least three tiles of {}", options.bytes, t * t * e);
    tile_pages_ = t * t * e / kPageBytes;
    per_phase_ = options.blocks_per_phase == 0 ? tiles_ : options.blocks_per_phase;
    const bool fits_row = per_phase_ <= tiles_ && tiles_ % per_phase_ == 0;
    const bool fits_rows = per_phase_ % tiles_ == 0 && tiles_ % (per_phase_ / tiles_) == 0;
    if (!fits_row && !fits_rows) {
      throw_input_error(
          "blocks-per-phase is {}; allowed: divisors of the {} tiles of a row, or whole rows that divide "
          "the matrix",
          per_phase_, tiles_);
    }
    if (tiles_ * tiles_ / per_phase_ > kMaxPhases) {
      throw_input_error("{} phases in one kernel; allowed: up to {}; choose larger tiles or more blocks per phase",
                        tiles_ * tiles_ / per_phase_, kMaxPhases);
    }
    for (int i = 0; i < 3; ++i) add_object(tiles_ * tiles_ * tile_pages_ * kPageBytes);
  }

 private:
  void fill(std::uint64_t, std::uint64_t, Kernel& kernel) override {
    const std::uint64_t row_pages = tiles_ * tile_pages_;  // in a row of tiles of A, or a column of tiles of B
    const std::uint64_t all_pages = tiles_ * row_pages;
    kernel.grid.x = static_cast<std::uint32_t>(tiles_);
    kernel.grid.y = static_cast<std::uint32_t>(tiles_);
    kernel.accesses = {{1, {{0, all_pages, AccessMode::kRead}}},
                       {2, {{0, all_pages, AccessMode::kRead}}},
                       {3, {{0, all_pages, AccessMode::kWrite}}}};
    // Linear block index b: tile row b / tiles, tile column b % tiles.
    for (std::uint64_t b = 0; b < tiles_ * tiles_; b += per_phase_) {
      const std::uint64_t rows = std::max<std::uint64_t>(1, per_phase_ / tiles_);
      const std::uint64_t columns = std::min(per_phase_, tiles_);
      kernel.phases.edit().push_back({b,
                                      per_phase_,
                                      {{0, {{b / tiles_ * row_pages, rows * row_pages, AccessMode::kRead}}},
                                       {1, {{b % tiles_ * row_pages, columns * row_pages, AccessMode::kRead}}},
                                       {2, {{b * tile_pages_, per_phase_ * tile_pages_, AccessMode::kWrite}}}}});
    }
  }

  std::uint64_t tiles_ = 0;  // along an edge of a matrix
  std::uint64_t tile_pages_ = 0;
  std::uint64_t per_phase_ = 0;
};

class RepeatedScan final : public SyntheticProgram {
 public:
  explicit RepeatedScan(const GeneratorOptions& options) : SyntheticProgram(options) {
    add_object(options.bytes / kPageBytes * kPageBytes);
    // Every phase has as many blocks as a whole pass with 16 bytes per thread would take.
    const std::uint64_t per_block = std::uint64_t{16} * options.block;
    const std::uint64_t wanted = options.grid != 0 ? options.grid / options.scans : options.bytes / per_block;
    blocks_per_scan_ = std::clamp<std::uint64_t>(wanted, 1, INT32_MAX / options.scans);
  }

 private:
  void fill(std::uint64_t, std::uint64_t, Kernel& kernel) override {
    kernel.grid.x = static_cast<std::uint32_t>(blocks_per_scan_ * options_.scans);
    add_access(kernel, 0, 0, object_pages(0));
    for (std::uint64_t scan = 0; scan < options_.scans; ++scan) {
      kernel.phases.edit().push_back({scan * blocks_per_scan_, blocks_per_scan_, {{0, kernel.accesses[0].extents}}});
    }
  }

  std::uint64_t blocks_per_scan_ = 1;
};

}  // namespace

std::span<const GeneratorPattern> block_patterns() {
  static constexpr GeneratorPattern kPatterns[] = {
      {"tiled_matmul",
       "C = A x B, n x n elements in tiles of t x t; A by rows, B by columns, C tile by tile; one thread "
       "block per tile of C, phases of blocks-per-phase blocks",
       "With phases of one row of tiles (m = n / t phases): A and C once, B m times, so |A| + m |B| + |C| "
       "bytes over all phases. If B does not fit, LRU moves exactly that much.",
       make_pattern<TiledMatmul>},
      {"repeated_scan", "one kernel whose phases each read the whole object",
       "N pages, `scans` phases: with C >= N it moves N pages; with C < N LRU moves N x scans; the "
       "optimum moves N in the first phase, then the fraction (N - C) / (N - 1).",
       make_pattern<RepeatedScan>},
  };
  return kPatterns;
}

}  // namespace uvmsim::trace
