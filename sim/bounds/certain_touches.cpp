#include "sim/bounds/certain_touches.h"

#include <algorithm>

#include "sim/engine/tile_pages.h"

namespace uvmsim::bounds {

namespace {

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

bool tiles_write_every_page(const engine::KernelWork& work, const engine::Section& section,
                            const engine::Operand& operand) {
  const engine::TileShape& tile = work.tile;
  const engine::TilePlace place(work, section, 0);
  const std::uint64_t pages = divide_up(operand.pages, tile.batches);
  const std::uint64_t tile_bytes =
      std::max<std::uint64_t>(4, operand.pages / tile.batches * kBasePageBytes / place.blocks);
  if (tile.one_input) {
    const std::uint64_t regions = std::max<std::uint64_t>(1, place.blocks / place.group);
    return divide_up(pages, regions) <= std::max<std::uint64_t>(1, tile_bytes / 1024) * place.group;
  }
  const std::uint64_t turns = std::max<std::uint64_t>(1, place.blocks / tile.columns);
  return divide_up(pages, tile.columns) <= engine::TileShape::side(tile_bytes) * turns;
}

}  // namespace

bool touches_every_page(const engine::KernelWork& work, const engine::Section& section,
                        const engine::Operand& operand) {
  switch (work.pattern) {
    case engine::Pattern::kSlices:
      // Neighbouring slices share the page at their border, so each page is the last one of some slice.
      if (work.rows) return std::uint64_t{work.warps} * section.steps >= divide_up(operand.pages, section.units);
      return !operand.write || section.steps == 1 || stores_in_every_step(section, operand) ||
             operand.pages <= section.units;
    case engine::Pattern::kTiles:
      return !operand.write || tiles_write_every_page(work, section, operand);
    case engine::Pattern::kStride:
    case engine::Pattern::kThreads:
      return true;
  }
  return false;
}

std::int64_t least_duration_ns(const engine::KernelWork& work, std::int64_t duration_ns) {
  std::uint64_t steps = 0;
  for (const engine::Section& section : work.sections) steps += section.units * section.steps;
  const auto rounds = static_cast<std::int64_t>(divide_up(steps, work.lanes));
  return std::clamp<std::int64_t>(work.step.value * rounds, 0, std::max<std::int64_t>(duration_ns, 0));
}

}  // namespace uvmsim::bounds
