// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/remote_use.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/common/random.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/tile_shape.h"
#include "sim/link/remote_lane.h"
#include "sim/trace/kernel_names.h"

namespace uvmsim::engine {

namespace {

constexpr std::uint64_t kThreadsOfWarp = 32;
constexpr std::uint64_t kWordBytes = link::RemoteTraffic::kWordBytes;

std::uint64_t rounded_up_quotient(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// The slots of the inputs of a product or convolution, largest first, and of its output. A workspace may hold several
// matrices, including the output.
struct Inputs {
  std::vector<std::size_t> slots;
  std::size_t output = 0;
  std::uint64_t written = 0;

  explicit Inputs(std::span<const AccessedBytes> accessed) {
    for (std::size_t slot = 0; slot < accessed.size(); ++slot) {
      if (accessed[slot].read > accessed[slot].written) slots.push_back(slot);
      if (accessed[slot].written <= written) continue;
      written = accessed[slot].written;
      output = slot;
    }
    std::stable_sort(slots.begin(), slots.end(),
                     [&](std::size_t a, std::size_t b) { return accessed[a].read > accessed[b].read; });
  }
};

// Returns the size of the requests of a block that reads `elements` of a matrix row at once.
std::uint32_t request_bytes(std::uint32_t elements, std::uint32_t element_bytes) {
  const std::uint64_t bytes = std::uint64_t{elements} * element_bytes;
  if (bytes == 0) return link::kLineBytes;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      rounded_up_quotient(bytes, link::kSectorBytes) * link::kSectorBytes, link::kSectorBytes, link::kLineBytes));
}

// Both inputs lie in one object. Each is read once per tile across it, and their sizes follow from the tiles.
void add_product_of_workspace(RemoteUse& use, const trace::Kernel& kernel, const trace::MatrixTile& tile) {
  std::uint64_t x = std::max<std::uint32_t>(1, kernel.grid.x), y = std::max<std::uint32_t>(1, kernel.grid.y);
  for (std::uint64_t swizzle = 8; tile.cutlass && swizzle > 1; swizzle /= 2) {
    if (x % swizzle != 0) continue;
    x /= swizzle;
    y *= swizzle;
    break;
  }
  const WideUnsigned side = tile.rows + tile.columns;
  use.times_thousandths = std::max<std::uint64_t>(
      1000, static_cast<std::uint64_t>(WideUnsigned{1000} * x * y * side / (x * tile.rows + y * tile.columns)));
  const std::uint32_t slab = request_bytes(tile.sum_elements, tile.element_bytes);
  if (tile.rows_run_along_sum && tile.columns_run_along_sum) use.request_bytes = slab;
}

void add_product(std::vector<RemoteUse>& uses, const trace::Kernel& kernel, const trace::MatrixTile& tile,
                 std::span<const AccessedBytes> accessed) {
  const Inputs inputs(accessed);
  if (inputs.slots.size() == 1) return add_product_of_workspace(uses[inputs.slots[0]], kernel, tile);
  if (inputs.slots.size() < 2) return;
  const std::size_t first = inputs.slots[0], second = inputs.slots[1];
  const TileShape shape =
      TileShape::of_product(kernel, tile, {inputs.written, accessed[first].read, accessed[second].read});
  const std::size_t with_rows = shape.second_has_rows ? second : first;
  const std::size_t with_columns = shape.second_has_rows ? first : second;
  uses[with_rows].times_thousandths = 1000 * std::max<std::uint64_t>(1, shape.columns);
  uses[with_columns].times_thousandths = 1000 * std::max<std::uint64_t>(1, shape.rows);
  const std::uint32_t slab = request_bytes(tile.sum_elements, tile.element_bytes);
  if (tile.rows_run_along_sum) uses[with_rows].request_bytes = slab;
  if (tile.columns_run_along_sum) uses[with_columns].request_bytes = slab;
}

// Returns the largest number whose square is at most `value`.
std::uint64_t whole_root(std::uint64_t value) {
  std::uint64_t found = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    if ((found + bit) * (found + bit) <= value) found += bit;
  }
  return found;
}

