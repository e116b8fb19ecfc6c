// SPDX-License-Identifier: Apache-2.0
// A kernel's accesses after layout, cut into the units and steps in which its thread blocks consume them.
//
// The touched pages of each operand form one ascending sequence; a Pattern says which unit touches which pages, and
// when:
//   slices   thread block b of G takes the share [b/G, (b+1)/G) of every operand, a few accesses per warp and step
//   stride   grid-stride loop: in step k block b touches the (k * G + b)-th piece, or `unroll` such pieces. The blocks
//            of a phase walk through the operands of the phase together. In a concatenation the blocks of an input
//            walk through it, and store to its part of every piece of the output.
//   tiles    matrix products and convolutions (tile_shape.h): a panel of one input at once; the other inputs, through
//            which the blocks that share them march in step; a tile of the output at the end, row by row.
//            Small inputs are read as a whole.
//   planes   block b has the b-th plane of every image in an NCHW tensor: loads them image by image, then stores; in a
//            transform of tiles (Fourier's, Winograd's), the b-th piece of each plane of its result, which it stores;
//            in a transposition, the rows of its tile
//   threads  thread t walks its own contiguous share of the touch list or of every operand; a unit is one warp. In a
//            step a thread takes one touch, one page, or, where the kernel says how much an instruction of a thread
//            reads, that many bytes: then it comes back to a page many times, and may find that it was evicted
//            meanwhile
// A unit is a thread block (or several that share a page), or a warp. Units start in order as places on the SMs become
// free, so that the resident ones form a front that moves through the operands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/common/check.h"
#include "sim/config/system.h"
#include "sim/engine/tile_shape.h"
#include "sim/layout/layout.h"
#include "sim/memory/address_space.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

// Consecutive touched pages of the simulated address space, over any number of VA blocks.
struct Stretch {
  std::uint64_t index = 0;  // of its first page (PageRef::index)
  std::uint64_t count = 0;
  std::uint64_t ordinal = 0;  // of its first page in the operand
};

// The part of a stretch that lies in one VA block.
struct Segment {
  BlockIndex block;
  std::uint16_t first = 0, count = 0;
  std::uint64_t ordinal = 0;  // of its first page in the operand
};

struct PageRef {
  BlockIndex block;
  std::uint16_t page = 0;
  bool write = false;
  // Position in the simulated address space, in pages.
  std::uint64_t index() const { return block.value * kPagesPerBlock + page; }
};

// Contiguous pages of one VA block, as accessed by one instruction of a unit.
struct PageRun {
  BlockIndex block;
  std::uint16_t first = 0, count = 0;
  bool write = false;
};

// Positions [begin, end) in the sequence of an operand's pages.
struct PageRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t pages() const { return end - begin; }
};

// The positions of an operand that a unit walks through, step by step.
struct Share : PageRange {
  static constexpr std::uint64_t kSplit = ~std::uint64_t{0};
  std::uint64_t first_index = kSplit;  // of its first page (PageRef::index), if its pages are consecutive
};

// The way in which a block of a tile kernel reads an input. kPanel: the panel of its row of tiles at once. kMarch: the
// share of its column of tiles, step by step. kCross: its part of every row of memory, some rows per step. kSmall: all
// of it. kSum: no loads of its own, as the block reads what it is about to write (of a sum in slices).
enum class TileRole : std::uint8_t { kPanel, kMarch, kCross, kSmall, kSum };

struct Operand {
  bool write = false;
  bool summed = false;               // its object is read and written at the same places
  TileRole role = TileRole::kSmall;  // of an input
  bool has_rows = false;             // kCross: a part of each row belongs to a row of tiles, else to a column
  std::uint64_t rows = 0;            // kCross: rows of one batch
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;  // touched, in whole quanta of the trace
  std::vector<Stretch> stretches;
  bool contiguous = false;        // all its pages are one stretch
  std::uint64_t first_index = 0;  // of its first page (PageRef::index)

