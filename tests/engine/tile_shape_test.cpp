// SPDX-License-Identifier: Apache-2.0
// Shapes of matrix products against those that PyTorch was called with, and their stores page by page. No part of an
// output is left out, whatever a kernel's name claims.
#include "sim/engine/tile_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "sim/common/random.h"
#include "sim/engine/step_pages.h"

namespace uvmsim::engine {
namespace {

using ::testing::ElementsAre;

constexpr const char* kCutlass = "cutlass_80_simt_sgemm_256x128_8x4_nn_align1";
constexpr const char* kCutlassTall = "cutlass_80_simt_sgemm_128x256_8x4_nt_align1";
constexpr const char* kXmma = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3";
constexpr const char* kXmmaTall = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3";

TileShape shape_of(const char* name, trace::Dim3 grid, const ProductBytes& bytes) {
  trace::Kernel kernel;
  kernel.name = name;
  kernel.grid = grid;
  return TileShape::of_product(kernel, trace::matrix_tile_by_name(name), bytes);
}

// Returns the bytes of C[m][n] in fp32 from A[m][k] and B[k][n].
ProductBytes product(std::uint64_t m, std::uint64_t n, std::uint64_t k) { return {4 * m * n, 4 * m * k, 4 * k * n}; }

struct Known {
  const char* name;
  trace::Dim3 grid;
  std::uint64_t m, n, k, batches, slices, rows, columns, swizzle;
};

// Grids as launched on an H200.
TEST(TileShape, FollowsFromNamesGridsAndSizes) {
  const std::vector<Known> known = {
      {kCutlass, {256, 2, 1}, 4096, 3072, 768, 1, 1, 32, 12, 8},
      {kCutlass, {400, 2, 1}, 6304, 3072, 768, 1, 1, 50, 12, 8},
      {kCutlass, {128, 1, 1}, 2048, 2048, 2048, 1, 1, 16, 8, 8},
      {kCutlass, {128, 1, 1}, 8192, 512, 512, 1, 1, 64, 2, 2},
      {kCutlass, {48, 2, 9}, 768, 3072, 4096, 1, 9, 6, 12, 8},
      {kCutlass, {128, 1, 4}, 4096, 768, 3072, 1, 4, 32, 3, 4},
      {kCutlassTall, {1576, 1, 2}, 50257, 768, 4096, 1, 2, 197, 6, 8},
      {kXmma, {32, 24, 1}, 4096, 3072, 768, 1, 1, 32, 24, 1},
      {kXmma, {32, 6, 8}, 4096, 768, 3072, 1, 8, 32, 6, 1},
      {kXmmaTall, {2, 32, 6}, 512, 4096, 4096, 1, 6, 2, 32, 1},
      {kXmma, {32, 393, 1}, 4096, 50257, 768, 1, 1, 32, 393, 1},
  };
  for (const Known& k : known) {
    SCOPED_TRACE(std::string(k.name) + " " + std::to_string(k.grid.x));
    for (const bool second : {false, true}) {  // inputs in either order
      ProductBytes bytes = product(k.m, k.n, k.k);
      if (second) std::swap(bytes.input, bytes.other_input);
      const TileShape shape = shape_of(k.name, k.grid, bytes);
      EXPECT_EQ(shape.matrix_rows, k.m);
      EXPECT_EQ(shape.rows, k.rows);
      EXPECT_EQ(shape.columns, k.columns);
      EXPECT_EQ(shape.batches, k.batches);
      EXPECT_EQ(shape.slices, k.slices);
      EXPECT_EQ(shape.swizzle, k.swizzle);
      if (k.m != k.n) {
        EXPECT_EQ(shape.second_has_rows, second);
      }
    }
  }
}

TEST(TileShape, BatchesAreToldFromSlicesByTheSizeOfTheOutput) {
  const ProductBytes one = product(512, 512, 64);
  const TileShape batched = shape_of(kCutlass, {8, 1, 96}, {96 * one.output, 96 * one.input, 96 * one.other_input});
  EXPECT_EQ(batched.batches, 96u);
  EXPECT_EQ(batched.slices, 1u);
  EXPECT_EQ(batched.rows, 4u);
  EXPECT_EQ(batched.columns, 2u);
  // Slices of a sum that each write a separate matrix are treated like batches.
  EXPECT_EQ(shape_of(kCutlass, {24, 1, 7}, {7 * 4 * 768 * 768, 4 * 4096 * 768, 4 * 4096 * 768}).batches, 7u);
}

TEST(TileShape, UnknownNamesHaveTheGridsTiles) {
  const TileShape shape = shape_of("gemm", {8, 4, 1}, {1 << 20, 1 << 20, 1 << 20});
  EXPECT_EQ(shape.rows, 8u);
  EXPECT_EQ(shape.columns, 4u);
  EXPECT_EQ(shape.tile_rows, 90u);  // 1 MB in 32 squares of 4-byte elements
  EXPECT_EQ(shape_of("gemm", {30, 1, 1}, {1 << 20, 1 << 20, 1 << 20}).rows, 6u);
}

TEST(TileShape, BlocksOfASwizzledGridTakeColumnsSideBySide) {
  const TileShape shape = shape_of(kCutlass, {256, 2, 1}, product(4096, 3072, 768));
  const TilePlace ninth(shape, 9);
  EXPECT_EQ(ninth.row, 1u);
  EXPECT_EQ(ninth.column, 1u);
  const TilePlace second_y(shape, 256 + 9);
  EXPECT_EQ(second_y.row, 1u);
  EXPECT_EQ(second_y.column, 9u);
  EXPECT_FALSE(second_y.idle(shape));
  EXPECT_TRUE(TilePlace(shape, 256 + 4).idle(shape));  // columns 12 to 15 do not exist
}

struct Collector {
  std::vector<std::uint64_t>* pages;
  void operator()(const PageRun& run, std::uint32_t, Reach) const {
    for (unsigned i = 0; i < run.count; ++i) pages->push_back(run.block.value * kPagesPerBlock + run.first + i);
  }
  static bool passes(const Operand&, const Share&) { return false; }
};

// A page of one call, and how it is reached.
struct Stored {
  std::uint64_t page = 0;
  std::uint32_t count = 0;
  Reach reach = Reach::kWarps;
  bool operator==(const Stored&) const = default;
};

struct StoreCollector {
  std::vector<Stored>* stores;
  void operator()(const PageRun& run, std::uint32_t count, Reach reach) const {
    for (unsigned i = 0; i < run.count; ++i) {
      stores->push_back({run.block.value * kPagesPerBlock + run.first + i, count, reach});
    }
  }
  static bool passes(const Operand&, const Share&) { return false; }
};

Operand output_of(std::uint64_t bytes) {
  Operand operand;
  operand.write = true;
  operand.pages = (bytes + kBasePageBytes - 1) / kBasePageBytes;
  operand.contiguous = true;
  return operand;
}

std::vector<std::uint64_t> stores(const TileShape& shape, const Operand& output, std::uint64_t unit) {
  std::vector<std::uint64_t> pages;
  product_stores(shape, output, unit, Collector{&pages});
  return pages;
}

// 4096 x 3072 of fp32: a row is 3 pages, a tile 128 rows.
TEST(ProductStores, RowByRowAtTheTilesColumns) {
  const TileShape shape = shape_of(kXmma, {32, 24, 1}, product(4096, 3072, 768));
  const Operand output = output_of(4u * 4096 * 3072);
  std::vector<std::uint64_t> pages = stores(shape, output, 1 + 9 * 32);  // row 1, column 9: the second page of each row
  ASSERT_EQ(pages.size(), 128u);
  pages.resize(4);
  EXPECT_THAT(pages, ElementsAre(128 * 3 + 1, 129 * 3 + 1, 130 * 3 + 1, 131 * 3 + 1));
}

// 512 x 512 of fp32: two rows share a page, and a tile has two packets of each.
TEST(ProductStores, RowsOfAPageComeTogetherInPackets) {
  const char* const name = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3";
  const TileShape shape = shape_of(name, {8, 8, 1}, product(512, 512, 64));
  std::vector<Stored> found;
  product_stores(shape, output_of(4u * 512 * 512), 0, StoreCollector{&found});
  ASSERT_EQ(found.size(), 32u);
  EXPECT_EQ(found[0], (Stored{0, 4, Reach::kPackets}));
  EXPECT_EQ(found[31], (Stored{31, 4, Reach::kPackets}));
}

// Measured: a warp stores rows 0, 4, 8 and 12 at once, the next warp those 64 rows below.
TEST(ProductStores, CutlassStoresFourRowsAtOnce) {
  const TileShape shape = shape_of(kCutlass, {256, 2, 1}, product(4096, 3072, 768));
  std::vector<std::uint64_t> pages = stores(shape, output_of(4u * 4096 * 3072), 0);
  ASSERT_EQ(pages.size(), 128u);
  pages.resize(10);
  EXPECT_THAT(pages, ElementsAre(0, 12, 24, 36, 192, 204, 216, 228, 3, 15));
}

TEST(ProductStores, EveryPageOfEveryOutputIsWrittenAndNoOther) {
  const char* const names[] = {"gemm", kCutlass, kCutlassTall, kXmma, kXmmaTall};
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto number = [&](unsigned most) { return static_cast<std::uint32_t>(1 + random.below(most)); };
    // Half of them are real products, the others have random names.
    trace::Dim3 grid{number(200), random.below(2) == 0 ? 1 : number(12), number(4)};
    ProductBytes bytes{4 * number(1 << 23), 4 * number(1 << 20), random.below(5) == 0 ? 0 : 4 * number(1 << 20)};
    const char* const name = names[random.below(5)];
    if (const auto tile = trace::matrix_tile_by_name(name); tile && random.below(2) == 0) {
      const std::uint64_t m = number(3000), n = number(3000);
      const ProductTiles tiles = ProductTiles::of(*tile, m, n);
      grid = {static_cast<std::uint32_t>(tiles.grid_x()), static_cast<std::uint32_t>(tiles.grid_y()), 1};
      bytes = product(m, n, number(3000));
    }
    const TileShape shape = shape_of(name, grid, bytes);
    const Operand output = output_of(bytes.output);
    std::set<std::uint64_t> written;
    for (std::uint64_t unit = 0; unit < grid.count(); ++unit) {
      for (const std::uint64_t page : stores(shape, output, unit)) written.insert(page);
    }
    EXPECT_EQ(written.size(), output.pages);
    EXPECT_EQ(*written.rbegin(), output.pages - 1);
  }
}

// matmul_2048: the second input runs across the sum; its rows have 2 pages, and a tile uses 1 KB of each.
TEST(CrossPages, EveryTileTakesItsPartOfEveryRow) {
  KernelWork work;
  work.tile = shape_of(kCutlass, {128, 1, 1}, product(2048, 2048, 2048));
  ASSERT_EQ(work.tile.depth, 2048u);
  Operand input = output_of(4u * 2048 * 2048);
  input.rows = 2048;
  const auto pages_of = [&](std::uint64_t unit, std::uint64_t row, std::uint64_t end) {
    std::vector<std::uint64_t> pages;
    cross_pages(work, input, CrossPart(work, input, unit), unit, row, end,
                [&](std::uint64_t first, std::uint64_t stop) {
                  for (; first < stop; ++first) pages.push_back(first);
                });
    return pages;
  };
  EXPECT_THAT(pages_of(3, 0, 4), ElementsAre(0, 2, 4, 6));  // column 3 of 8
  EXPECT_THAT(pages_of(4, 0, 4), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(pages_of(4, 2046, 2048), ElementsAre(4093, 4095));
}

TEST(CrossPages, SlicesAndColumnsTogetherReadEveryPage) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::uint64_t m = 1 + random.below(700), n = 1 + random.below(3000), k = 1 + random.below(500);
    const auto tiles = [](std::uint64_t length) { return static_cast<std::uint32_t>((length + 127) / 128); };
    KernelWork work;
    work.tile =
        shape_of(kXmma, {tiles(m), tiles(n), static_cast<std::uint32_t>(1 + random.below(4))}, product(m, n, k));
    Operand input = output_of(4 * k * n);
    input.rows = k;
    std::set<std::uint64_t> pages;
    for (std::uint64_t unit = 0; unit < work.tile.blocks * work.tile.slices; ++unit) {
      const CrossPart cross(work, input, unit);
      cross_pages(work, input, cross, unit, cross.begin, cross.end, [&](std::uint64_t first, std::uint64_t stop) {
        for (; first < stop; ++first) pages.insert(first);
      });
    }
    if (work.tile.batches == 1) {
      EXPECT_EQ(pages.size(), input.pages);
      EXPECT_EQ(*pages.rbegin(), input.pages - 1);
    }
  }
}

