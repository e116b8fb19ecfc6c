// SPDX-License-Identifier: Apache-2.0
// The pages that a unit touches in a step: the access patterns of kernel_work.h as code.
#pragma once

#include <algorithm>
#include <bit>

#include "sim/common/random.h"
#include "sim/engine/even_steps.h"
#include "sim/engine/section_run.h"
#include "sim/engine/tile_pages.h"

namespace uvmsim::engine {

inline constexpr std::uint32_t kWarpThreads = 32;
inline constexpr std::uint64_t kWarpAccessBytes = 128;  // a warp's access with 4 bytes per thread

inline std::uint32_t warps_per_page(const KernelWork& work, const PageRange& pages) {
  if (pages.pages() == 1) return work.warps;  // the common case
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, work.warps / pages.pages()));
}

// Returns the part of its share that a unit touches in a step.
inline PageRange slice_of_step(const PageRange& share, std::uint32_t step, std::uint32_t steps) {
  const std::uint64_t n = share.pages();
  if (n == 1 || steps == 1) return share;  // the common case
  return {share.begin + n * step / steps, share.begin + (n * (step + 1) + steps - 1) / steps};
}

// Returns whether the pattern is slices and no warp has a part of its own.
inline bool plain_slices(const KernelWork& work) { return work.pattern == Pattern::kSlices && !work.rows; }

// Calls f(run, count, reach) for the pages of a step (Reach). f.passes(operand, share) returns whether these pages need
// no check one by one; it is called only if that may spare many checks. shares[i]: what the unit walks through of
// operand i, in patterns with shares.
template <class F>
void slice_pages(const KernelWork& work, const SectionRun& section, std::uint32_t step, bool stores,
                 const Share* shares, F&& f) {
  for (const std::uint32_t i : section.watched(stores)) {
    const Operand& operand = section.operands[i];
    const Share& share = shares[i];
    const std::uint64_t n = share.pages();
    if (work.rows && n > 1) {
      // Each warp walks its own part of the slice.
      if (f.passes(operand, share)) continue;
      std::uint64_t previous = ~std::uint64_t{0};
      std::uint32_t sharing = 0;
      EvenSteps place(n * step, n * section.steps, std::uint64_t{work.warps} * section.steps);
      for (std::uint32_t warp = 0; warp < work.warps; ++warp, place.advance()) {
        const std::uint64_t page = share.begin + place.value();
        if (page != previous && sharing != 0) {
          f(operand.run(share, previous, previous + 1), sharing, Reach::kWarps);
          sharing = 0;
        }
        previous = page;
        ++sharing;
      }
      f(operand.run(share, previous, previous + 1), sharing, Reach::kWarps);
      continue;
    }
    if (stores && step + 1 != section.steps && !stores_in_every_step(section, operand)) continue;
    const PageRange pages = slice_of_step(share, step, section.steps);
    const std::uint32_t sharing = warps_per_page(work, pages);
    operand.for_each_run(share, pages.begin, pages.end, [&](const PageRun& run) { f(run, sharing, Reach::kWarps); });
  }
}

// Calls f(first, stop) for the output's pages to which a concatenation stores a piece of its input: two times if the
// piece ends in the next row.
template <class F>
void for_each_stored(const RowPart& part, std::uint64_t output_pages, std::uint64_t piece, std::uint64_t pieces,
                     F&& f) {
  // Places in the input: parts of `pieces` of a row.
  const WideUnsigned end = WideUnsigned{piece + 1} * part.rows;
  for (WideUnsigned at = WideUnsigned{piece} * part.rows; at < end;) {
    const WideUnsigned row = at / pieces, stop = std::min(end, (row + 1) * pieces);
    const auto page_of = [&](WideUnsigned place) {
      const WideUnsigned into = place - row * pieces;
      const WideUnsigned parts = (row * part.total + part.begin) * pieces + into * (part.end - part.begin);
      return static_cast<std::uint64_t>(output_pages * parts / (WideUnsigned{part.rows} * part.total * pieces));
    };
    const std::uint64_t first = std::min(page_of(at), output_pages - 1);
    f(first, std::max(first + 1, page_of(stop)));
    at = stop;
  }
}

