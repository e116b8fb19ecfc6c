// SPDX-License-Identifier: Apache-2.0
// The pages that a unit of a tile kernel touches in a step: a panel, the march, a tile of the output (kernel_work.h).
#pragma once

#include <algorithm>

#include "sim/engine/even_steps.h"
#include "sim/engine/section_run.h"

namespace uvmsim::engine {

inline constexpr std::uint64_t kTileMarchPages = 16;  // 64 KB per step
inline constexpr std::uint64_t kTileCrossRows = 8;    // as cuBLAS's fp32 kernels do: 128x128x8

// How a unit's instructions reach a page.
enum class Reach : std::uint8_t {
  kWarps,    // so many warps access all of it
  kLanes,    // an instruction touches many pages, by one request each
  kPackets,  // so many packets are stored to a part of it
};

// The pages of an operand that belong to one batch, which can be divided into parts.
class BatchPages {
 public:
  BatchPages(const Operand& operand, std::uint64_t batches, std::uint64_t batch)
      : base_(operand.pages * batch / batches),
        pages_(std::max<std::uint64_t>(1, operand.pages * (batch + 1) / batches - base_)) {}

  PageRange all() const { return {base_, base_ + pages_}; }
  std::uint64_t pages() const { return pages_; }
  // Returns part k of n, which has at least one page.
  PageRange part(std::uint64_t k, std::uint64_t n) const {
    const std::uint64_t begin = base_ + std::min(pages_ - 1, pages_ * k / n);
    return {begin, std::max(begin + 1, base_ + std::min(pages_, pages_ * (k + 1) / n))};
  }

