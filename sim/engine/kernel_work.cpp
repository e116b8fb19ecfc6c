// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/kernel_work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/common/time_limit.h"
#include "sim/engine/step_pages.h"
#include "sim/trace/kernel_names.h"

namespace uvmsim::engine {

namespace {

// Planes: bytes that each thread has under way; the second number is for kernels that keep their input or work on
// several images at once (measured).
constexpr std::uint64_t kPlaneThreadBytes = 32, kFreePlaneThreadBytes = 128;
constexpr std::uint64_t kPlaneElementBytes = 4;
// The spread of load times (KernelRun) is that of kernels whose threads wait for two loads.
constexpr std::uint64_t kLoadsOfTimes = 2;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// Adds pages [first, end) of the object to the operand.
void add_pages(Operand& operand, const layout::Placement& placement, std::uint64_t first, std::uint64_t end) {
  placement.for_each_stretch(first, end, [&](std::uint64_t index, std::uint64_t count) {
    Stretch* last = operand.stretches.empty() ? nullptr : &operand.stretches.back();
    if (last != nullptr && last->index + last->count == index) {
      last->count += count;
    } else {
      operand.stretches.push_back({index, count, operand.pages});
    }
    operand.pages += count;
  });
}

// The data that locate the accesses of kernels.
struct Places {
  const layout::Layout& layout;
  const AddressSpace* space;  // null: as if every page held something
  std::uint32_t quantum_bytes;
};

// Calls add(first, end) for those pages of [first, end) that a kernel with read-write access reads first: the ones that
// hold data. It writes the others first, as a matrix product that sums up in its output does. (Measured: without
// oversubscription all faults are writes.)
template <class F>
void for_each_read_first(const layout::Placement& placement, const AddressSpace* space, std::uint64_t first,
                         std::uint64_t end, F&& add) {
  if (space == nullptr) return add(first, end);
  placement.for_each_part(first, end, [&](BlockIndex block, unsigned in_block, unsigned count) {
    if (PageMask::range(in_block, count).intersects(space->resident_anywhere(block))) add(first, first + count);
    first += count;
  });
}

// Adds an operand for the pages that the extents read, and one for those that they write. A page counts once per
// operand, even if extents share it.
void add_operands(std::vector<Operand>& operands, const std::vector<trace::Extent>& extents, trace::ObjectId id,
                  const Places& places) {
  const layout::Placement& placement = places.layout.find(id);
  const std::uint32_t quantum_bytes = places.quantum_bytes;
  if (!placement.managed) return;
  Operand reads;
  Operand writes;
  writes.write = true;
  bool only_sums = true;
  std::uint64_t read_end = 0;
  std::uint64_t write_end = 0;
  for (const trace::Extent& extent : extents) {
    if (extent.count == 0) continue;
    const std::uint64_t limit = placement.bytes / quantum_bytes + 1;
    if (extent.first > limit || extent.count > limit - extent.first ||
        extent.first * quantum_bytes >= placement.bytes) {
      throw_input_error("touch of object {} past its end ({} bytes)", id, placement.bytes);
    }
    const std::uint64_t begin_byte = placement.offset + extent.first * quantum_bytes;
    const std::uint64_t end_byte =
        placement.offset + std::min((extent.first + extent.count) * quantum_bytes, placement.bytes);
    const std::uint64_t first = begin_byte / kBasePageBytes;
    const std::uint64_t end = ceil_div(end_byte, kBasePageBytes);
    if (extent.mode != trace::AccessMode::kWrite) reads.bytes += end_byte - begin_byte;
    if (extent.mode != trace::AccessMode::kRead) writes.bytes += end_byte - begin_byte;
    only_sums = only_sums && extent.mode == trace::AccessMode::kReadWrite;
    if (extent.mode != trace::AccessMode::kWrite) {
      const auto add = [&](std::uint64_t from, std::uint64_t to) { add_pages(reads, placement, from, to); };
      const std::uint64_t from = std::max(first, read_end), to = std::max(end, read_end);
      if (extent.mode == trace::AccessMode::kRead) {
        add(from, to);
      } else {
        for_each_read_first(placement, places.space, from, to, add);
      }
      read_end = to;
    }
    if (extent.mode != trace::AccessMode::kRead) {
      // After a load the store finds the page mapped unless it is read-duplicated.
      add_pages(writes, placement, std::max(first, write_end), std::max(end, write_end));
      write_end = std::max(write_end, end);
    }
  }
  for (Operand* operand : {&reads, &writes}) {
    if (operand->pages == 0) continue;
    operand->summed = only_sums;
    operand->first_index = operand->stretches.front().index;
    operand->contiguous = operand->stretches.size() == 1;
    operands.push_back(std::move(*operand));
  }
}

std::uint64_t longest(const std::vector<Operand>& operands) {
  std::uint64_t pages = 0;
  for (const Operand& operand : operands) pages = std::max(pages, operand.pages);
  return pages;
}

void check_slot(std::uint32_t slot, const trace::Kernel& kernel) {
  if (slot < kernel.accesses.size()) return;
  throw_input_error("kernel '{}' names slot {}, but has {} accesses", kernel.name, slot, kernel.accesses.size());
}

// Returns how many units are simulated if only the first `busy` touch anything. Some rounds of all residents stand for
// all idle units behind them, so that the work grows with the pages touched, not with the grid.
std::uint64_t units_to_simulate(std::uint64_t units, std::uint64_t busy, std::uint64_t residents) {
  constexpr std::uint64_t kIdleRounds = 64;
  return std::min(units, busy + kIdleRounds * residents);
}

void plan_threads(KernelWork& work, const trace::Kernel& kernel, const Places& places, std::uint32_t resident_blocks) {
  const std::uint64_t threads_per_block = std::max<std::uint64_t>(kernel.block.count(), 1);
  const std::uint64_t warps_per_block = ceil_div(threads_per_block, kWarpThreads);
  work.pattern = Pattern::kThreads;
  work.explicit_touches = !kernel.touches.empty();
  work.threads_per_block = threads_per_block;
  work.threads = kernel.grid.count() * threads_per_block;
  work.touches.reserve(kernel.touches.size());
  for (const trace::Touch& touch : kernel.touches) {
    check_slot(touch.slot, kernel);
    const trace::ObjectId id = kernel.accesses[touch.slot].object;
    const layout::Placement& placement = places.layout.find(id);
    if (!placement.managed) continue;
    if (touch.quantum >= ceil_div(placement.bytes, places.quantum_bytes)) {
      throw_input_error("touch of object {} past its end ({} bytes)", id, placement.bytes);
    }
    const std::uint64_t page = (placement.offset + touch.quantum * places.quantum_bytes) / kBasePageBytes;
    work.touches.push_back({placement.blocks[page / kPagesPerBlock], static_cast<std::uint16_t>(page % kPagesPerBlock),
                            touch.mode != trace::AccessMode::kRead});
  }
  Section section;
  std::uint64_t busy_threads = 0;
  if (work.explicit_touches) {
    work.chunk = ceil_div(work.touches.size(), work.threads);
    busy_threads = work.touches.size();
  } else {
    for (const trace::ObjectAccess& access : kernel.accesses) {
      add_operands(section.operands, access.extents, access.object, places);
    }
    section.longest = longest(section.operands);
    work.chunk = ceil_div(section.longest, work.threads);
    busy_threads = section.longest;
    if (kernel.bytes_per_thread_access != 0) {
      work.accesses_per_page = std::max<std::uint64_t>(1, kBasePageBytes / kernel.bytes_per_thread_access);
      busy_threads *= work.accesses_per_page;
    }
  }
  section.units = kernel.grid.count() * warps_per_block;
  const std::uint64_t chunk = std::max<std::uint64_t>(work.chunk, 1);
  // A thread that has a page for itself makes all accesses to it; threads that share a page share them.
  const std::uint64_t per_page =
      work.chunk <= 1 && work.accesses_per_page != 0
          ? std::max<std::uint64_t>(1, section.longest * work.accesses_per_page / work.threads)
          : std::max<std::uint64_t>(1, work.accesses_per_page);
  if (chunk > std::numeric_limits<std::uint32_t>::max() / per_page) {
    throw_input_error("a thread of kernel '{}' makes {} accesses to each of {} pages; allowed: up to {} in all",
                      kernel.name, per_page, chunk, std::numeric_limits<std::uint32_t>::max());
  }
  section.steps = static_cast<std::uint32_t>(chunk * per_page);
  work.resident_units =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(section.units, resident_blocks * warps_per_block));
  section.units = units_to_simulate(section.units, ceil_div(busy_threads, chunk), work.resident_units);
  work.units = section.units;
  work.units_per_block = static_cast<std::uint32_t>(warps_per_block);
  work.sections.push_back(std::move(section));
}

// The thread blocks and operands of the whole kernel, or of one phase.
struct Part {
  std::uint64_t blocks = 1;
  std::vector<Operand> operands;
  RowPart row_part;
};
std::vector<Part> parts_of(const trace::Kernel& kernel, bool by_phase, const Places& places) {
  std::vector<Part> parts;
  if (!by_phase) {
    Part part{std::max<std::uint64_t>(kernel.grid.count(), 1), {}, {}};
    for (const trace::ObjectAccess& access : kernel.accesses) {
      add_operands(part.operands, access.extents, access.object, places);
    }
    parts.push_back(std::move(part));
  }
  for (const trace::Phase& phase : kernel.phases) {
    if (!by_phase) break;
    Part part{std::max<std::uint64_t>(phase.block_count, 1), {}, {}};
    for (const trace::PhaseAccess& access : phase.accesses) {
      check_slot(access.slot, kernel);
      add_operands(part.operands, access.extents, kernel.accesses[access.slot].object, places);
    }
    parts.push_back(std::move(part));
  }
  for (Part& part : parts) {
    std::stable_partition(part.operands.begin(), part.operands.end(), [](const Operand& o) { return !o.write; });
  }
  return parts;
}

// Plans the tiles and returns the steps of a unit: one for panels, the march, one for outputs.
std::uint32_t plan_tiles(KernelWork& work, const trace::Kernel& kernel, Section& section, std::uint64_t images) {
  const std::optional<trace::MatrixTile> tile = trace::matrix_tile_by_name(kernel.name);
  std::vector<Operand*> inputs;
  std::uint64_t written = 0, summed = 0;  // bytes of the largest output
  for (Operand& operand : section.operands) {
    if (operand.write) {
      std::uint64_t& largest = operand.summed ? summed : written;
      largest = std::max(largest, operand.bytes);
    } else if (operand.summed && tile) {
      operand.role = TileRole::kSum;
    } else if (tile || operand.pages * 4 >= section.longest_input) {
      inputs.push_back(&operand);
    }
  }
  std::uint64_t parts;  // parts that blocks march through
  if (!tile && (inputs.size() <= 1 || trace::pixel_tile_by_name(kernel.name))) {
    work.convolution = ConvolutionShape::of(kernel, std::max(written, summed), images);
    if (work.convolution->tile_named && work.convolution->images == 0) work.misfit = true;
    parts = work.convolution->groups();
    for (Operand* input : inputs) input->role = TileRole::kMarch;
  } else {
    if (tile) {  // the two matrices are the largest
      std::stable_sort(inputs.begin(), inputs.end(),
                       [](const Operand* a, const Operand* b) { return a->bytes > b->bytes; });
      if (inputs.size() > 2) inputs.erase(inputs.begin() + 2, inputs.end());
    }
    ProductBytes bytes{written * 2 >= summed ? written : summed};
    if (!inputs.empty()) bytes.input = inputs[0]->bytes;
    if (inputs.size() > 1) bytes.other_input = inputs[1]->bytes;
    work.tile = TileShape::of_product(kernel, tile, bytes);
    if (tile && !work.tile.fits_name) work.misfit = true;
    parts = work.tile.columns;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Operand& input = *inputs[i];
      input.has_rows = inputs.size() > 1 && i == (work.tile.second_has_rows ? 1 : 0);
      input.role = input.has_rows ? TileRole::kPanel : TileRole::kMarch;
      if (tile && work.tile.depth != 0 && !(input.has_rows ? tile->rows_run_along_sum : tile->columns_run_along_sum)) {
        input.role = TileRole::kCross;
        input.rows = std::min(work.tile.depth, input.pages * kBasePageBytes);
      }
    }
  }
  const std::uint64_t batches = work.convolution ? work.convolution->batches : work.tile.batches;
  std::uint64_t march = 1;
  for (const Operand* input : inputs) {
    if (input->role == TileRole::kMarch) {
      march = std::max(march, ceil_div(ceil_div(ceil_div(input->pages, batches), parts), kTileMarchPages));
    } else if (input->role == TileRole::kCross) {
      march = std::max(march, ceil_div(ceil_div(input->rows, work.tile.slices), kTileCrossRows));
    }
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(march + 2, 1u << 20));
}