  // Returns the longest run of pages in one block from position `first` on, `end` excluded; first < end <= pages.
  PageRun run(std::uint64_t first, std::uint64_t end) const {
    UVMSIM_CHECK(first < end && end <= pages, "positions {} to {} of {}", first, end, pages);
    if (contiguous) return run_at(first_index + first, end - first);
    const Stretch& stretch = stretches[stretch_of(first)];
    const std::uint64_t into = first - stretch.ordinal;
    return run_at(stretch.index + into, std::min(stretch.count - into, end - first));
  }
  // Returns where the first of these pages lies (PageRef::index); Share::kSplit if they are not known to be
  // consecutive.
  std::uint64_t index_of(const PageRange& pages) const {
    if (contiguous) return first_index + pages.begin;
    const Stretch& stretch = stretches[stretch_of(pages.begin)];
    const std::uint64_t into = pages.begin - stretch.ordinal;
    return into + pages.pages() > stretch.count ? Share::kSplit : stretch.index + into;
  }
  // Calls f(run) for the pages [first, end), ascending.
  template <class F>
  void for_each_run(std::uint64_t first, std::uint64_t end, F&& f) const {
    while (first < end) {
      const PageRun part = run(first, end);
      f(part);
      first += part.count;
    }
  }
  // Returns whether f(run, position) holds for all runs of the pages [first, end).
  template <class F>
  bool all_runs(std::uint64_t first, std::uint64_t end, F&& f) const {
    if (first >= end) return true;
    for (std::size_t i = stretch_of(first); first < end; ++i) {
      const Stretch& stretch = stretches[i];
      for (const std::uint64_t stop = std::min(end, stretch.ordinal + stretch.count); first < stop;) {
        const PageRun part = run_at(stretch.index + (first - stretch.ordinal), stop - first);
        if (!f(part, first)) return false;
        first += part.count;
      }
    }
    return true;
  }
  // Calls f(segment) for all pages, block by block.
  template <class F>
  void for_each_segment(F&& f) const {
    all_runs(0, pages, [&](const PageRun& run, std::uint64_t ordinal) {
      f(Segment{run.block, run.first, run.count, ordinal});
      return true;
    });
  }
  // Returns whether f(run) holds for all runs of a share.
  template <class F>
  bool all_runs(const Share& share, F&& f) const {
    for (std::uint64_t first = share.begin; first < share.end;) {
      const PageRun part = run(share, first, share.end);
      if (!f(part)) return false;
      first += part.count;
    }
    return true;
  }
  // run() and for_each_run() of pages of a share.
  PageRun run(const Share& share, std::uint64_t first, std::uint64_t end) const {
    if (share.first_index == Share::kSplit) return run(first, end);
    return run_at(share.first_index + (first - share.begin), end - first);
  }
  template <class F>
  void for_each_run(const Share& share, std::uint64_t first, std::uint64_t end, F&& f) const {
    while (first < end) {
      const PageRun part = run(share, first, end);
      f(part);
      first += part.count;
    }
  }

 private:
  // Returns `most` pages at most, of one block, from `index` on (PageRef::index).
  PageRun run_at(std::uint64_t index, std::uint64_t most) const {
    const std::uint64_t page = index % kPagesPerBlock;
    return {BlockIndex(index / kPagesPerBlock), static_cast<std::uint16_t>(page),
            static_cast<std::uint16_t>(std::min<std::uint64_t>(kPagesPerBlock - page, most)), write};
  }
  std::size_t stretch_of(std::uint64_t page) const {
    const auto next = std::upper_bound(stretches.begin(), stretches.end(), page,
                                       [](std::uint64_t p, const Stretch& stretch) { return p < stretch.ordinal; });
    return static_cast<std::size_t>(next - stretches.begin()) - 1;
  }
};

enum class Pattern : std::uint8_t { kSlices, kStride, kTiles, kPlanes, kThreads };

// How a unit of `planes` goes through the planes of its channel. Groups of its warps have a plane of one of `at_once`
// images each; a plane comes in so many parts. at_once 0: it has a slice of each operand instead.
struct PlaneSweep {
  std::uint64_t at_once = 1;
  std::uint64_t parts = 1;
  std::uint32_t steps = 1;  // with as many of the parts each, in whole ones
};

// A kernel that transposes the images of a tensor from [channels][pixels] to [pixels][channels]: a block has a tile of
// both. Its "planes" are the rows of the tile.
struct Transposition {
  static constexpr std::uint64_t kTileSide = 32;
  std::uint64_t pixels = 0, channels = 0;  // of an image; 0: another kernel

  static constexpr std::uint64_t tiles(std::uint64_t elements) { return (elements + kTileSide - 1) / kTileSide; }
};

// The part of each of the output's rows that is one input of a concatenation: [begin, end) of `total`, in units of 512
// bytes of all inputs.
struct RowPart {
  static constexpr std::uint64_t kUnitBytes = 512;
  static constexpr std::uint64_t kMostRows = 1 << 20;  // so that products of 64 TiB of each fit into 128 bits
  std::uint64_t begin = 0, end = 0, total = 0;         // total 0: another kernel
  std::uint64_t rows = 1;
};