 private:
  std::uint64_t base_, pages_;
};

// Returns the positions of an input that the unit reads.
inline PageRange tile_input(const KernelWork& work, const Operand& operand, std::uint64_t unit) {
  if (work.convolution) {
    const ConvolutionShape& shape = *work.convolution;
    const BatchPages pages(operand, shape.batches, std::min(unit / shape.blocks, shape.batches - 1));
    if (operand.role == TileRole::kSmall) return pages.all();
    return pages.part(unit % shape.blocks / shape.group, shape.groups());
  }
  const TilePlace place(work.tile, unit);
  const BatchPages pages(operand, work.tile.batches, place.batch);
  switch (operand.role) {
    case TileRole::kPanel:
      return pages.part(std::min(place.row, work.tile.rows - 1), work.tile.rows);
    case TileRole::kMarch:
      return pages.part(std::min(place.column, work.tile.columns - 1), work.tile.columns);
    default:
      return pages.all();
  }
}

// The part of a kCross input that a unit reads: rows [begin, end) of its batch, and of each row [part, part_end) of
// `parts` equal parts.
struct CrossPart {
  CrossPart(const KernelWork& work, const Operand& operand, std::uint64_t unit) {
    const TileShape& shape = work.tile;
    const TilePlace place(shape, unit);
    begin = operand.rows * place.slice / shape.slices;
    end = operand.rows * (place.slice + 1) / shape.slices;
    parts = operand.has_rows ? shape.matrix_rows : shape.row_parts;
    const std::uint64_t length = operand.has_rows ? shape.tile_rows : shape.row_part_of_tile;
    const std::uint64_t index = operand.has_rows ? place.row : place.column;
    part = std::min(index * length, parts - 1);
    part_end = std::clamp(index * length + length, part + 1, parts);
  }
  std::uint64_t begin, end;
  std::uint64_t part, part_end, parts;
};

// Returns the pages of whole rows [row, end_row), which must not be empty.
inline Share rows_of(const KernelWork& work, const Operand& operand, std::uint64_t unit, std::uint64_t row,
                     std::uint64_t end_row) {
  const PageRange all = BatchPages(operand, work.tile.batches, TilePlace(work.tile, unit).batch).all();
  const std::uint64_t bytes = all.pages() * kBasePageBytes;
  const std::uint64_t end = (bytes * end_row / operand.rows + kBasePageBytes) / kBasePageBytes;
  return {{all.begin + bytes * row / operand.rows / kBasePageBytes, all.begin + std::min(all.pages(), end)}};
}

// Calls f(first, end) for the pages of the unit's part of rows [row, end_row).
template <class F>
void cross_pages(const KernelWork& work, const Operand& operand, const CrossPart& cross, std::uint64_t unit,
                 std::uint64_t row, std::uint64_t end_row, F&& f) {
  const PageRange all = BatchPages(operand, work.tile.batches, TilePlace(work.tile, unit).batch).all();
  const std::uint64_t bytes = all.pages() * kBasePageBytes;
  const std::uint64_t length = bytes / operand.rows;
  const std::uint64_t from = length * cross.part / cross.parts;
  const std::uint64_t to = std::max(from + 1, length * cross.part_end / cross.parts);
  std::uint64_t next = 0;
  for (; row < end_row; ++row) {
    const std::uint64_t begin = bytes * row / operand.rows;
    const std::uint64_t first = std::max(next, (begin + from) / kBasePageBytes);
    const std::uint64_t end = std::min(all.pages(), (begin + to + kBasePageBytes - 1) / kBasePageBytes);
    if (first >= end) continue;
    f(all.begin + first, all.begin + end);
    next = end;
  }
}

// Sets shares[i] to the pages of operand i that `unit` marches through.
inline void plan_marches(const KernelWork& work, const SectionRun& section, std::uint64_t unit, Share* shares) {
  for (const Operand& operand : section.operands) {
    Share& share = *shares++;
    if (operand.write || (operand.role != TileRole::kMarch && operand.role != TileRole::kCross)) continue;
    PageRange pages = tile_input(work, operand, unit);
    if (operand.role == TileRole::kCross) {
      const CrossPart cross(work, operand, unit);
      const std::uint64_t begin = pages.begin + pages.pages() * cross.begin / operand.rows;
      pages.end = std::max(begin + 1, pages.begin + (pages.pages() * cross.end + operand.rows - 1) / operand.rows);
      pages.begin = begin;
    }
    share = {pages, operand.index_of(pages)};
  }
}

// Returns the first step from `step` on that loads anything; the last step if there is none.
inline std::uint32_t next_loading_step(const SectionRun& section, std::uint32_t step, const Share* shares) {
  const std::uint32_t last = section.steps - 1;
  std::uint32_t next = last;
  for (const std::uint32_t i : section.watched_inputs) {
    const Operand& operand = section.operands[i];
    const Share& share = shares[i];
    const std::uint32_t march = std::max(step, 1u);
    if (operand.role == TileRole::kPanel && step == 0) return step;
    if (operand.role == TileRole::kSmall && step <= 1) next = std::min(next, 1u);
    if (operand.role == TileRole::kMarch && share.begin + (march - 1) * kTileMarchPages < share.end) {
      next = std::min(next, march);
    }
    if (operand.role == TileRole::kCross && (march - 1) * kTileCrossRows < operand.rows) next = std::min(next, march);
  }
  return std::max(next, std::min(step, last));
}

// Calls f for the loads of a step: panels come in step 0, small inputs in the first step of the march, nothing in the
// last step.
template <class F>
void tile_loads(const KernelWork& work, const SectionRun& section, std::uint64_t unit, std::uint32_t step,
                const Share* shares, F&& f) {
  for (const std::uint32_t i : section.watched_inputs) {
    const Operand& operand = section.operands[i];
    const Share& share = shares[i];
    switch (operand.role) {
      case TileRole::kMarch: {
        if (step == 0 || step + 1 == section.steps) continue;
        const std::uint64_t begin = share.begin + (step - 1) * kTileMarchPages;
        operand.for_each_run(share, begin, std::min(share.end, begin + kTileMarchPages),
                             [&](const PageRun& run) { f(run, 1, Reach::kWarps); });
        continue;
      }
      case TileRole::kCross: {
        if (step == 0 || step + 1 == section.steps) continue;
        const CrossPart cross(work, operand, unit);
        const std::uint64_t row = cross.begin + (step - 1) * kTileCrossRows;
        const std::uint64_t end_row = std::min(cross.end, row + kTileCrossRows);
        // Rows that are mapped as a whole need no look at the part of each.
        if (row >= end_row || f.passes(operand, rows_of(work, operand, unit, row, end_row))) continue;
        cross_pages(work, operand, cross, unit, row, end_row, [&](std::uint64_t first, std::uint64_t end) {
          operand.for_each_run(first, end, [&](const PageRun& run) { f(run, 1, Reach::kWarps); });
        });
        continue;
      }
      case TileRole::kPanel:
      case TileRole::kSmall: {
        const bool panel = operand.role == TileRole::kPanel;
        if (step != (panel ? 0 : 1)) continue;
        const PageRange pages = tile_input(work, operand, unit);
        operand.for_each_run(pages.begin, pages.end,
                             [&](const PageRun& run) { f(run, 1, panel ? Reach::kLanes : Reach::kWarps); });
        continue;
      }
      case TileRole::kSum:
        continue;
    }
  }
}

// Collects the stores of a tile, row by row: consecutive ones to the same page are one call. `reach`: kPackets, or
// kLanes if an instruction stores to several rows.
template <class F>
class RowStores {
 public:
  RowStores(const Operand& operand, Reach reach, F& f) : operand_(operand), reach_(reach), f_(f) {}
  RowStores(const RowStores&) = delete;
  RowStores& operator=(const RowStores&) = delete;
  ~RowStores() { flush(); }
  // Stores bytes [begin, end) of the operand's pages, all of which exist.
  void store(std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      const std::uint64_t page = begin / kBasePageBytes;
      const std::uint64_t stop = std::min(end, (page + 1) * kBasePageBytes);
      if (page != page_) flush();
      page_ = page;
      packets_ += (stop - begin + kStoreBytes - 1) / kStoreBytes;
      begin = stop;
    }
  }