// A product with one resident block per SM that takes tile after tile; the blocks of a cluster read shared data once.
// The inputs come in the order of the call: the one with the output's rows is the first.
void add_multicast_product(std::vector<RemoteUse>& uses, const trace::MulticastTile& tile,
                           std::span<const AccessedBytes> accessed) {
  Inputs inputs(accessed);
  if (inputs.slots.size() < 2 || inputs.written == 0) return;
  const std::size_t first = std::min(inputs.slots[0], inputs.slots[1]);
  const std::size_t second = std::max(inputs.slots[0], inputs.slots[1]);
  const auto elements = [&](std::uint64_t bytes) { return static_cast<double>(bytes / tile.element_bytes); };
  // The elements of M x K, K x N and M x N matrices.
  const double output = elements(inputs.written), a = elements(accessed[first].read),
               b = elements(accessed[second].read);
  if (a < 1 || b < 1) return;
  const auto tiles = [](double square, std::uint64_t side) {
    return rounded_up_quotient(
        std::max<std::uint64_t>(1, whole_root(static_cast<std::uint64_t>(std::min(square, 1e18) + 0.5))), side);
  };
  const std::uint64_t rows = tiles(output * a / b, tile.rows), columns = tiles(output * b / a, tile.columns);
  uses[first].times_thousandths = std::max<std::uint64_t>(1000, 1000 * columns / tile.cluster_columns);
  uses[second].times_thousandths = std::max<std::uint64_t>(1000, 1000 * rows / tile.cluster_rows);
}

// An implicit product of pixels and channels over NCHW tensors of 4-byte elements; the larger input is the image. A
// block reads the pixels that its tile needs at every position of the window; after the first time they come from the
// L1. These are the tile's rows and the rows beyond them that the window reaches, each in whole sectors.
void add_convolution(std::vector<RemoteUse>& uses, const trace::Kernel& kernel, const trace::PixelTile& tile,
                     std::span<const AccessedBytes> accessed, std::uint64_t images, std::uint64_t sms,
                     std::uint64_t resident, std::uint64_t l1_bytes) {
  constexpr std::uint64_t kElementBytes = 4, kMostOfWindow = 15;
  const Inputs inputs(accessed);
  if (inputs.slots.empty() || tile.pixels == 0) return;
  const std::uint64_t channel_tiles = std::max<std::uint32_t>(1, kernel.grid.x);
  const std::uint64_t pixel_tiles = std::max<std::uint32_t>(1, kernel.grid.y);
  const std::uint64_t image = accessed[inputs.slots[0]].read;
  const std::uint64_t pixels = pixel_tiles * tile.pixels;  // of all images
  const auto channels_of = [&](std::uint64_t bytes) {
    return std::max<std::uint64_t>(1, (bytes / kElementBytes + pixels / 2) / pixels);
  };
  // Among the other inputs, the weights are a square window for each pair of channels.
  const std::uint64_t pairs = channels_of(image) * channels_of(inputs.written);
  std::size_t weights_slot = inputs.slots[0];
  std::uint64_t weights = 0, window = 1;
  for (std::size_t i = 1; i < inputs.slots.size(); ++i) {
    const std::uint64_t bytes = accessed[inputs.slots[i]].read;
    const std::uint64_t places = (bytes / kElementBytes + pairs / 2) / pairs, side = whole_root(places);
    if (side == 0 || side > kMostOfWindow || (side * side != places && weights != 0)) continue;
    if (weights != 0 && side <= window) continue;
    weights_slot = inputs.slots[i];
    weights = bytes;
    window = side;
  }
  // The width of an image. If the number of images is unknown, a tile counts as a row.
  const std::uint64_t width = images == 0 ? tile.pixels : std::max<std::uint64_t>(1, whole_root(pixels / images));
  const std::uint64_t row_bytes = std::min<std::uint64_t>(tile.pixels, width) * kElementBytes;
  const std::uint64_t rows = std::max<std::uint64_t>(1000, 1000 * std::uint64_t{tile.pixels} / width);  // thousandths
  std::uint64_t times = 1000 * (rows + 1000 * (window - 1)) / rows;
  if (window > 1) times = times * (row_bytes + link::kSectorBytes) / row_bytes;
  uses[inputs.slots[0]].times_thousandths = times * channel_tiles;
  if (weights == 0) return;
  // Each tile of pixels needs the weights of its channels. An SM whose L1 holds those of all its blocks reads them
  // once; consecutive blocks run on consecutive SMs.
  RemoteUse& of_weights = uses[weights_slot];
  const std::uint64_t on_sm = std::min(resident, rounded_up_quotient(channel_tiles * pixel_tiles, sms));
  const std::uint64_t different = std::min(on_sm, channel_tiles / std::gcd(channel_tiles, sms));
  const bool kept = weights / channel_tiles * different <= l1_bytes * 7 / 8;
  const std::uint64_t by_sms = std::max<std::uint64_t>(1000, 1000 * sms * different / channel_tiles);
  of_weights.times_thousandths = kept ? std::min(1000 * pixel_tiles, by_sms) : 1000 * pixel_tiles;
  of_weights.request_bytes = link::kSectorBytes;
}

