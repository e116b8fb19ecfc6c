// SPDX-License-Identifier: Apache-2.0
// A kernel's accesses after layout, cut into the units and steps in which its thread blocks consume them.
//
// The touched pages of each operand form one ascending sequence; a Pattern says who touches what, and when:
//   slices   thread block b of G takes the share [b/G, (b+1)/G) of every operand, a few accesses per warp and step
//   stride   grid-stride loop: in step k block b touches the (k * G + b)-th piece, or `unroll` such pieces
//   tiles    matrix products and convolutions (tile_shape.h): a panel of one input at once; the other inputs, through
//            which the blocks that share them march in step; a tile of the output at the end, row by row.
//            Operands that are no matrix go as slices.
//   planes   block b has the b-th plane of every image in an NCHW tensor: loads them image by image, then stores
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

// Touched pages that follow one another in the simulated address space, over any number of VA blocks.
struct Stretch {
  std::uint64_t index = 0;  // of its first page (PageRef::index)
  std::uint64_t count = 0;
  std::uint64_t ordinal = 0;  // of its first page in the operand
};

// What of a stretch lies in one VA block.
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

// What a unit walks through of an operand, step by step.
struct Share : PageRange {
  static constexpr std::uint64_t kSplit = ~std::uint64_t{0};
  std::uint64_t first_index = kSplit;  // of its first page (PageRef::index), if its pages follow one another there
};

// What a tile kernel does with an operand that it reads: takes the panel of its row of tiles at once, marches through
// the share of its column of tiles, marches across all rows of memory and takes its part of each, takes all of it,
// reads what it is about to write (of a sum in slices).
enum class TileRole : std::uint8_t { kPanel, kMarch, kCross, kSmall, kSum };

struct Operand {
  bool write = false;
  bool summed = false;               // its object is read and written at the same places
  TileRole role = TileRole::kSmall;  // of an input
  bool has_rows = false;             // kCross: a part of each row belongs to a row of tiles, else to a column
  std::uint64_t rows = 0;            // kCross: of one batch
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;  // touched, in whole quanta of the trace
  std::vector<Stretch> stretches;
  bool contiguous = false;        // all its pages are one stretch,
  std::uint64_t first_index = 0;  // from this one on (PageRef::index)

  // The longest run of pages from `first` on that lie together in one block, `end` excluded; first < end <= pages.
  PageRun run(std::uint64_t first, std::uint64_t end) const {
    UVMSIM_CHECK(first < end && end <= pages, "positions {} to {} of {}", first, end, pages);
    if (contiguous) return run_at(first_index + first, end - first);
    const Stretch& stretch = stretches[stretch_of(first)];
    const std::uint64_t into = first - stretch.ordinal;
    return run_at(stretch.index + into, std::min(stretch.count - into, end - first));
  }
  // Where the first of these pages lies (PageRef::index); Share::kSplit if they are not known to follow one another.
  std::uint64_t index_of(const PageRange& pages) const {
    if (contiguous) return first_index + pages.begin;
    const Stretch& stretch = stretches[stretch_of(pages.begin)];
    const std::uint64_t into = pages.begin - stretch.ordinal;
    return into + pages.pages() > stretch.count ? Share::kSplit : stretch.index + into;
  }
  // The pages [first, end), run by run, ascending.
  template <class F>
  void for_each_run(std::uint64_t first, std::uint64_t end, F&& f) const {
    while (first < end) {
      const PageRun part = run(first, end);
      f(part);
      first += part.count;
    }
  }
  // Whether f(run, position) holds for all runs of the pages [first, end).
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
  // All its pages, block by block.
  template <class F>
  void for_each_segment(F&& f) const {
    all_runs(0, pages, [&](const PageRun& run, std::uint64_t ordinal) {
      f(Segment{run.block, run.first, run.count, ordinal});
      return true;
    });
  }
  // Whether f(run) holds for all runs of a share.
  template <class F>
  bool all_runs(const Share& share, F&& f) const {
    for (std::uint64_t first = share.begin; first < share.end;) {
      const PageRun part = run(share, first, share.end);
      if (!f(part)) return false;
      first += part.count;
    }
    return true;
  }
  // As above, for pages of a share.
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
  // So many pages at most, from the place `index` on (PageRef::index).
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

// Units [first_unit, first_unit + units) of a section: the whole kernel, or one phase.
struct SectionShape {
  std::uint64_t first_unit = 0, units = 0;
  std::uint32_t steps = 1;    // of one unit
  std::uint64_t longest = 0;  // pages of the largest operand
  std::uint64_t longest_input = 0;
};

// They share these operands.
struct Section : SectionShape {
  std::vector<Operand> operands;  // inputs before outputs, but for kThreads
};

// A result much smaller than the input is written when the block is done.
inline bool stores_in_every_step(const SectionShape& section, const Operand& operand) {
  return operand.pages * 64 >= section.longest;
}

struct KernelWork {
  Pattern pattern = Pattern::kSlices;
  std::vector<Section> sections;
  std::uint64_t units = 0;
  std::uint32_t lanes = 1;               // units resident at once
  std::uint32_t lanes_per_sm_group = 1;  // consecutive lanes on one SM (warps of a block)
  std::uint32_t warps = 1;               // of a unit
  bool rows = false;                     // slices: every warp has a contiguous share of its own (block.y > 1)
  TileShape tile;
  std::optional<ConvolutionShape> convolution;  // instead
  std::uint64_t images = 1;                     // planes
  std::uint64_t images_at_once = 1;             // planes: by groups of a block's warps
  std::uint32_t unroll = 1;                     // stride: pieces of a block per step
  Nanoseconds step{};                           // compute per step
  // threads
  bool explicit_touches = false;
  std::vector<PageRef> touches;
  std::uint64_t threads = 0;
  std::uint64_t chunk = 0;    // touches (or pages per operand) of one thread
  bool within_pages = false;  // a step is an instruction, and takes less than a page of the longest operand

  bool touches_anything() const {
    return !touches.empty() || std::any_of(sections.begin(), sections.end(),
                                           [](const Section& section) { return !section.operands.empty(); });
  }
  // Every page the kernel touches, as segments, each operand apart.
  template <class F>
  void for_each_segment(F&& f) const {
    for (const Section& section : sections) {
      for (const Operand& operand : section.operands) {
        operand.for_each_segment([&](const Segment& segment) { f(segment, operand.write); });
      }
    }
  }
  // The same as pages of blocks, and what it touches one by one.
  template <class F>
  void for_each_touched(F&& f) const {
    for_each_segment([&](const Segment& s, bool) { f(s.block, PageMask::range(s.first, s.count)); });
    for (const PageRef& page : touches) f(page.block, PageMask::range(page.page, 1));
  }
};

// Thread blocks that one SM holds at once (CUDA occupancy: threads, blocks, registers, shared memory).
std::uint32_t blocks_per_sm(const config::GpuConfig& gpu, const trace::Kernel& kernel);

// `space`: what its pages hold when the kernel starts; null: every page holds something. `capacity_bytes`: the GPU's
// memory for managed data. `images`: how many an NCHW tensor of the program holds, 0 if unknown. Throws InputError for
// accesses outside their object or to objects that are not allocated.
KernelWork plan_kernel(const trace::Kernel& kernel, std::uint32_t quantum_bytes, const layout::Layout& layout,
                       const AddressSpace* space, const config::SystemConfig& system, std::uint64_t capacity_bytes,
                       std::uint64_t images);

// How many images the kernel itself shows that its NCHW tensors hold; 0: it does not.
std::uint64_t images_shown_by(const trace::Kernel& kernel);

}  // namespace uvmsim::engine