 private:
  void flush() {
    if (packets_ == 0) return;
    const std::uint64_t most = reach_ == Reach::kLanes ? 1 : kBasePageBytes / kStoreBytes;
    f_(operand_.run(page_, page_ + 1), static_cast<std::uint32_t>(std::min(packets_, most)), reach_);
    packets_ = 0;
  }

  const Operand& operand_;
  const Reach reach_;
  F& f_;
  std::uint64_t page_ = 0, packets_ = 0;
};

// A convolution's block writes its pixels of the planes of its channels, image by image. A warp's instruction writes 32
// pixels of a channel, the next one those of the next channel (measured: the raw faults of an SM between two replays).
template <class F>
void pixel_tile_stores(const ConvolutionShape& shape, const Operand& operand, std::uint64_t unit, F&& f) {
  constexpr std::uint64_t kElementBytes = 4;
  const std::uint64_t first_channel = unit % shape.channel_tiles * shape.tile.channels;
  const std::uint64_t end_channel = std::min(first_channel + shape.tile.channels, shape.channels);
  const std::uint64_t first_pixel = unit / shape.channel_tiles * shape.tile.pixels;
  const std::uint64_t end_pixel = std::min(first_pixel + shape.tile.pixels, shape.images * shape.image_pixels);
  if (f.passes(operand, Share{{0, operand.pages}})) return;
  RowStores stores(operand, Reach::kPackets, f);
  for (std::uint64_t pixel = first_pixel; pixel < end_pixel;) {
    const std::uint64_t image = pixel / shape.image_pixels, offset = pixel % shape.image_pixels;
    const std::uint64_t length =
        std::min({shape.image_pixels - offset, end_pixel - pixel, std::uint64_t{kStoreBytes} / kElementBytes});
    for (std::uint64_t channel = first_channel; channel < end_channel; ++channel) {
      const std::uint64_t at = ((image * shape.channels + channel) * shape.image_pixels + offset) * kElementBytes;
      // A tensor may begin within a page: the last stretch includes the rest of the last page.
      const bool last =
          image + 1 == shape.images && channel + 1 == shape.channels && offset + length == shape.image_pixels;
      const std::uint64_t bytes = operand.pages * kBasePageBytes;
      stores.store(at, last ? bytes : std::min(bytes, at + length * kElementBytes));
    }
    pixel += length;
  }
}

// A convolution's block writes 1 KB pieces of every plane of its group's output.
template <class F>
void convolution_stores(const ConvolutionShape& shape, const Operand& operand, std::uint64_t unit, F&& f) {
  const std::uint64_t block = unit % shape.blocks;
  const BatchPages all(operand, shape.batches, std::min(unit / shape.blocks, shape.batches - 1));
  const PageRange region = all.part(block / shape.group, shape.groups());
  const std::uint64_t pieces = std::max<std::uint64_t>(1, all.pages() * kBasePageBytes / shape.blocks / 1024);
  const auto store = [&](std::uint64_t begin, std::uint64_t end) {
    operand.for_each_run(begin, end, [&](const PageRun& run) { f(run, 1, Reach::kWarps); });
  };
  const std::uint64_t length = region.pages();
  const std::uint64_t offset = length * (block % shape.group) / shape.group;
  if (length <= pieces) {  // no page is left out
    const std::uint64_t last = std::min(length - 1, (length * (pieces - 1) + offset) / pieces);
    return store(region.begin + offset / pieces, region.begin + last + 1);
  }
  if (f.passes(operand, Share{region})) return;
  EvenSteps piece(offset, length, pieces);
  std::uint64_t next = 0;
  for (std::uint64_t k = 0; k < pieces && next < length; ++k, piece.advance()) {
    const std::uint64_t page = std::min(length - 1, piece.value());
    store(region.begin + page, region.begin + page + 1);
    next = page + 1;
  }
}