// Returns the number of images of a tensor, if each thread block has one channel: then every phase touches one stretch
// per image. Returns 0 if phases differ.
std::uint64_t stretches_of(const trace::Kernel& kernel) {
  std::size_t most = 0, least = SIZE_MAX;
  for (const trace::Phase& phase : kernel.phases) {
    std::size_t stretches = 0;
    for (const trace::PhaseAccess& access : phase.accesses) stretches = std::max(stretches, access.extents.size());
    most = std::max(most, stretches);
    least = std::min(least, stretches);
  }
  return most == least && most > 1 ? most : 0;
}

// Returns whether each thread block has one channel.
bool has_planes(const trace::Kernel& kernel) {
  return kernel.grid.y == 1 && kernel.grid.z == 1 && trace::block_per_channel_by_name(kernel.name);
}

std::uint64_t touched_bytes(const trace::Kernel& kernel, std::uint32_t quantum_bytes) {
  std::uint64_t quanta = 0;
  for (const trace::ObjectAccess& access : kernel.accesses) {
    for (const trace::Extent& extent : access.extents) quanta += extent.count;
  }
  return quanta * quantum_bytes;
}

// Returns the grid-stride loop that the kernel's name says. Its phases tell no more: each holds pages of everything.
std::optional<trace::Loop> named_loop_of(const trace::Kernel& kernel) {
  const bool told = kernel.distribution == trace::Distribution::kBlockLinear;
  return told ? trace::loop_by_name(kernel.name) : std::nullopt;
}