template <class F>
void stride_pages(const KernelWork& work, const SectionRun& section, std::uint64_t unit, std::uint32_t step,
                  bool stores, F&& f) {
  // The step touches piece k * G + b of equal pieces of each operand.
  const std::uint64_t pieces = section.pieces;
  for (const std::uint32_t i : section.watched(stores)) {
    const Operand& operand = section.operands[i];
    for (std::uint64_t turn = 0; turn < work.unroll; ++turn) {
      const std::uint64_t piece = (std::uint64_t{step} * work.unroll + turn) * section.units + unit;
      if (piece >= pieces) break;
      const auto touch = [&](std::uint64_t first, std::uint64_t stop) {
        const std::uint32_t sharing = warps_per_page(work, {first, stop});
        operand.for_each_run(first, stop, [&](const PageRun& run) { f(run, sharing, Reach::kWarps); });
      };
      if (operand.write && section.row_part.total != 0) {
        for_each_stored(section.row_part, operand.pages, piece, pieces, touch);
        continue;
      }
      const std::uint64_t first = operand.pages * piece / pieces;
      touch(first, std::max(first + 1, operand.pages * (piece + 1) / pieces));
    }
  }
}

// Returns whether a step of planes stores. Small operands come in the first and the last step.
inline bool plane_step_stores(const SectionRun& section, std::uint32_t step) { return step >= section.loads.steps; }

// Elements [begin, end) of an operand of `total`.
struct PlaneElements {
  std::uint64_t begin = 0, end = 0, total = 1;
};

// Returns what of the operand is the unit's plane of an image.
inline PlaneElements plane_of(const KernelWork& work, const SectionRun& section, bool write, std::uint64_t unit,
                              std::uint64_t image) {
  const Transposition& tensor = work.transposition;
  if (tensor.pixels == 0) {
    const std::uint64_t plane = image * section.units + unit;
    return {plane, plane + 1, work.images * section.units};
  }
  constexpr std::uint64_t kSide = Transposition::kTileSide;
  const std::uint64_t pixel = unit % Transposition::tiles(tensor.pixels) * kSide;
  const std::uint64_t above = unit / Transposition::tiles(tensor.pixels);
  const std::uint64_t channel = above % Transposition::tiles(tensor.channels) * kSide;
  const std::uint64_t batch = above / Transposition::tiles(tensor.channels);
  const std::uint64_t batches =
      section.units / Transposition::tiles(tensor.pixels) / Transposition::tiles(tensor.channels);
  const std::uint64_t rows = write ? tensor.pixels : tensor.channels, row = (write ? pixel : channel) + image;
  const std::uint64_t columns = write ? tensor.channels : tensor.pixels, column = write ? channel : pixel;
  const std::uint64_t begin = (batch * rows + row) * columns + column;
  const std::uint64_t width = row < rows ? std::min(kSide, columns - column) : 0;
  return {begin, begin + width, batches * rows * columns};
}

// What a part of a plane is of an operand: its pages, and its bytes.
struct PlanePart {
  PageRange pages;
  std::uint64_t bytes = 0;
};

// `Number` holds the product of the operand's bytes, plane.total and sweep.parts.
template <class Number>
PlanePart plane_part_of(const Operand& operand, const PlaneElements& plane, const PlaneSweep& sweep,
                        std::uint64_t part) {
  // In pages, times elements, times parts.
  const Number before = Number{operand.pages} * plane.begin * sweep.parts;
  const Number of_part = Number{operand.pages} * (plane.end - plane.begin);
  const Number page = Number{plane.total} * sweep.parts;
  const auto first = static_cast<std::uint64_t>((before + of_part * part) / page);
  const auto stop = static_cast<std::uint64_t>((before + of_part * (part + 1) + page - 1) / page);
  return {{first, std::max(first + 1, stop)},
          static_cast<std::uint64_t>(Number{operand.bytes} * (plane.end - plane.begin) / page)};
}

// Calls f for a part of the unit's plane of an image.
template <class F>
void plane_part(const KernelWork& work, const SectionRun& section, const Operand& operand, std::uint64_t unit,
                std::uint64_t image, const PlaneSweep& sweep, std::uint64_t part, F&& f) {
  const PlaneElements plane = plane_of(work, section, operand.write, unit, image);
  if (plane.begin == plane.end) return;
  const std::uint64_t most = std::max(operand.bytes, operand.pages);
  const bool fits =
      std::bit_width(most) + std::bit_width(plane.total) + std::bit_width(std::uint64_t{sweep.parts}) < 63;
  const PlanePart found = fits ? plane_part_of<std::uint64_t>(operand, plane, sweep, part)
                               : plane_part_of<WideUnsigned>(operand, plane, sweep, part);
  const std::uint64_t warps = std::min<std::uint64_t>(warps_per_page(work, found.pages) / sweep.at_once,
                                                      found.bytes / found.pages.pages() / kWarpAccessBytes);
  // The first warp of a transform stores all its values, plane by plane, before the others find the pages there.
  const bool plane_by_plane = work.transforms && operand.write;
  const auto sharing = static_cast<std::uint32_t>(plane_by_plane ? 1 : std::max<std::uint64_t>(1, warps));
  const Reach reach = plane_by_plane ? Reach::kPackets : Reach::kWarps;
  operand.for_each_run(found.pages.begin, found.pages.end, [&](const PageRun& run) { f(run, sharing, reach); });
}