// Calls f for the pages of the unit's tile, row by row. Every page of the output is in some tile.
template <class F>
void product_stores(const TileShape& shape, const Operand& operand, std::uint64_t unit, F&& f) {
  const TilePlace place(shape, unit);
  const std::uint64_t first_row = place.row * shape.tile_rows;
  if (place.idle(shape) || first_row >= shape.matrix_rows) return;
  const PageRange matrix = BatchPages(operand, shape.batches, place.batch).all();
  const std::uint64_t bytes = matrix.pages() * kBasePageBytes;
  const std::uint64_t rows = std::min(shape.tile_rows, shape.matrix_rows - first_row);
  const std::uint64_t row_bytes = bytes / shape.matrix_rows;
  // The tile's part of a row; the last tile of a row also has the rest of it.
  const std::uint64_t part = place.column * shape.row_part_of_tile;
  const std::uint64_t from = row_bytes * std::min(part, shape.row_parts) / shape.row_parts;
  const std::uint64_t to = row_bytes * std::min(part + shape.row_part_of_tile, shape.row_parts) / shape.row_parts;
  const bool to_the_end = place.column + 1 == shape.columns;

  const std::uint64_t region_begin = bytes * first_row / shape.matrix_rows;
  const std::uint64_t region_end = (bytes * (first_row + rows) - 1) / shape.matrix_rows + 1;
  const Share region{{matrix.begin + region_begin / kBasePageBytes,
                      std::min(matrix.end, matrix.begin + (region_end - 1) / kBasePageBytes + 1)}};
  if (region.begin >= region.end || f.passes(operand, region)) return;
  RowStores stores(operand, shape.cutlass ? Reach::kLanes : Reach::kPackets, f);
  const std::uint64_t base = matrix.begin * kBasePageBytes;
  const auto store_row = [&](std::uint64_t begin, std::uint64_t next_begin) {
    stores.store(base + begin + from, base + (to_the_end ? next_begin : begin + to));
  };
  if (!shape.cutlass) {
    EvenSteps begin(bytes * first_row, bytes, shape.matrix_rows);
    for (std::uint64_t row = 0; row < rows; ++row) {
      const std::uint64_t at = begin.value();
      begin.advance();
      store_row(at, begin.value());
    }
    return;
  }
  // Every warp stores four rows at once, four apart, and has 64 rows.
  constexpr std::uint64_t kWarpRows = 64, kGroup = 16;
  for (std::uint64_t i = 0; i < kWarpRows; i += 4) {
    for (std::uint64_t warp = 0; warp < rows; warp += kWarpRows) {
      const std::uint64_t first = warp + i / kGroup * kGroup + i % kGroup / 4;
      for (std::uint64_t row = first; row < std::min(first + kGroup, rows); row += 4) {
        store_row(bytes * (first_row + row) / shape.matrix_rows, bytes * (first_row + row + 1) / shape.matrix_rows);
      }
    }
  }
}

template <class F>
void tile_stores(const KernelWork& work, const SectionRun& section, std::uint64_t unit, F&& f) {
  for (const std::uint32_t i : section.watched_outputs) {
    const Operand& operand = section.operands[i];
    if (work.convolution && work.convolution->images != 0) {
      pixel_tile_stores(*work.convolution, operand, unit, f);
    } else if (work.convolution) {
      convolution_stores(*work.convolution, operand, unit, f);
    } else {
      product_stores(work.tile, operand, unit, f);
    }
  }
}

template <class F>
void tile_pages(const KernelWork& work, const SectionRun& section, std::uint64_t unit, std::uint32_t step, bool stores,
                const Share* shares, F&& f) {
  if (!stores) return tile_loads(work, section, unit, step, shares, f);
  if (step + 1 == section.steps) tile_stores(work, section, unit, f);
}

}  // namespace uvmsim::engine