// Returns the parts of a concatenation, one per input: the blocks with the same y copy an input to its place in each
// row of the output. Returns the kernel as one part if its inputs cannot be told apart. A vectorized kernel has as many
// rows as there are images; the others' rows are taken to be what a block copies at once.
std::vector<Part> parts_of_concatenation(const trace::Kernel& kernel, const trace::Loop& loop, std::vector<Part> whole,
                                         std::uint64_t images) {
  const std::vector<Operand>& operands = whole.front().operands;  // inputs first
  constexpr std::uint64_t kMostInputs = 128;                      // of one kernel of PyTorch
  const std::uint64_t inputs = kernel.grid.y;
  const bool same = operands.size() == 2;  // one tensor several times
  if (inputs == 0 || inputs > kMostInputs || operands.size() != (same ? 1 : inputs) + 1 || !operands.back().write ||
      operands[operands.size() - 2].write) {
    return whole;
  }
  const auto input = [&](std::uint64_t i) -> const Operand& { return operands[same ? 0 : i]; };
  RowPart row_part;
  const auto length = [&](std::uint64_t i) { return std::max<std::uint64_t>(1, input(i).bytes / RowPart::kUnitBytes); };
  std::uint64_t longest = 0;
  for (std::uint64_t i = 0; i < inputs; ++i) {
    row_part.total += length(i);
    longest = std::max(longest, input(i).bytes);
  }
  const bool long_rows = loop.bytes_per_access > 4;
  const std::uint64_t pieces = longest / loop.bytes_per_access / std::max<std::uint64_t>(1, kernel.block.count());
  row_part.rows = std::clamp<std::uint64_t>(long_rows ? images : pieces, 1, RowPart::kMostRows);
  std::vector<Part> parts;
  for (std::uint64_t i = 0; i < inputs; ++i) {
    row_part.begin = row_part.end;
    row_part.end += length(i);
    Part part{std::max<std::uint64_t>(kernel.grid.x, 1), {input(i), operands.back()}, row_part};
    part.operands.back().bytes = input(i).bytes;
    parts.push_back(std::move(part));
  }
  return parts;
}

