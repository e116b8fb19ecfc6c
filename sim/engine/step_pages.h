// Which pages a unit touches in a step: the access patterns of kernel_work.h as code.
#pragma once

#include <algorithm>

#include "sim/engine/kernel_work.h"

namespace uvmsim::engine {

inline constexpr std::uint32_t kWarpThreads = 32;
inline constexpr std::uint64_t kTileMarchPages = 16;  // tile kernels march in steps of 64 KB

// f(run, warps, scattered): `warps` warps of the unit access each page; scattered: one warp instruction touches many
// pages.
template <class F>
void slice_pages(const KernelWork& work, const Section& section, std::uint64_t unit, std::uint32_t step, bool stores,
                 F&& f) {
  for (const Operand& operand : section.operands) {
    if (operand.write != stores || operand.skip) continue;
    const std::uint64_t begin = operand.pages * unit / section.units;
    const std::uint64_t end = (operand.pages * (unit + 1) + section.units - 1) / section.units;
    const std::uint64_t n = end - begin;
    if (work.rows && n > 1) {
      // Each warp walks its own part of the slice.
      std::uint64_t previous = ~std::uint64_t{0};
      std::uint32_t sharing = 0;
      for (std::uint64_t w = 0; w < work.warps; ++w) {
        const std::uint64_t page = begin + n * (w * section.steps + step) / (std::uint64_t{work.warps} * section.steps);
        if (page != previous && sharing != 0) {
          f(operand.run(previous, previous + 1), sharing, false);
          sharing = 0;
        }
        previous = page;
        ++sharing;
      }
      f(operand.run(previous, previous + 1), sharing, false);
      continue;
    }
    // A result much smaller than the input is written when the block is done.
    if (stores && operand.pages * 64 < section.longest && step + 1 != section.steps) continue;
    const std::uint64_t first = begin + n * step / section.steps;
    const std::uint64_t stop = begin + (n * (step + 1) + section.steps - 1) / section.steps;
    const auto sharing = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, work.warps / (stop - first)));
    operand.for_each_run(first, stop, [&](const PageRun& run) { f(run, sharing, false); });
  }
}

template <class F>
void stride_pages(const KernelWork& work, const Section& section, std::uint64_t unit, std::uint32_t step, bool stores,
                  F&& f) {
  // Piece k * G + b of `pieces` equal pieces of each operand.
  const std::uint64_t piece = std::uint64_t{step} * section.units + unit;
  const std::uint64_t pieces = work.chunk;
  if (piece >= pieces) return;
  for (const Operand& operand : section.operands) {
    if (operand.write != stores || operand.skip) continue;
    const std::uint64_t first = operand.pages * piece / pieces;
    const std::uint64_t stop = std::max(first + 1, operand.pages * (piece + 1) / pieces);
    const auto sharing = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, work.warps / (stop - first)));
    operand.for_each_run(first, stop, [&](const PageRun& run) { f(run, sharing, false); });
  }
}