constexpr const char* kPixels = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x32x8_stage3";

ConvolutionShape convolution_of(trace::Dim3 grid, std::uint64_t images, std::uint64_t channels, std::uint64_t pixels,
                                std::uint64_t known_images) {
  trace::Kernel kernel;
  kernel.name = kPixels;
  kernel.grid = grid;
  return ConvolutionShape::of(kernel, (images * channels * pixels * 4 + 511) / 512 * 512, known_images);
}

// Grids as launched on an H200: 32 x 64 x 56 x 56 and 16 x 192 x 17 x 17 outputs.
TEST(ConvolutionShape, FollowsFromNameGridSizeAndImages) {
  const ConvolutionShape shape = convolution_of({2, 784, 1}, 32, 64, 56 * 56, 32);
  EXPECT_EQ(shape.images, 32u);
  EXPECT_EQ(shape.channels, 64u);
  EXPECT_EQ(shape.image_pixels, 56u * 56);
  EXPECT_EQ(convolution_of({6, 37, 1}, 16, 192, 17 * 17, 16).image_pixels, 17u * 17);
  EXPECT_EQ(convolution_of({2, 784, 1}, 32, 64, 56 * 56, 0).images, 0u);   // unknown
  EXPECT_EQ(convolution_of({2, 500, 1}, 32, 64, 56 * 56, 32).images, 0u);  // another grid
}