// Returns how a block goes through its planes, of so many images at once, with so many bytes of a thread in flight.
PlaneSweep plan_sweep(std::uint64_t plane_bytes, std::uint64_t images, std::uint64_t at_once, std::uint64_t in_flight) {
  PlaneSweep sweep;
  sweep.at_once = std::clamp<std::uint64_t>(at_once, 1, images);
  const std::uint64_t round_bytes = std::max<std::uint64_t>(1, plane_bytes * sweep.at_once);
  sweep.parts = std::clamp<std::uint64_t>(ceil_div(round_bytes, std::max<std::uint64_t>(1, in_flight)), 1, 1u << 20);
  const std::uint64_t at_a_time = sweep.parts > 1 ? 1 : in_flight / round_bytes;  // rounds, or parts of one
  const std::uint64_t parts = ceil_div(images, sweep.at_once) * sweep.parts;
  sweep.steps = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(ceil_div(parts, at_a_time), 1, 1u << 29));
  return sweep;
}

// Threads take consecutive elements of a channel, whatever image these belong to, unless the name says how many threads
// share a plane (measured: which images' pages the first blocks of such kernels raise together).
void plan_planes(const KernelWork& work, const trace::Kernel& kernel, Section& section) {
  const std::uint64_t threads = std::max<std::uint64_t>(1, kernel.block.count());
  const std::uint64_t plane = section.longest * kBasePageBytes / section.units / work.images;
  const std::uint64_t in_order = ceil_div(threads * kPlaneElementBytes, std::max<std::uint64_t>(1, plane));
  const trace::PlaneThreads sharing = trace::threads_of_plane_by_name(kernel.name);
  const auto sweep = [&](std::uint64_t of_plane) {
    const std::uint64_t at_once = of_plane == 0 ? in_order : threads / of_plane;
    const bool free = (of_plane != 0 && at_once > 1) || trace::reads_once_by_name(kernel.name);
    return plan_sweep(plane, work.images, at_once, threads * (free ? kFreePlaneThreadBytes : kPlaneThreadBytes));
  };
  section.loads = sweep(sharing.load);
  section.stores = sweep(sharing.store);
  section.steps = section.loads.steps + section.stores.steps;
}