// cuDNN's engine `dgrad_engine`: the gradient of an image, 64 channels of 32 pixels per block. The grid's x counts
// tiles of channels at each position of the window; y and z count tiles of pixels and images. Chosen from 31 launches
// of a step of ResNet-50 (tests/ground_truth/data/remote_steps_h200.jsonl.zst): a quarter of the blocks' reads hit the
// L1.
void add_image_gradient(std::vector<RemoteUse>& uses, const trace::Kernel& kernel,
                        std::span<const AccessedBytes> accessed) {
  constexpr std::uint64_t kTileWords = 64 * 32, kMissed = 750;  // thousandths
  const Inputs inputs(accessed);
  if (inputs.slots.empty() || inputs.written == 0) return;
  const std::uint64_t channel_tiles = std::max<std::uint32_t>(1, kernel.grid.x);
  const std::uint64_t pixel_tiles =
      std::max<std::uint64_t>(1, std::uint64_t{kernel.grid.y} * std::max<std::uint32_t>(1, kernel.grid.z));
  uses[inputs.slots[0]].times_thousandths = std::max<std::uint64_t>(1000, kMissed * channel_tiles);
  if (inputs.slots.size() > 1) {
    uses[inputs.slots[1]].times_thousandths = std::max<std::uint64_t>(1000, kMissed * pixel_tiles);
  }
  const WideUnsigned words = WideUnsigned{kernel.grid.count()} * kTileWords;
  const auto times = static_cast<std::uint64_t>(words * kWordBytes * 1000 / inputs.written);
  // Tiles are rounded up, and pixels that a stride skips are not written.
  uses[inputs.output].word_times_thousandths = times < 2000 ? std::min<std::uint64_t>(times, 1000) : times;
}