TEST(ConvolutionStores, EveryPageIsWrittenAndNoOther) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::uint64_t images = 1 + random.below(20), channels = 1 + random.below(200);
    const std::uint64_t pixels = 1 + random.below(2000);
    const trace::Dim3 grid{static_cast<std::uint32_t>((channels + 31) / 32),
                           static_cast<std::uint32_t>((images * pixels + 127) / 128), 1};
    const ConvolutionShape shape = convolution_of(grid, images, channels, pixels, images);
    ASSERT_EQ(shape.images, images);
    const Operand output = output_of(images * channels * pixels * 4 + random.below(2) * kBasePageBytes);
    std::set<std::uint64_t> written;
    for (std::uint64_t unit = 0; unit < grid.count(); ++unit) {
      std::vector<std::uint64_t> pages;
      pixel_tile_stores(shape, output, unit, Collector{&pages});
      written.insert(pages.begin(), pages.end());
    }
    EXPECT_EQ(written.size(), output.pages);
    EXPECT_EQ(*written.rbegin(), output.pages - 1);
  }
}

// Measured: the raw faults of an SM between two replays lie in neighbouring channels. A plane has 3 pages and 256
// bytes.
TEST(ConvolutionStores, AWarpGoesFromChannelToChannel) {
  const ConvolutionShape shape = convolution_of({2, 784, 1}, 32, 64, 56 * 56, 32);
  std::vector<Stored> found;
  pixel_tile_stores(shape, output_of(4u * 32 * 64 * 56 * 56), 0, StoreCollector{&found});
  ASSERT_EQ(found.size(), 4u * 32);  // 128 pixels of 32 channels, 32 pixels at once
  for (std::uint64_t channel = 0; channel < 32; ++channel) {
    EXPECT_EQ(found[channel], (Stored{channel * 56 * 56 * 4 / kBasePageBytes, 1, Reach::kPackets}));
  }
}