template <class F>
void plane_pages(const KernelWork& work, const SectionRun& section, std::uint64_t unit, std::uint32_t step, bool stores,
                 F&& f) {
  if (stores != plane_step_stores(section, step)) return;
  const PlaneSweep& sweep = stores ? section.stores : section.loads;
  const std::uint32_t step_of_sweep = stores ? step - section.loads.steps : step;
  const bool sliced = sweep.at_once == 0;
  const std::uint64_t parts = sliced ? 1 : (work.images + sweep.at_once - 1) / sweep.at_once * sweep.parts;
  for (const std::uint32_t i : section.watched(stores)) {
    const Operand& operand = section.operands[i];
    if (sliced || operand.pages * 4 < section.longest) {
      if (step != (stores ? section.steps - 1 : 0)) continue;
      const std::uint64_t first = operand.pages * unit / section.units;
      const std::uint64_t stop = std::max(first + 1, operand.pages * (unit + 1) / section.units);
      operand.for_each_run(first, stop, [&](const PageRun& run) { f(run, 1, Reach::kWarps); });
      continue;
    }
    const std::uint64_t end = parts * (step_of_sweep + 1) / sweep.steps;
    for (std::uint64_t at = parts * step_of_sweep / sweep.steps; at < end; ++at) {
      // The warps of a round are independent: units begin it at different images.
      const std::uint64_t round = at / sweep.parts;
      for (std::uint64_t turn = 0; turn < sweep.at_once; ++turn) {
        const std::uint64_t image = round * sweep.at_once + (turn + unit) % sweep.at_once;
        if (image < work.images) plane_part(work, section, operand, unit, image, sweep, at % sweep.parts, f);
      }
    }
  }
}

// The threads of a warp: [begin, end).
struct ThreadRange {
  std::uint64_t begin = 0, end = 0;
};
inline ThreadRange threads_of(const KernelWork& work, std::uint64_t unit) {
  const std::uint64_t block = unit / work.units_per_block * work.threads_per_block;
  const std::uint64_t first = block + unit % work.units_per_block * kWarpThreads;
  return {first, std::min(first + kWarpThreads, block + work.threads_per_block)};
}

// Kernels with several accesses per page: where in an operand the share of a thread begins. If there are fewer pages
// than threads, several threads share each page, at most one per access; the threads behind the last page touch
// nothing.
struct ThreadShares {
  ThreadShares(const KernelWork& work, const Operand& operand)
      : pages(std::max<std::uint64_t>(1, (operand.pages + work.threads - 1) / work.threads)),
        threads_per_page(std::clamp<std::uint64_t>(work.threads / operand.pages, 1, work.accesses_per_page)) {}
  std::uint64_t first_page(std::uint64_t thread) const {
    return pages > 1 ? thread * pages : thread / threads_per_page;
  }

  std::uint64_t pages;  // of a thread
  std::uint64_t threads_per_page;
};

template <class F>
void thread_pages(const KernelWork& work, const SectionRun& section, std::uint64_t unit, std::uint32_t step,
                  bool stores, F&& f) {
  const ThreadRange threads = threads_of(work, unit);
  std::uint64_t previous = ~std::uint64_t{0};
  const auto once = [&](const PageRun& run) {
    const std::uint64_t page = run.block.value * kPagesPerBlock + run.first;
    if (page == previous) return;  // neighbouring threads on one page are one access
    previous = page;
    f(run, 1, Reach::kLanes);
  };
  if (work.accesses_per_page != 0) {
    for (const std::uint32_t i : section.watched(stores)) {
      const Operand& operand = section.operands[i];
      const ThreadShares shares(work, operand);
      const std::uint64_t into = shares.pages * step / section.steps;
      for (std::uint64_t thread = threads.begin; thread < threads.end; ++thread) {
        const std::uint64_t at = shares.first_page(thread) + into;
        if (at < operand.pages) once(operand.run(at, at + 1));
      }
    }
    return;
  }
  for (std::uint64_t thread = threads.begin; thread < threads.end; ++thread) {
    const std::uint64_t at = thread * work.chunk + step;
    if (work.explicit_touches) {
      if (at >= work.touches.size()) break;
      const PageRef& touch = work.touches[at];
      if (touch.write == stores) once({touch.block, touch.page, 1, touch.write});
      continue;
    }
    for (const std::uint32_t i : section.watched(stores)) {
      const Operand& operand = section.operands[i];
      if (at < operand.pages) once(operand.run(at, at + 1));
    }
  }
}