// Units [first_unit, first_unit + units) of a section: the whole kernel, one phase, or one input of a concatenation.
struct SectionShape {
  std::uint64_t first_unit = 0, units = 0;
  std::uint32_t steps = 1;    // of each unit
  std::uint64_t longest = 0;  // pages of the largest operand
  std::uint64_t longest_input = 0;
  PlaneSweep loads, stores;  // planes: first all loads, then all stores
  std::uint64_t pieces = 1;  // stride: equal ones, of each operand
  RowPart row_part;          // stride
};

// A section with the operands that its units share.
struct Section : SectionShape {
  std::vector<Operand> operands;  // inputs before outputs, except for kThreads
};

// Returns false for a result much smaller than the largest operand: it is stored when the block is done.
inline bool stores_in_every_step(const SectionShape& section, const Operand& operand) {
  return operand.pages * 64 >= section.longest;
}

struct KernelWork {
  Pattern pattern = Pattern::kSlices;
  std::vector<Section> sections;
  std::uint64_t units = 0;
  std::uint32_t resident_units = 1;   // at once
  std::uint32_t units_per_block = 1;  // that lie on one SM together: warps of a block, or 1
  std::uint32_t warps = 1;            // of a unit
  bool rows = false;                  // slices: every warp has a contiguous share of its own (block.y > 1)
  // The kernel's name says an access pattern that its grid or sizes do not fit, or that needs the number of images
  // while this is unknown: a coarser pattern is played.
  bool misfit = false;
  TileShape tile;
  std::optional<ConvolutionShape> convolution;  // instead of `tile`
  std::uint64_t images = 1;                     // planes: images of the tensor
  Transposition transposition;                  // planes
  bool transforms = false;                      // planes: those of a transform's result
  bool oldest_first = false;        // the blocks of an SM end one after another, as it computes for the oldest first
  bool stores_together = false;     // the warps of a block meet at a barrier before their stores, and only store then
  std::uint32_t awaited_loads = 1;  // of a step, by whoever stores its results: a warp, or with a barrier the block
  std::uint32_t unroll = 1;         // stride: pieces of a block per step
  std::uint32_t access_bytes = 16;  // of a thread, by one instruction, to the largest operand; of a warp at most a page
  Nanoseconds step{};               // duration of a unit's step, as recorded
  Nanoseconds computing{};          // what of it the SM computes; its bytes come meanwhile
  Nanoseconds transferring{};       // the time that these bytes take of the SM
  // The members below are for `threads`.
  bool explicit_touches = false;
  std::vector<PageRef> touches;
  std::uint64_t threads = 0;
  std::uint64_t chunk = 0;  // touches, or pages per operand, of one thread
  std::uint64_t threads_per_block = 1;
  std::uint64_t accesses_per_page = 0;  // if not 0, a step is an access, and a thread comes back to a page so often

  bool touches_anything() const {
    return !touches.empty() || std::any_of(sections.begin(), sections.end(),
                                           [](const Section& section) { return !section.operands.empty(); });
  }
  // Calls f(segment, write) for every page of every operand.
  template <class F>
  void for_each_segment(F&& f) const {
    for (const Section& section : sections) {
      for (const Operand& operand : section.operands) {
        operand.for_each_segment([&](const Segment& segment) { f(segment, operand.write); });
      }
    }
  }
  // Calls f(block, pages) for every page of every operand and for every listed touch.
  template <class F>
  void for_each_touched(F&& f) const {
    for_each_segment([&](const Segment& s, bool) { f(s.block, PageMask::range(s.first, s.count)); });
    for (const PageRef& page : touches) f(page.block, PageMask::range(page.page, 1));
  }
};

// Returns the thread blocks that one SM holds at once (CUDA occupancy: threads, blocks, registers, shared memory).
std::uint32_t blocks_per_sm(const config::GpuConfig& gpu, const trace::Kernel& kernel);

// Returns the kernel's accesses in units and steps. `space`: the address space when the kernel starts, which says what
// pages hold data; null: all do. `capacity_bytes`: the GPU's memory for managed data. `images`: the number of images in
// an NCHW tensor of the program; 0: unknown. Throws InputError for accesses outside their object or to objects that are
// not allocated.
KernelWork plan_kernel(const trace::Kernel& kernel, std::uint32_t quantum_bytes, const layout::Layout& layout,
                       const AddressSpace* space, const config::SystemConfig& system, std::uint64_t capacity_bytes,
                       std::uint64_t images);

// Returns the number of images in the kernel's NCHW tensors, as far as the kernel itself shows it; else 0.
std::uint64_t images_shown_by(const trace::Kernel& kernel);

}  // namespace uvmsim::engine