// Threads that have a transform each store the same values of all of them together. One that has all values of its tile
// stores them one after the other without waiting.
void plan_transform(const KernelWork& work, const trace::Kernel& kernel, const trace::TileTransform& transform,
                    Section& section) {
  const std::uint64_t threads = std::max<std::uint64_t>(1, kernel.block.count());
  const std::uint64_t piece = section.longest * kBasePageBytes / section.units / work.images;
  const std::uint64_t at_once = threads * transform.value_bytes / std::max<std::uint64_t>(1, piece);
  section.loads = {0, 1, 1};
  const std::uint64_t together = transform.thread_has_all ? kFreePlaneThreadBytes : transform.value_bytes;
  section.stores = plan_sweep(piece, work.images, at_once, threads * together);
  section.steps = section.loads.steps + section.stores.steps;
}

// A warp loads and stores a row of its tile at a time, all its loads before its stores.
void plan_transposition(const KernelWork& work, const trace::Kernel& kernel, Section& section) {
  const std::uint64_t warps = ceil_div(std::max<std::uint64_t>(1, kernel.block.count()), kWarpThreads);
  section.loads = section.stores = {std::min(warps, work.images), 1, 1};
  section.steps = section.loads.steps + section.stores.steps;
}

// Returns the touched bytes of the kernel's largest object.
std::uint64_t largest_bytes(const trace::Kernel& kernel, std::uint32_t quantum_bytes) {
  std::uint64_t most = 0;
  for (const trace::ObjectAccess& access : kernel.accesses) {
    std::uint64_t quanta = 0;
    for (const trace::Extent& extent : access.extents) quanta += extent.count;
    most = std::max(most, quanta * quantum_bytes);
  }
  return most;
}