// Returns the pages that the blocks of one input store in a concatenation.
std::set<std::uint64_t> concatenated(std::uint64_t pages, std::uint64_t pieces, const RowPart& part) {
  KernelWork work;
  work.pattern = Pattern::kStride;
  Section plan;
  plan.pieces = pieces;
  plan.units = 3;
  plan.steps = static_cast<std::uint32_t>((pieces + 2) / 3);
  plan.row_part = part;
  plan.operands = {output_of(pages * kBasePageBytes)};
  SectionRun section(plan);
  section.watched_outputs = {0};
  std::vector<std::uint64_t> found;
  for (std::uint64_t unit = 0; unit < plan.units; ++unit) {
    for (std::uint32_t step = 0; step < plan.steps; ++step) {
      stride_pages(work, section, unit, step, true, Collector{&found});
    }
  }
  return {found.begin(), found.end()};
}

TEST(Concatenation, EveryInputHasItsPartOfEveryRow) {
  // Two rows of 12 pages, of which the inputs have 4 and 8.
  EXPECT_THAT(concatenated(24, 8, {0, 4, 12, 2}), ElementsAre(0, 1, 2, 3, 12, 13, 14, 15));
  EXPECT_THAT(concatenated(24, 16, {4, 12, 12, 2}),
              ElementsAre(4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23));
  EXPECT_THAT(concatenated(6, 2, {0, 1, 3, 1}), ElementsAre(0, 1));
}