template <class F>
void tile_pages(const KernelWork& work, const Section& section, std::uint64_t unit, std::uint32_t step, bool stores,
                F&& f) {
  const TileShape& tile = work.tile;
  const std::uint64_t blocks = std::max<std::uint64_t>(1, section.units / tile.batches);
  const std::uint64_t batch = std::min(unit / blocks, tile.batches - 1);
  const std::uint64_t block = unit % blocks;
  const std::uint64_t group = std::min(tile.group, blocks);
  const bool last = step + 1 == section.steps;
  bool first_input = true;
  for (const Operand& operand : section.operands) {
    if (operand.write != stores) continue;
    const bool large = operand.pages * 4 >= section.longest_input;
    const bool panel = !stores && large && first_input && !tile.one_input;
    if (panel) first_input = false;
    if (operand.skip) continue;
    // The batch's part of the operand, and part k of n of it.
    const std::uint64_t base = operand.pages * batch / tile.batches;
    const std::uint64_t pages = std::max<std::uint64_t>(1, operand.pages * (batch + 1) / tile.batches - base);
    const auto share = [&](std::uint64_t k, std::uint64_t n) { return base + std::min(pages - 1, pages * k / n); };
    const auto share_end = [&](std::uint64_t k, std::uint64_t n) {
      return std::max(share(k, n) + 1, base + std::min(pages, pages * (k + 1) / n));
    };
    if (stores) {
      if (!last) continue;
      const std::uint64_t tile_bytes = std::max<std::uint64_t>(4, pages * kBasePageBytes / blocks);
      std::uint64_t region = share(block % tile.columns, tile.columns);
      std::uint64_t end = share_end(block % tile.columns, tile.columns);
      std::uint64_t pieces = tile.side(tile_bytes);
      std::uint64_t turn = block / tile.columns;
      std::uint64_t turns = std::max<std::uint64_t>(1, blocks / tile.columns);
      if (tile.one_input) {
        // A convolution's block writes 1 KB pieces of every plane of its group's output.
        region = share(block / group, std::max<std::uint64_t>(1, blocks / group));
        end = share_end(block / group, std::max<std::uint64_t>(1, blocks / group));
        pieces = std::max<std::uint64_t>(1, tile_bytes / 1024);
        turn = block % group;
        turns = group;
      }
      const std::uint64_t length = end - region;
      std::uint64_t previous = ~std::uint64_t{0};
      for (std::uint64_t k = 0; k < pieces; ++k) {
        const std::uint64_t page = region + std::min(length - 1, (length * k + length * turn / turns) / pieces);
        if (page == previous) continue;
        previous = page;
        f(operand.run(page, page + 1), 1, !tile.one_input);  // a warp's store covers several rows of the tile
      }
      continue;
    }
    if (!large) {
      if (step == std::min(1u, section.steps - 1)) {
        operand.for_each_run(base, base + pages, [&](const PageRun& run) { f(run, 1, false); });
      }
      continue;
    }
    if (panel) {
      if (step != 0) continue;
      const std::uint64_t end = share_end(block % tile.columns, tile.columns);
      const std::uint64_t begin = share(block % tile.columns, tile.columns);
      operand.for_each_run(begin, end, [&](const PageRun& run) { f(run, 1, true); });
      continue;
    }
    if (step == 0 || last) continue;
    const std::uint64_t part = tile.one_input ? block / group : block / tile.columns % tile.rows;
    const std::uint64_t parts = tile.one_input ? std::max<std::uint64_t>(1, blocks / group) : tile.rows;
    const std::uint64_t from = share(part, parts) + (step - 1) * kTileMarchPages;
    const std::uint64_t stop = std::min(share_end(part, parts), from + kTileMarchPages);
    operand.for_each_run(from, stop, [&](const PageRun& run) { f(run, 1, false); });
  }
}

template <class F>
void thread_pages(const KernelWork& work, const Section& section, std::uint64_t unit, std::uint32_t step, bool stores,
                  F&& f) {
  const std::uint64_t groups = work.units / work.lanes_per_sm_group;
  const std::uint64_t threads_per_group = work.threads / groups;
  const std::uint64_t group = unit / work.lanes_per_sm_group;
  const std::uint64_t first = group * threads_per_group + unit % work.lanes_per_sm_group * kWarpThreads;
  const std::uint64_t end = std::min(first + kWarpThreads, (group + 1) * threads_per_group);
  std::uint64_t previous = ~std::uint64_t{0};
  const auto once = [&](const PageRun& run) {
    const std::uint64_t page = run.block.value * kPagesPerBlock + run.first;
    if (page == previous) return;  // neighbouring threads on one page are one access
    previous = page;
    f(run, 1, true);
  };
  for (std::uint64_t thread = first; thread < end; ++thread) {
    const std::uint64_t at = thread * work.chunk + step;
    if (work.explicit_touches) {
      if (at >= work.touches.size()) break;
      const PageRef& touch = work.touches[at];
      if (touch.write == stores) once({touch.block, touch.page, 1, touch.write});
      continue;
    }
    for (const Operand& operand : section.operands) {
      if (operand.write == stores && !operand.skip && at < operand.pages) once(operand.run(at, at + 1));
    }
  }
}

template <class F>
void for_each_page(const KernelWork& work, const Section& section, std::uint64_t unit, std::uint32_t step, bool stores,
                   F&& f) {
  switch (work.pattern) {
    case Pattern::kSlices:
      return slice_pages(work, section, unit, step, stores, f);
    case Pattern::kStride:
      return stride_pages(work, section, unit, step, stores, f);
    case Pattern::kTiles:
      return tile_pages(work, section, unit, step, stores, f);
    case Pattern::kThreads:
      return thread_pages(work, section, unit, step, stores, f);
  }
}

}  // namespace uvmsim::engine