// Returns the transform that the kernel's name says; none if the kernel has too few bytes for a value of each plane per
// block.
trace::TileTransform transform_of(const trace::Kernel& kernel, std::uint32_t quantum_bytes) {
  const trace::TileTransform named = trace::tile_transform_by_name(kernel.name);
  const std::uint64_t least = kernel.grid.count() * named.planes * named.value_bytes;
  return least <= largest_bytes(kernel, quantum_bytes) ? named : trace::TileTransform{};
}

// Returns the tensor that the kernel transposes, if its grid has a tile of 32 by 32 elements per block.
Transposition transposition_of(const trace::Kernel& kernel, std::uint32_t quantum_bytes) {
  if (!trace::image_per_z_by_name(kernel.name)) return {};
  const std::uint64_t bytes = largest_bytes(kernel, quantum_bytes);
  const std::uint64_t channels = std::uint64_t{kernel.grid.y} * Transposition::kTileSide;
  for (const std::uint64_t element_bytes : {4u, 2u, 1u}) {
    const std::uint64_t pixels = bytes / kernel.grid.z / channels / element_bytes;
    if (pixels != 0 && Transposition::tiles(pixels) == kernel.grid.x) return {pixels, channels};
  }
  return {};
}

// Returns whether the name says that blocks touch planes of a tensor's images, or rows of a tile of them.
bool names_planes(std::string_view name) {
  return trace::block_per_channel_by_name(name) || trace::image_per_z_by_name(name) ||
         trace::tile_transform_by_name(name).planes != 0;
}