template <class F>
void for_each_page(const KernelWork& work, const SectionRun& section, std::uint64_t unit, std::uint32_t step,
                   bool stores, const Share* shares, F&& f) {
  switch (work.pattern) {
    case Pattern::kSlices:
      return slice_pages(work, section, step, stores, shares, f);
    case Pattern::kStride:
      return stride_pages(work, section, unit, step, stores, f);
    case Pattern::kTiles:
      return tile_pages(work, section, unit, step, stores, shares, f);
    case Pattern::kPlanes:
      return plane_pages(work, section, unit, step, stores, f);
    case Pattern::kThreads:
      return thread_pages(work, section, unit, step, stores, f);
  }
}

// Returns a step: from `step` on and before it the unit touches only mapped pages of the operand, as far as that is
// easily told; the pages of `step` itself must be mapped. first_missing(positions) returns the first of them that is
// not mapped, their end if all are.
template <class F>
std::uint64_t clear_steps(const KernelWork& work, const SectionRun& section, const Operand& operand, const Share& share,
                          std::uint64_t unit, std::uint32_t step, F&& first_missing) {
  const std::uint64_t n = share.pages();
  if (work.accesses_per_page != 0) {
    const ThreadShares shares(work, operand);
    const std::uint64_t into = shares.pages * step / section.steps;
    std::uint64_t clear = shares.pages;  // of a share's pages
    const ThreadRange threads = threads_of(work, unit);
    for (std::uint64_t thread = threads.begin; thread < threads.end; ++thread) {
      const std::uint64_t first = shares.first_page(thread);
      const std::uint64_t end = std::min(first + clear, operand.pages);
      if (first + into < end) clear = std::min(clear, first_missing({first + into, end}) - first);
    }
    // Page k of a share begins with step k * steps / pages, rounded up.
    return (clear * section.steps + shares.pages - 1) / shares.pages;
  }
  if (work.pattern == Pattern::kSlices) {
    if (work.rows && n > 1) return first_missing(share) == share.end ? section.steps : 0;
    if (operand.write && !stores_in_every_step(section, operand)) {
      return first_missing(share) == share.end ? section.steps : section.steps - 1;
    }
    const std::uint64_t missed = first_missing({slice_of_step(share, step, section.steps).begin, share.end});
    // Step k ends at n * (k + 1) / steps, rounded up.
    return missed == share.end ? section.steps : (missed - share.begin) * section.steps / n;
  }
  if (work.pattern == Pattern::kTiles && !operand.write && step != 0) {
    if (operand.role == TileRole::kCross) {
      // Rows have the same length. The pages of whole rows are checked, not only the unit's parts, and one page more on
      // either side, as the share may begin within a page.
      const std::uint64_t rows = (operand.rows + work.tile.slices - 1) / work.tile.slices;
      const auto before = [](std::uint64_t page) { return page - (page == 0 ? 0 : 1); };
      const std::uint64_t row = std::min((step - 1) * kTileCrossRows, rows);
      const std::uint64_t begin = share.begin + before(share.pages() * row / rows);
      const std::uint64_t missed = begin < share.end ? first_missing({begin, share.end}) : share.end;
      if (missed == share.end) return section.steps;
      return std::max<std::uint64_t>(step, before(missed - share.begin) * rows / share.pages() / kTileCrossRows);
    }
    if (operand.role != TileRole::kMarch) return section.steps;  // its loads are over
    const std::uint64_t begin = share.begin + (step - 1) * kTileMarchPages;
    const std::uint64_t missed = begin < share.end ? first_missing({begin, share.end}) : share.end;
    return missed == share.end ? section.steps : (missed - share.begin) / kTileMarchPages + 1;
  }
  return 0;
}

// Returns whether for_each_page() calls its function at all.
inline bool has_pages(const KernelWork& work, const SectionRun& section, std::uint64_t unit, std::uint32_t step,
                      bool stores, const Share* shares) {
  const std::vector<std::uint32_t>& watched = section.watched(stores);
  if (watched.empty() && !work.explicit_touches) return false;
  switch (work.pattern) {
    case Pattern::kSlices:
      return !stores || step + 1 == section.steps || section.early_stores ||
             (work.rows &&
              std::any_of(watched.begin(), watched.end(), [&](std::uint32_t i) { return shares[i].pages() > 1; }));
    case Pattern::kTiles:
      if (stores) return step + 1 == section.steps;
      return step + 1 != section.steps && next_loading_step(section, step, shares) == step;
    case Pattern::kStride:
      return std::uint64_t{step} * work.unroll * section.units + unit < section.pieces;
    case Pattern::kPlanes:
      return stores == plane_step_stores(section, step);
    case Pattern::kThreads:
      break;
  }
  bool any = false;
  thread_pages(work, section, unit, step, stores, [&](const PageRun&, std::uint32_t, Reach) { any = true; });
  return any;
}

}  // namespace uvmsim::engine