TEST(Concatenation, EveryPageOfTheOutputIsWrittenAndNoOther) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::uint64_t inputs = 1 + random.below(5);
    std::vector<std::uint64_t> bytes(inputs);
    std::uint64_t total = 0;
    for (std::uint64_t& of_input : bytes) total += of_input = (1 + random.below(300)) * 2048;
    const std::uint64_t pages = (total + kBasePageBytes - 1) / kBasePageBytes;
    const std::uint64_t rows = 1 + random.below(64);
    std::set<std::uint64_t> written;
    std::uint64_t begin = 0;
    for (const std::uint64_t of_input : bytes) {
      const std::uint64_t pieces = of_input / 2048;
      const auto found = concatenated(pages, pieces, {begin, begin + of_input, total, rows});
      written.insert(found.begin(), found.end());
      begin += of_input;
    }
    EXPECT_EQ(written.size(), pages);
    EXPECT_EQ(*written.rbegin(), pages - 1);
  }
}

TEST(StridePages, AnUnrolledLoopTakesSeveralStridesAtOnce) {
  KernelWork work;
  work.pattern = Pattern::kStride;
  work.unroll = 4;
  Section plan;
  plan.pieces = 32;
  plan.units = 3;
  plan.steps = 3;
  plan.operands = {output_of(32 * kBasePageBytes)};
  SectionRun section(plan);
  section.watched_outputs = {0};
  std::vector<std::uint64_t> pages;
  stride_pages(work, section, 1, 0, true, Collector{&pages});
  EXPECT_THAT(pages, ElementsAre(1, 4, 7, 10));
  for (std::uint32_t step = 1; step < 3; ++step) stride_pages(work, section, 1, step, true, Collector{&pages});
  EXPECT_EQ(pages.size(), 11u);
  EXPECT_EQ(pages.back(), 31u);
}

KernelWork planes_of(std::uint64_t images) {
  KernelWork work;
  work.pattern = Pattern::kPlanes;
  work.images = images;
  return work;
}

// Makes a section of blocks that store an operand of `pages` pages.
Section storing(std::uint64_t units, std::uint64_t pages, const PlaneSweep& loads, const PlaneSweep& stores) {
  Section plan;
  plan.units = units;
  plan.loads = loads;
  plan.stores = stores;
  plan.steps = loads.steps + stores.steps;
  plan.longest = pages;
  plan.operands = {output_of(pages * kBasePageBytes)};
  return plan;
}

// Planes of 2 pages, 5 images of 3 channels, 2 images at once.
TEST(PlanePages, ImagesOfARoundComeTogether) {
  const KernelWork work = planes_of(5);
  const Section plan = storing(3, 30, {1, 1, 1}, {2, 1, 3});
  SectionRun section(plan);
  section.watched_outputs = {0};
  std::vector<std::uint64_t> written;
  for (std::uint32_t step = 0; step < section.steps; ++step) {
    plane_pages(work, section, 1, step, true, Collector{&written});
  }
  EXPECT_THAT(written, ElementsAre(8, 9, 2, 3, 20, 21, 14, 15, 26, 27));
}

TEST(PlanePages, TheFirstWarpOfATransformGoesThroughAllPlanes) {
  KernelWork work = planes_of(4);
  work.transforms = true;
  work.warps = 8;
  const Section plan = storing(2, 8, {0, 1, 1}, {1, 1, 1});
  SectionRun section(plan);
  section.watched_outputs = {0};
  std::vector<Stored> found;
  plane_pages(work, section, 1, 1, true, StoreCollector{&found});
  EXPECT_THAT(found, ElementsAre(Stored{1, 1, Reach::kPackets}, Stored{3, 1, Reach::kPackets},
                                 Stored{5, 1, Reach::kPackets}, Stored{7, 1, Reach::kPackets}));
}