void plan_blocks(KernelWork& work, const trace::Kernel& kernel, const Places& places, const config::GpuConfig& gpu,
                 std::uint32_t resident_blocks, std::uint64_t capacity_bytes, std::uint64_t known_images) {
  const std::uint64_t threads = std::max<std::uint64_t>(kernel.block.count(), 1);
  const std::uint64_t warps = ceil_div(threads, kWarpThreads);
  // Phases say which pages blocks come back to, which matters if the kernel's pages exceed the GPU's memory. If they
  // fit, the tiles of a matrix product give the order of faults better.
  const bool tiled = kernel.distribution == trace::Distribution::kTiled &&
                     (kernel.phases.empty() || touched_bytes(kernel, places.quantum_bytes) <= capacity_bytes);
  const std::uint64_t shown_images = images_shown_by(kernel);
  const bool by_others = shown_images == 0 && kernel.phases.empty();
  const trace::TileTransform transform = transform_of(kernel, places.quantum_bytes);
  work.transposition = transposition_of(kernel, places.quantum_bytes);
  const std::uint64_t images = transform.planes != 0            ? transform.planes
                               : work.transposition.pixels != 0 ? Transposition::kTileSide
                               : !has_planes(kernel)            ? 0
                               : by_others                      ? known_images
                                                                : shown_images;
  std::optional<trace::Loop> loop = named_loop_of(kernel);
  const bool by_phase = !tiled && images == 0 && !loop && !kernel.phases.empty();
  std::vector<Part> parts = parts_of(kernel, by_phase, places);
  if (loop && trace::concatenates_by_name(kernel.name)) {
    parts = parts_of_concatenation(kernel, *loop, std::move(parts), known_images);
  }
  if (kernel.distribution == trace::Distribution::kGridStride) {
    loop = trace::Loop{kernel.bytes_per_thread_access == 0 ? 4 : kernel.bytes_per_thread_access, 1};
  }
  if (loop) {
    work.pattern = Pattern::kStride;
    work.unroll = loop->unroll;
  }
  if (tiled) work.pattern = Pattern::kTiles;
  if (images != 0) {
    work.pattern = Pattern::kPlanes;
    work.images = images;
    work.transforms = transform.planes != 0;
  } else if (names_planes(kernel.name)) {
    work.misfit = true;
  }
  const std::uint32_t access_bytes = loop ? loop->bytes_per_access
                                     : kernel.bytes_per_thread_access != 0
                                         ? kernel.bytes_per_thread_access
                                         : trace::bytes_per_access_by_name(kernel.name);
  work.access_bytes = std::clamp<std::uint32_t>(access_bytes, 1, kBasePageBytes / kWarpThreads);
  // The warps of a block with shared memory exchange data between their loads and stores. In batch norm they do so
  // once, after all loads of their planes.
  const bool normalizes = images != 0 && transform.planes == 0 && work.transposition.pixels == 0;
  const bool barrier = kernel.shared_bytes_per_block != 0 && !normalizes;
  work.stores_together = barrier && !transform.thread_has_all;
  // Blocks of loops and of batch norm wait for the memory step by step, and advance together.
  work.oldest_first = work.pattern != Pattern::kStride && !normalizes;
  work.rows = work.pattern == Pattern::kSlices && kernel.block.y > 1 && !trace::row_per_block_by_name(kernel.name);

  // Blocks that touch less than a packet of stores each share a unit: an SM cannot tell them apart.
  std::uint64_t blocks_per_unit = 1;
  if (work.pattern == Pattern::kSlices) {
    for (const Part& part : parts) {
      const std::uint64_t packets = longest(part.operands) * (kBasePageBytes / kWarpAccessBytes);
      if (packets != 0) blocks_per_unit = std::max(blocks_per_unit, part.blocks / packets);
    }
  }
  work.warps = static_cast<std::uint32_t>(std::min<std::uint64_t>(warps * blocks_per_unit, 1024));
  std::uint64_t steps = 0;
  for (Part& part : parts) {
    Section section;
    section.first_unit = work.units;
    section.units = std::max<std::uint64_t>(1, part.blocks / blocks_per_unit);
    section.operands = std::move(part.operands);
    section.longest = std::max<std::uint64_t>(longest(section.operands), 1);
    for (const Operand& operand : section.operands) {
      if (!operand.write) section.longest_input = std::max(section.longest_input, operand.pages);
    }
    switch (work.pattern) {
      case Pattern::kStride: {
        const std::uint64_t piece_bytes = threads * loop->bytes_per_access;
        section.row_part = part.row_part;
        const std::uint64_t walked = part.row_part.total == 0 ? section.longest : section.operands.front().pages;
        section.pieces = std::max<std::uint64_t>(1, walked * kBasePageBytes / piece_bytes);
        section.units = units_to_simulate(section.units, section.pieces, resident_blocks);
        section.steps = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(ceil_div(section.pieces, section.units * loop->unroll), 1u << 30));
        break;
      }
      case Pattern::kTiles:
        section.steps = plan_tiles(work, kernel, section, known_images);
        break;
      case Pattern::kPlanes:
        if (transform.planes != 0) {
          plan_transform(work, kernel, transform, section);
        } else if (work.transposition.pixels != 0) {
          plan_transposition(work, kernel, section);
        } else {
          plan_planes(work, kernel, section);
        }
        break;
      default: {
        // Warps unroll: two 16-byte accesses per thread, operand and step, four in row-wise reductions (measured).
        const std::uint64_t of_thread = trace::row_in_registers_by_name(kernel.name) ? kBasePageBytes
                                        : work.rows                                  ? 64
                                                                                     : 32;
        const std::uint64_t in_flight = std::max(threads * blocks_per_unit * of_thread, kBasePageBytes);
        const std::uint64_t slice = section.longest * kBasePageBytes / section.units;
        const std::uint64_t steps_of_slice = std::clamp<std::uint64_t>(ceil_div(slice, in_flight), 1, 1u << 20);
        section.steps = static_cast<std::uint32_t>(steps_of_slice);
        const std::uint64_t loads = slice / steps_of_slice / (threads * blocks_per_unit) / work.access_bytes;
        work.awaited_loads =
            static_cast<std::uint32_t>(std::clamp<std::uint64_t>(loads / kLoadsOfTimes, 1, kBasePageBytes));
      }
    }
    work.units += section.units;
    steps += section.units * section.steps;
    work.sections.push_back(std::move(section));
  }
  if (barrier) work.awaited_loads *= work.warps;
  work.resident_units = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(work.units, std::max<std::uint64_t>(1, resident_blocks / blocks_per_unit)));
  const auto duration = static_cast<std::uint64_t>(std::max<std::int64_t>(kernel.duration_ns, 0));
  std::uint64_t bytes = 0;
  for (const Section& section : work.sections) {
    for (const Operand& operand : section.operands) bytes += operand.bytes;
  }
  // Kernels reach four fifths of the bandwidth. Computing and memory overlap: the longer one hides most of the other.
  const std::uint64_t memory =
      gpu.memory_bytes_per_us == 0 ? 0 : std::min(duration, bytes / 4 * 5 * 1000 / gpu.memory_bytes_per_us);
  steps = std::max<std::uint64_t>(steps, 1);
  work.step = share_of_time(duration, work.resident_units, steps);
  const double computing = std::sqrt(static_cast<double>(duration - memory) * static_cast<double>(duration + memory));
  work.computing = share_of_time(std::min(duration, static_cast<std::uint64_t>(computing)), work.resident_units, steps);
  work.transferring = share_of_time(memory, std::min(work.resident_units, gpu.sm_count), steps);
}

}  // namespace