// A gradient of weights is a product, summed over pixels, of the output's gradient and the image. The grid's y counts
// tiles of the gradient's channels, its x tiles of the image's channels at each position of the window.
void add_weight_gradient(std::vector<RemoteUse>& uses, const trace::Kernel& kernel, trace::ConvolutionEngine engine,
                         std::span<const AccessedBytes> accessed) {
  constexpr double kTile = 32;
  const Inputs inputs(accessed);
  if (inputs.slots.empty() || inputs.written == 0) return;
  const std::uint64_t x = std::max<std::uint32_t>(1, kernel.grid.x), y = std::max<std::uint32_t>(1, kernel.grid.y);
  if (inputs.slots.size() == 1) {
    // Both inputs lie in a workspace. Channels come in powers of two, so that a multiple of nine tiles means a window
    // of 3 x 3.
    const std::uint64_t window = x % 9 == 0 ? 9 : 1;
    uses[inputs.slots[0]].times_thousandths = 2000 * x * y * window / (y * window + x);
    return;
  }
  // Returns the size of the image at all positions of the window, in multiples of the image, if `gradient` is the
  // output's gradient.
  const auto spread = [&](std::size_t gradient, std::size_t image) {
    const double channels = static_cast<double>(y) * kTile;
    return static_cast<double>(inputs.written / kWordBytes) * static_cast<double>(accessed[gradient].read) /
           (channels * channels * static_cast<double>(accessed[image].read));
  };
  // Returns how far a size is from those of windows of 1, 3, 5 or 7 with a stride of 1 or 2.
  const auto unlike = [](double times) {
    double least = 1e18;
    for (const double window : {1.0, 9.0, 25.0, 49.0}) {
      for (const double stride : {1.0, 4.0}) least = std::min(least, std::abs(times * stride / window - 1));
    }
    return least;
  };
  std::size_t gradient = inputs.slots[0], image = inputs.slots[1];
  if (unlike(spread(image, gradient)) < unlike(spread(gradient, image))) std::swap(gradient, image);
  const double places = std::min(spread(gradient, image), 1e6);
  const auto thousandths = [](double times) {
    return std::max<std::uint64_t>(1000, static_cast<std::uint64_t>(times * 1000));
  };
  const double of_columns = static_cast<double>(x), of_rows = static_cast<double>(y);
  if (engine == trace::ConvolutionEngine::kWeightGradient) {
    uses[image].times_thousandths = thousandths(of_rows * places);
    uses[gradient].times_thousandths = thousandths(of_columns);
    return;
  }
  // cuDNN's own engines read sector by sector and hit the L1 in part: for half of all reads, and for half of the others
  // at further positions of a window; `alg1` for a quarter of all (the launches named above, and profiled bytes of two
  // calls).
  const bool first_kind = engine == trace::ConvolutionEngine::kWeightGradientAtomics;
  const double missed = first_kind ? 0.5 : 0.75, again = first_kind ? std::max(1.0, (1 + places) / 2) : 1.0;
  uses[image].times_thousandths = thousandths(of_rows * again * missed);
  uses[gradient].times_thousandths = thousandths(of_columns * missed);
  uses[image].request_bytes = uses[gradient].request_bytes = link::kSectorBytes;
  // Each slice of the sum adds to all words.
  RemoteUse& of_output = uses[inputs.output];
  of_output.word_times_thousandths = 1000 * std::uint64_t{std::max<std::uint32_t>(1, kernel.grid.z)};
  of_output.atomics = true;
}

// Returns the part of a block's second reads that the SM's L1 no longer holds, in thousandths.
std::uint64_t lost_from_l1(std::uint64_t block_bytes, std::uint64_t blocks_on_sm, std::uint64_t l1_bytes) {
  if (l1_bytes == 0) return 1000;
  return static_cast<std::uint64_t>(
      std::min<WideUnsigned>(1000, WideUnsigned{block_bytes} * blocks_on_sm * 1000 / l1_bytes));
}

