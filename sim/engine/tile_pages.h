// Which pages a unit of a tile kernel touches in a step: a panel, the march, a tile of the output (kernel_work.h).
#pragma once

#include <algorithm>

#include "sim/engine/even_steps.h"
#include "sim/engine/kernel_work.h"

namespace uvmsim::engine {

inline constexpr std::uint64_t kTileMarchPages = 16;  // in steps of 64 KB

// The part of one operand that belongs to the unit's batch, and its parts.
class BatchPages {
 public:
  BatchPages(const Operand& operand, const TileShape& tile, std::uint64_t batch)
      : base_(operand.pages * batch / tile.batches),
        pages_(std::max<std::uint64_t>(1, operand.pages * (batch + 1) / tile.batches - base_)) {}

  PageRange all() const { return {base_, base_ + pages_}; }
  std::uint64_t pages() const { return pages_; }
  // Part k of n: at least one page.
  PageRange part(std::uint64_t k, std::uint64_t n) const {
    const std::uint64_t begin = base_ + std::min(pages_ - 1, pages_ * k / n);
    return {begin, std::max(begin + 1, base_ + std::min(pages_, pages_ * (k + 1) / n))};
  }

 private:
  std::uint64_t base_, pages_;
};

// A unit's place in the shape.
struct TilePlace {
  TilePlace(const KernelWork& work, const Section& section, std::uint64_t unit)
      : blocks(std::max<std::uint64_t>(1, section.units / work.tile.batches)),
        batch(std::min(unit / blocks, work.tile.batches - 1)),
        block(unit % blocks),
        group(std::min(work.tile.group, blocks)) {}

  std::uint64_t blocks;  // of a batch
  std::uint64_t batch, block;
  std::uint64_t group;
};

// shares[i]: the pages of operand i that `unit` marches through.
inline void plan_marches(const KernelWork& work, const Section& section, std::uint64_t unit, Share* shares) {
  const TileShape& tile = work.tile;
  const TilePlace place(work, section, unit);
  const std::uint64_t part = tile.one_input ? place.block / place.group : place.block / tile.columns % tile.rows;
  const std::uint64_t parts = tile.one_input ? std::max<std::uint64_t>(1, place.blocks / place.group) : tile.rows;
  for (const Operand& operand : section.operands) {
    Share& share = *shares++;
    if (!operand.write && operand.role == TileRole::kMarch) {
      const PageRange pages = BatchPages(operand, tile, place.batch).part(part, parts);
      share = {pages, operand.index_of(pages)};
    }
  }
}

// The first step from `step` on that loads anything; the last step when there is none.
inline std::uint32_t next_loading_step(const Section& section, std::uint32_t step, const Share* shares) {
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
  }
  return std::max(next, std::min(step, last));
}

// The panel at once; what is small with the first step of the march; nothing in the last step.
template <class F>
void tile_loads(const KernelWork& work, const Section& section, std::uint64_t unit, std::uint32_t step,
                const Share* shares, F&& f) {
  const TileShape& tile = work.tile;
  for (const std::uint32_t i : section.watched_inputs) {
    const Operand& operand = section.operands[i];
    const Share& share = shares[i];
    PageRange pages;
    switch (operand.role) {
      case TileRole::kMarch:
        if (step == 0 || step + 1 == section.steps) continue;
        pages.begin = share.begin + (step - 1) * kTileMarchPages;
        pages.end = std::min(share.end, pages.begin + kTileMarchPages);
        operand.for_each_run(share, pages.begin, pages.end, [&](const PageRun& run) { f(run, 1, false); });
        continue;
      case TileRole::kPanel: {
        if (step != 0) continue;
        const TilePlace place(work, section, unit);
        pages = BatchPages(operand, tile, place.batch).part(place.block % tile.columns, tile.columns);
        break;
      }
      case TileRole::kSmall:
        if (step != 1) continue;
        pages = BatchPages(operand, tile, TilePlace(work, section, unit).batch).all();
        break;
    }
    operand.for_each_run(pages.begin, pages.end,
                         [&](const PageRun& run) { f(run, 1, operand.role == TileRole::kPanel); });
  }
}

template <class F>
void tile_stores(const KernelWork& work, const Section& section, std::uint64_t unit, F&& f) {
  const TileShape& tile = work.tile;
  const TilePlace place(work, section, unit);
  for (const std::uint32_t i : section.watched_outputs) {
    const Operand& operand = section.operands[i];
    const BatchPages all(operand, tile, place.batch);
    const std::uint64_t tile_bytes = std::max<std::uint64_t>(4, all.pages() * kBasePageBytes / place.blocks);
    PageRange region;
    std::uint64_t pieces, turn, turns;
    if (tile.one_input) {
      // A convolution's block writes 1 KB pieces of every plane of its group's output.
      region = all.part(place.block / place.group, std::max<std::uint64_t>(1, place.blocks / place.group));
      pieces = std::max<std::uint64_t>(1, tile_bytes / 1024);
      turn = place.block % place.group;
      turns = place.group;
    } else {
      region = all.part(place.block % tile.columns, tile.columns);
      pieces = tile.side(tile_bytes);
      turn = place.block / tile.columns;
      turns = std::max<std::uint64_t>(1, place.blocks / tile.columns);
    }
    const auto store = [&](std::uint64_t begin, std::uint64_t end) {  // a warp's store covers several rows of the tile
      operand.for_each_run(begin, end, [&](const PageRun& run) { f(run, 1, !tile.one_input); });
    };
    const std::uint64_t length = region.pages();
    const std::uint64_t offset = length * turn / turns;
    if (length <= pieces) {  // no page is left out
      const std::uint64_t last = std::min(length - 1, (length * (pieces - 1) + offset) / pieces);
      store(region.begin + offset / pieces, region.begin + last + 1);
      continue;
    }
    if (f.passes(operand, Share{region})) continue;
    EvenSteps piece(offset, length, pieces);
    std::uint64_t next = 0;
    for (std::uint64_t k = 0; k < pieces && next < length; ++k, piece.advance()) {
      const std::uint64_t page = std::min(length - 1, piece.value());
      store(region.begin + page, region.begin + page + 1);
      next = page + 1;
    }
  }
}

template <class F>
void tile_pages(const KernelWork& work, const Section& section, std::uint64_t unit, std::uint32_t step, bool stores,
                const Share* shares, F&& f) {
  if (!stores) return tile_loads(work, section, unit, step, shares, f);
  if (step + 1 == section.steps) tile_stores(work, section, unit, f);
}

}  // namespace uvmsim::engine