// A step takes several rounds, or a part of one.
TEST(PlanePages, StepsAreWholeRoundsOrPartsOfOne) {
  const KernelWork work = planes_of(4);
  const auto of_step = [&](const PlaneSweep& sweep, std::uint32_t step) {
    const Section plan = storing(1, 8, {1, 1, 0}, sweep);
    SectionRun section(plan);
    section.watched_outputs = {0};
    std::vector<std::uint64_t> written;
    plane_pages(work, section, 0, step, true, Collector{&written});
    return written;
  };
  EXPECT_THAT(of_step({2, 1, 1}, 0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(of_step({1, 1, 2}, 1), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(of_step({2, 2, 4}, 1), ElementsAre(1, 3));
}

// A tensor of 2 images, 40 channels and 50 pixels: two tiles each way. Every element is loaded by one block and stored
// by one.
TEST(PlanePages, TilesOfATranspositionCoverTheTensorOnce) {
  KernelWork work = planes_of(Transposition::kTileSide);
  work.transposition = {50, 40};
  Section plan;
  plan.units = 2 * 2 * 2;
  const SectionRun section(plan);
  for (const bool write : {false, true}) {
    std::vector<int> touched(2 * 40 * 50);
    for (std::uint64_t unit = 0; unit < plan.units; ++unit) {
      for (std::uint64_t row = 0; row < work.images; ++row) {
        const PlaneElements elements = plane_of(work, section, write, unit, row);
        EXPECT_EQ(elements.total, touched.size());
        for (std::uint64_t i = elements.begin; i < elements.end; ++i) ++touched.at(i);
      }
    }
    EXPECT_THAT(touched, ::testing::Each(1));
  }
  // Block (1, 0) of the second image has pixels 32 to 49 and channels 0 to 31.
  EXPECT_EQ(plane_of(work, section, true, 5, 2).begin, (50 + 32 + 2) * 40u);
  EXPECT_EQ(plane_of(work, section, false, 5, 2).begin, (40 + 2) * 50 + 32u);
}

// A block has a slice of the input, then a part of each of 3 frequencies.
TEST(PlanePages, ATransformStoresEveryFrequency) {
  const KernelWork work = planes_of(3);
  Section plan = storing(2, 6, {0, 1, 1}, {1, 1, 1});
  plan.operands.insert(plan.operands.begin(), output_of(4 * kBasePageBytes));
  plan.operands[0].write = false;
  SectionRun section(plan);
  section.watched_inputs = {0};
  section.watched_outputs = {1};
  std::vector<std::uint64_t> loads, written;
  plane_pages(work, section, 1, 0, false, Collector{&loads});
  plane_pages(work, section, 1, 1, true, Collector{&written});
  EXPECT_THAT(loads, ElementsAre(2, 3));
  EXPECT_THAT(written, ElementsAre(1, 3, 5));
}

// Planes of 3 pages, 2 images of 4 channels.
TEST(PlanePages, ABlockHasItsPlaneOfEveryImage) {
  const KernelWork work = planes_of(2);
  Section plan = storing(4, 24, {1, 3, 6}, {1, 3, 6});
  plan.operands.insert(plan.operands.begin(), output_of(24 * kBasePageBytes));
  plan.operands.push_back(output_of(kBasePageBytes));
  plan.operands[0].write = false;
  SectionRun section(plan);
  section.watched_inputs = {0};
  section.watched_outputs = {1, 2};
  std::vector<std::uint64_t> loads, written;
  for (std::uint32_t step = 0; step < section.steps; ++step) {
    EXPECT_EQ(has_pages(work, section, 1, step, true, nullptr), step >= 6);
    plane_pages(work, section, 1, step, false, Collector{&loads});
    plane_pages(work, section, 1, step, true, Collector{&written});
  }
  EXPECT_THAT(loads, ElementsAre(3, 4, 5, 15, 16, 17));
  EXPECT_THAT(written, ElementsAre(3, 4, 5, 15, 16, 17, 0));
}

}  // namespace
}  // namespace uvmsim::engine