void add_uses(std::vector<RemoteUse>& uses, const trace::Kernel& kernel, std::span<const AccessedBytes> accessed,
              std::uint64_t images, const config::GpuConfig& gpu) {
  const std::uint64_t resident = blocks_per_sm(gpu, kernel);
  const std::uint64_t shared = resident * kernel.shared_bytes_per_block;
  const std::uint64_t l1_bytes = gpu.shared_bytes_per_sm > shared ? gpu.shared_bytes_per_sm - shared : 0;
  if (const auto tile = trace::multicast_tile_by_name(kernel.name)) {
    add_multicast_product(uses, *tile, accessed);
    return;
  }
  if (is_tiled(kernel)) {
    const trace::ConvolutionEngine engine = trace::convolution_engine_by_name(kernel.name);
    if (engine == trace::ConvolutionEngine::kImageGradient) {
      add_image_gradient(uses, kernel, accessed);
    } else if (engine == trace::ConvolutionEngine::kWordByWord) {
      if (!uses.empty()) uses[Inputs(accessed).output].word_times_thousandths = 1000;
    } else if (engine != trace::ConvolutionEngine::kOther) {
      add_weight_gradient(uses, kernel, engine, accessed);
    } else if (const auto tile = trace::matrix_tile_by_name(kernel.name)) {
      add_product(uses, kernel, *tile, accessed);
    } else if (const auto pixels = trace::pixel_tile_by_name(kernel.name)) {
      add_convolution(uses, kernel, *pixels, accessed, images, std::max<std::uint64_t>(1, gpu.sm_count), resident,
                      l1_bytes);
    }
    return;
  }
  const bool planes = trace::block_per_channel_by_name(kernel.name) && !trace::reads_once_by_name(kernel.name);
  if (!planes && !trace::row_per_block_by_name(kernel.name)) return;
  // The kernel reads its input twice: for a mean or a sum, then for the result.
  const std::uint64_t blocks = std::max<std::uint64_t>(1, kernel.grid.count());
  const std::uint64_t on_sm = std::min(resident, rounded_up_quotient(blocks, std::max<std::uint64_t>(1, gpu.sm_count)));
  std::uint64_t of_block = 0;
  for (const AccessedBytes& access : accessed) of_block += access.read / blocks;
  for (RemoteUse& use : uses) use.times_thousandths = 1000 + lost_from_l1(of_block, on_sm, l1_bytes);
  return;
}

}  // namespace

bool is_tiled(const trace::Kernel& kernel) {
  return kernel.distribution == trace::Distribution::kTiled ||
         trace::distribution_by_name(kernel.name) == trace::Distribution::kTiled;
}

std::vector<RemoteUse> remote_use(const trace::Kernel& kernel, std::span<const AccessedBytes> accessed,
                                  std::uint64_t images, const config::GpuConfig& gpu) {
  constexpr std::uint64_t kMost = 100'000'000;  // no real kernel comes near; bytes stay within 64 bits
  std::vector<RemoteUse> uses(accessed.size());
  add_uses(uses, kernel, accessed, images, gpu);
  for (RemoteUse& use : uses) {
    use.times_thousandths = std::min(use.times_thousandths, kMost);
    use.word_times_thousandths = std::min(use.word_times_thousandths, kMost);
  }
  return uses;
}

std::vector<AccessedBytes> accessed_bytes(const trace::Kernel& kernel, std::uint64_t quantum_bytes) {
  std::vector<AccessedBytes> bytes(kernel.accesses.size());
  for (std::size_t slot = 0; slot < bytes.size(); ++slot) {
    for (const trace::Extent& extent : kernel.accesses[slot].extents) {
      if (extent.mode != trace::AccessMode::kWrite) bytes[slot].read += extent.count * quantum_bytes;
      if (extent.mode != trace::AccessMode::kRead) bytes[slot].written += extent.count * quantum_bytes;
    }
  }
  return bytes;
}

std::uint64_t bytes_under_way(const trace::Kernel& kernel, const config::GpuConfig& gpu) {
  const std::uint64_t threads = std::max<std::uint64_t>(1, kernel.block.count());
  const std::uint64_t blocks = std::min<std::uint64_t>(std::max<std::uint64_t>(1, kernel.grid.count()),
                                                       std::uint64_t{blocks_per_sm(gpu, kernel)} * gpu.sm_count);
  const std::uint64_t width = kernel.bytes_per_thread_access == 0 ? 16 : kernel.bytes_per_thread_access;
  return blocks * rounded_up_quotient(threads, kThreadsOfWarp) * kThreadsOfWarp * width;
}

}  // namespace uvmsim::engine