std::uint32_t blocks_per_sm(const config::GpuConfig& gpu, const trace::Kernel& kernel) {
  const std::uint64_t threads = ceil_div(std::max<std::uint64_t>(kernel.block.count(), 1), kWarpThreads) * kWarpThreads;
  std::uint64_t blocks = std::min<std::uint64_t>(gpu.max_blocks_per_sm, gpu.max_threads_per_sm / threads);
  if (kernel.registers_per_thread != 0) {
    // Registers are allocated to warps in units of 256.
    const std::uint64_t per_warp = ceil_div(std::uint64_t{kernel.registers_per_thread} * kWarpThreads, 256) * 256;
    blocks = std::min(blocks, gpu.registers_per_sm / std::max<std::uint64_t>(1, per_warp * (threads / kWarpThreads)));
  }
  if (kernel.shared_bytes_per_block != 0 && gpu.shared_bytes_per_sm != 0) {
    blocks = std::min<std::uint64_t>(blocks, gpu.shared_bytes_per_sm / (kernel.shared_bytes_per_block + 1024));
  }
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(blocks, 1));
}

std::uint64_t images_shown_by(const trace::Kernel& kernel) {
  if (has_planes(kernel)) return kernel.phases.empty() ? 0 : stretches_of(kernel);
  return trace::image_per_z_by_name(kernel.name) ? kernel.grid.z : 0;
}

KernelWork plan_kernel(const trace::Kernel& kernel, std::uint32_t quantum_bytes, const layout::Layout& layout,
                       const AddressSpace* space, const config::SystemConfig& system, std::uint64_t capacity_bytes,
                       std::uint64_t images) {
  const Places places{layout, space, quantum_bytes};
  const config::GpuConfig& gpu = system.gpus[static_cast<std::size_t>(std::max(kernel.device, 0))];
  const std::uint32_t resident_blocks = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kernel.grid.count(), std::uint64_t{blocks_per_sm(gpu, kernel)} * gpu.sm_count));
  KernelWork work;
  if (kernel.phases.empty() && (!kernel.touches.empty() || kernel.distribution == trace::Distribution::kThreadChunk)) {
    plan_threads(work, kernel, places, std::max(resident_blocks, 1u));
    const std::uint64_t rounds = ceil_div(work.units, work.resident_units) * work.sections.front().steps;
    work.step = Nanoseconds(std::max<std::int64_t>(kernel.duration_ns, 0) / static_cast<std::int64_t>(rounds));
    work.computing = work.step;
  } else {
    plan_blocks(work, kernel, places, gpu, std::max(resident_blocks, 1u), capacity_bytes, images);
  }
  return work;
}

}  // namespace uvmsim::engine
