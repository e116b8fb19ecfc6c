// SPDX-License-Identifier: Apache-2.0
// The synthetic programs behave as generate.cpp documents, and the closed forms hold for caches of whole pages.
#include "sim/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <set>

#include "sim/trace/limits.h"
#include "sim/trace/validate.h"
#include "tests/policy/message_of.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kPage = 4096;

std::vector<Record> generate(const GeneratorOptions& options) {
  const auto program = make_program(options);
  Validator validator(options.pattern, program->header());
  std::vector<Record> records;
  Record record;
  while (program->next(record)) {
    validator.check(record);
    records.push_back(record);
  }
  validator.finish();
  return records;
}

std::vector<Kernel> kernels(const GeneratorOptions& options) {
  std::vector<Kernel> out;
  for (const Record& record : generate(options)) {
    if (const auto* kernel = std::get_if<Kernel>(&record)) out.push_back(*kernel);
  }
  return out;
}

GeneratorOptions options_of(const std::string& pattern, std::uint64_t pages, std::uint64_t kernels_per_repeat,
                            std::uint64_t repeats) {
  GeneratorOptions options;
  options.pattern = pattern;
  options.bytes = pages * kPage;
  options.kernels = kernels_per_repeat;
  options.repeats = repeats;
  return options;
}

std::uint64_t pages_of(const std::vector<Extent>& extents) {
  std::uint64_t pages = 0;
  for (const Extent& extent : extents) pages += extent.count;
  return pages;
}
std::uint64_t pages_of(const Kernel& kernel) {
  std::uint64_t pages = 0;
  for (const ObjectAccess& access : kernel.accesses) pages += pages_of(access.extents);
  return pages;
}

using PageName = std::pair<ObjectId, std::uint64_t>;

// Returns the program's pages in order: by touches, by phases, or ascending.
std::vector<PageName> touched_in_order(const GeneratorOptions& options) {
  std::vector<PageName> out;
  const auto add = [&out](ObjectId object, const std::vector<Extent>& extents) {
    for (const Extent& extent : extents) {
      for (std::uint64_t page = extent.first; page < extent.first + extent.count; ++page) {
        out.emplace_back(object, page);
      }
    }
  };
  for (const Kernel& kernel : kernels(options)) {
    if (!kernel.touches.empty()) {
      for (const Touch& touch : kernel.touches) out.emplace_back(kernel.accesses[touch.slot].object, touch.quantum);
    } else if (!kernel.phases.empty()) {
      for (const Phase& phase : kernel.phases) {
        for (const PhaseAccess& access : phase.accesses) add(kernel.accesses[access.slot].object, access.extents);
      }
    } else {
      for (const ObjectAccess& access : kernel.accesses) add(access.object, access.extents);
    }
  }
  return out;
}

// Returns the misses of a fully associative LRU cache of `capacity` pages.
std::uint64_t lru_misses(const std::vector<PageName>& pages, std::size_t capacity) {
  std::list<PageName> order;
  std::map<PageName, std::list<PageName>::iterator> where;
  std::uint64_t misses = 0;
  for (const PageName& page : pages) {
    const auto found = where.find(page);
    if (found != where.end()) {
      order.splice(order.begin(), order, found->second);
      continue;
    }
    ++misses;
    if (where.size() == capacity) {
      where.erase(order.back());
      order.pop_back();
    }
    order.push_front(page);
    where[page] = order.begin();
  }
  return misses;
}

// Returns the misses of the optimum, which evicts the page whose next use is furthest away.
std::uint64_t optimal_misses(const std::vector<PageName>& pages, std::size_t capacity) {
  std::map<PageName, std::size_t> seen;
  std::vector<std::size_t> next(pages.size());
  for (std::size_t i = pages.size(); i-- > 0;) {
    const auto found = seen.find(pages[i]);
    next[i] = found == seen.end() ? pages.size() + i : found->second;
    seen[pages[i]] = i;
  }
  std::map<PageName, std::size_t> cached;
  std::map<std::size_t, PageName> by_next;
  std::uint64_t misses = 0;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const auto found = cached.find(pages[i]);
    if (found != cached.end()) {
      by_next.erase(found->second);
    } else {
      ++misses;
      if (cached.size() == capacity) {
        cached.erase(std::prev(by_next.end())->second);
        by_next.erase(std::prev(by_next.end()));
      }
    }
    cached[pages[i]] = next[i];
    by_next[next[i]] = pages[i];
  }
  return misses;
}

TEST(Generate, ShapeOfAProgram) {
  const auto records = generate(options_of("sequential", 10, 2, 3));
  ASSERT_EQ(records.size(), 1u + 1 + 3 * (1 + 2 + 1 + 1) + 1);
  EXPECT_TRUE(same(records[0], ObjectAlloc{1, ObjectKind::kManaged, 10 * kPage, 0x7f0000000000, 0}));
  EXPECT_TRUE(same(records[1], HostAccess{1, {{0, 10, AccessMode::kWrite}}, {}, 0}));
  EXPECT_TRUE(same(records[2], Range{RangeKind::kIterationBegin, "", 0}));
  EXPECT_TRUE(same(records[5], Sync{}));
  EXPECT_TRUE(same(records[6], Range{RangeKind::kIterationEnd, "", 0}));
  EXPECT_TRUE(same(records.back(), ObjectFree{1}));
  GeneratorOptions options = options_of("sequential", 10, 1, 1);
  options.host_data = false;
  EXPECT_EQ(generate(options).size(), 6u);
}

TEST(Generate, EveryPatternIsValidAndTheSameEachTime) {
  for (const GeneratorPattern& pattern : generator_patterns()) {
    GeneratorOptions options = options_of(std::string(pattern.name), 4096, 3, 2);
    options.touches = 500;
    options.write_percent = 30;
    const auto first = generate(options), second = generate(options);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) ASSERT_TRUE(same(first[i], second[i])) << pattern.name;
    EXPECT_FALSE(pattern.answer.empty());
  }
}

TEST(Generate, PipelineStagesPassOneForwardOneBackward) {
  GeneratorOptions options = options_of("pipeline", 5 * 64, 4, 1);
  options.gpus = 2;
  std::vector<std::string> passes(2);
  std::vector<std::uint64_t> kept(2), most(2);
  std::set<std::uint64_t> recorded;
  std::uint64_t copies = 0;
  std::vector<ObjectAlloc> objects;
  for (const Record& record : generate(options)) {
    if (const auto* object = std::get_if<ObjectAlloc>(&record)) objects.push_back(*object);
    if (const auto* copy = std::get_if<Memcpy>(&record)) {
      ++copies;
      EXPECT_EQ(copy->bytes, 8 * kPage);
      EXPECT_NE(objects[copy->src.object - 1].device, objects[copy->dst.object - 1].device);
    }
    if (const auto* sync = std::get_if<Sync>(&record)) {
      if (sync->kind == SyncKind::kEventRecord) recorded.insert(sync->event);
      const bool waits = sync->kind == SyncKind::kEventWait;
      EXPECT_TRUE(!waits || recorded.contains(sync->event)) << "nobody would record it";
    }
    const auto* kernel = std::get_if<Kernel>(&record);
    if (kernel == nullptr) continue;
    const auto stage = static_cast<std::size_t>(kernel->device);
    const bool forward = kernel->name == "forward";
    passes[stage] += forward ? 'F' : 'B';
    kept[stage] += forward ? 1 : std::uint64_t{0} - 1;
    most[stage] = std::max(most[stage], kept[stage]);
    EXPECT_EQ(kernel->stream, stage);
    EXPECT_EQ(pages_of(*kernel), 128u) << "weights and the activations of a micro-batch";
  }
  EXPECT_EQ(passes[0], "FFBFBFBB");
  EXPECT_EQ(passes[1], "FBFBFBFB");
  EXPECT_EQ(most, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(copies, 8u) << "every activation and gradient";
  ASSERT_EQ(objects.size(), 6u);
  std::vector<std::uint64_t> sizes;
  for (const ObjectAlloc& object : objects) sizes.push_back(object.bytes / kPage);
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{64, 64, 128, 64, 8, 8}));
  EXPECT_EQ(objects[4].kind, ObjectKind::kDevice);
  EXPECT_EQ(objects[5].device, 1);
}

TEST(Generate, LaunchesAndTimes) {
  GeneratorOptions options = options_of("sequential", 1000, 1, 1);
  Kernel kernel = kernels(options)[0];
  EXPECT_EQ(kernel.grid.x, 1000u);  // 256 threads of 16 bytes touch one page
  EXPECT_EQ(kernel.block.x, 256u);
  EXPECT_EQ(kernel.duration_ns, 2000 + 4096);
  options.grid = 7;
  options.block = 64;
  options.duration_ns = 12345;
  options.host_gap_ns = 99;
  kernel = kernels(options)[0];
  EXPECT_EQ(kernel.grid.x, 7u);
  EXPECT_EQ(kernel.block.x, 64u);
  EXPECT_EQ(kernel.duration_ns, 12345);
  EXPECT_EQ(kernel.host_gap_ns, 99);
}

TEST(Generate, WriteShare) {
  GeneratorOptions options = options_of("sequential", 100, 1, 1);
  options.write_percent = 25;
  Kernel expected = kernels(options)[0];
  expected.accesses = {{1, {{0, 25, AccessMode::kWrite}, {25, 75, AccessMode::kRead}}}};
  EXPECT_TRUE(same(kernels(options)[0], expected));
  options.write_percent = 100;
  expected.accesses = {{1, {{0, 100, AccessMode::kWrite}}}};
  EXPECT_TRUE(same(kernels(options)[0], expected));
}

TEST(Generate, SequentialMissesAllOrNothing) {
  const auto pages = touched_in_order(options_of("sequential", 100, 7, 4));
  ASSERT_EQ(pages.size(), 400u);
  EXPECT_EQ(lru_misses(pages, 100), 100u);
  EXPECT_EQ(lru_misses(pages, 99), 400u);
}

TEST(Generate, CyclicScan) {
  // Each object has one page, so that objects and pages are the same.
  const std::uint64_t objects = 40, repeats = 20;
  const auto pages = touched_in_order(options_of("cyclic_scan", objects, objects, repeats));
  ASSERT_EQ(pages.size(), objects * repeats);
  for (const std::size_t capacity : {4u, 20u, 39u}) {
    EXPECT_EQ(lru_misses(pages, capacity), objects * repeats);
    const double after_first = static_cast<double>(objects * (repeats - 1) * (objects - capacity)) / (objects - 1);
    EXPECT_NEAR(static_cast<double>(optimal_misses(pages, capacity)), static_cast<double>(objects) + after_first, 12);
  }
  EXPECT_EQ(lru_misses(pages, objects), objects);
}

TEST(Generate, Zigzag) {
  const std::uint64_t repeats = 6;
  const auto pages = touched_in_order(options_of("zigzag", 100, 4, repeats));
  for (const std::size_t capacity : {1u, 30u, 99u, 100u}) {
    const std::uint64_t expected = 100 + (repeats - 1) * (100 - capacity);
    EXPECT_EQ(lru_misses(pages, capacity), expected);
    EXPECT_EQ(optimal_misses(pages, capacity), expected);
  }
}

TEST(Generate, Strided) {
  GeneratorOptions options = options_of("strided", 103, 10, 1);
  options.stride_bytes = 10 * kPage;
  const auto found = kernels(options);
  std::set<std::uint64_t> all;
  for (std::uint64_t k = 0; k < 10; ++k) {
    EXPECT_EQ(pages_of(found[k]), (103 - k + 9) / 10);
    for (const Extent& extent : found[k].accesses[0].extents) {
      EXPECT_EQ(extent.first % 10, k);
      all.insert(extent.first);
    }
  }
  EXPECT_EQ(all.size(), 103u);
  options.stride_bytes = kPage;
  EXPECT_EQ(kernels(options)[3].accesses[0].extents.size(), 1u);
}

TEST(Generate, Stencil) {
  GeneratorOptions options = options_of("stencil", 200, 5, 2);
  options.halo_bytes = 2 * kPage;
  const auto found = kernels(options);
  for (std::uint64_t repeat = 0; repeat < 2; ++repeat) {
    std::uint64_t read = 0, written = 0;
    for (std::uint64_t k = 0; k < 5; ++k) {
      const Kernel& kernel = found[repeat * 5 + k];
      read += pages_of(kernel.accesses[repeat].extents);
      written += pages_of(kernel.accesses[1 - repeat].extents);
      EXPECT_EQ(kernel.accesses[repeat].extents[0].mode, AccessMode::kRead);
    }
    EXPECT_EQ(read, 100 + 2 * (5 - 1) * 2u);
    EXPECT_EQ(written, 100u);
  }
}

TEST(Generate, RandomDraws) {
  GeneratorOptions options = options_of("random", 1000, 20, 1);
  options.touches = 1000;
  options.write_percent = 20;
  double different = 0, written = 0;
  for (const Kernel& kernel : kernels(options)) {
    EXPECT_EQ(kernel.touches.size(), 1000u);
    different += static_cast<double>(pages_of(kernel));
    for (const Touch& touch : kernel.touches) written += touch.mode == AccessMode::kWrite ? 1 : 0;
  }
  EXPECT_NEAR(different / 20, 1000 * (1 - 0.36769), 10);  // (1 - 1/1000)^1000 = 0.36769
  EXPECT_NEAR(written / 20000, 0.2, 0.01);
  const auto pages = touched_in_order(options);
  EXPECT_NEAR(static_cast<double>(lru_misses(pages, 300)) / 20000, 0.7, 0.03);
  GeneratorOptions other = options;
  other.seed = 2;
  EXPECT_NE(touched_in_order(other), pages);
}

TEST(Generate, ZipfDraws) {
  GeneratorOptions options = options_of("zipf", 500, 20, 1);
  options.touches = 5000;
  std::map<PageName, std::uint64_t> counts;
  for (const PageName& page : touched_in_order(options)) ++counts[page];
  std::vector<std::uint64_t> sorted;
  for (const auto& [page, count] : counts) sorted.push_back(count);
  std::sort(sorted.rbegin(), sorted.rend());
  double harmonic = 0, top = 0, drawn = 0;
  for (int rank = 1; rank <= 500; ++rank) {
    harmonic += 1.0 / rank;
    if (rank <= 50) {
      top += 1.0 / rank;
      drawn += static_cast<double>(sorted[static_cast<std::size_t>(rank - 1)]);
    }
  }
  EXPECT_NEAR(drawn / 100000, top / harmonic, 0.01);
}

TEST(Generate, PointerChase) {
  GeneratorOptions options = options_of("pointer_chase", 1600, 3, 2);
  options.stride_bytes = 16 * kPage;
  const auto found = kernels(options);
  std::vector<PageName> pages = touched_in_order(options);
  ASSERT_EQ(pages.size(), 200u);
  EXPECT_EQ(std::set<PageName>(pages.begin(), pages.begin() + 100).size(), 100u);  // one cycle through all stops
  EXPECT_TRUE(std::equal(pages.begin(), pages.begin() + 100, pages.begin() + 100));
  EXPECT_EQ(pages[0].second, 0u);
  for (const PageName& page : pages) EXPECT_EQ(page.second % 16, 0u);
  EXPECT_EQ(found[0].grid.count() * found[0].block.count(), 1u);
  EXPECT_EQ(found[0].touches.size() + found[1].touches.size() + found[2].touches.size(), 100u);
  EXPECT_EQ(found[0].duration_ns, static_cast<std::int64_t>(600 * found[0].touches.size()));
}

TEST(Generate, TiledMatmul) {
  GeneratorOptions options;
  options.pattern = "tiled_matmul";
  options.tile = 32;  // a tile is one page
  const std::uint64_t m = 12, matrix = m * m;
  options.bytes = 3 * matrix * kPage;
  for (const std::uint64_t per_phase : {0u, 1u, 3u, 12u, 24u, 144u}) {
    options.blocks_per_phase = per_phase;
    const Kernel kernel = kernels(options)[0];
    EXPECT_EQ(kernel.grid.count(), matrix);
    const std::uint64_t w = per_phase == 0 ? m : per_phase;
    ASSERT_EQ(kernel.phases.size(), matrix / w);
    std::uint64_t touched[3] = {};
    for (const Phase& phase : kernel.phases) {
      for (const PhaseAccess& access : phase.accesses) touched[access.slot] += pages_of(access.extents);
    }
    // Phases of several rows of tiles touch B once each; phases of a part of a row touch A once per part.
    EXPECT_EQ(touched[0], w >= m ? matrix : matrix * (m / w)) << w;
    EXPECT_EQ(touched[1], w >= m ? matrix * (matrix / w) : matrix * m) << w;
    EXPECT_EQ(touched[2], matrix);  // C
  }
  // By rows of tiles and with B too large: exactly |A| + m |B| + |C|.
  options.blocks_per_phase = 0;
  const auto pages = touched_in_order(options);
  EXPECT_EQ(lru_misses(pages, matrix), matrix + m * matrix + matrix);
  EXPECT_EQ(lru_misses(pages, 3 * matrix), 3 * matrix);
}

TEST(Generate, RepeatedScan) {
  GeneratorOptions options = options_of("repeated_scan", 60, 1, 1);
  options.scans = 8;
  ASSERT_EQ(kernels(options).size(), 1u);
  EXPECT_EQ(kernels(options)[0].phases.size(), 8u);
  const auto pages = touched_in_order(options);
  EXPECT_EQ(lru_misses(pages, 60), 60u);
  EXPECT_EQ(lru_misses(pages, 59), 480u);
  EXPECT_NEAR(static_cast<double>(optimal_misses(pages, 30)), 60 + 7 * 60 * 30.0 / 59, 4);
}

TEST(Generate, RowPerThread) {
  GeneratorOptions options = options_of("row_per_thread", 1600, 2, 1);
  options.stride_bytes = 16 * kPage;
  options.block = 32;
  const Kernel kernel = kernels(options)[0];
  EXPECT_EQ(kernel.distribution, Distribution::kThreadChunk);
  EXPECT_EQ(kernel.bytes_per_thread_access, 4u);
  EXPECT_EQ(kernel.grid.count() * kernel.block.count(), 96u);  // of 100 rows, in whole blocks
  EXPECT_EQ(pages_of(kernel.accesses[0].extents), 96u * 16);   // so that each thread's share is a row
  options.block = 1024;
  EXPECT_EQ(kernels(options)[0].block.count(), 100u);
}

TEST(Generate, ColumnPerThread) {
  GeneratorOptions options = options_of("column_per_thread", 1600, 2, 1);
  options.stride_bytes = 4 * kPage;
  options.element_bytes = 8;
  const Kernel kernel = kernels(options)[0];
  EXPECT_EQ(kernel.distribution, Distribution::kGridStride);
  EXPECT_EQ(kernel.grid.count() * kernel.block.count() * kernel.bytes_per_thread_access, 4 * kPage);
  EXPECT_EQ(pages_of(kernel.accesses[0].extents), 1600u);
}

// Pages of every slot of a kernel, summed over its phases.
std::vector<std::uint64_t> pages_of_phases(const Kernel& kernel) {
  std::vector<std::uint64_t> pages(kernel.accesses.size());
  for (const Phase& phase : kernel.phases) {
    for (const PhaseAccess& access : phase.accesses) pages[access.slot] += pages_of(access.extents);
  }
  return pages;
}

GeneratorOptions convolution() {
  GeneratorOptions options = options_of("convolution_per_thread", 2 * 64 * 4, 1, 1);  // 64 rows of four pages
  options.stride_bytes = 4 * kPage;
  return options;
}

TEST(Generate, ConvolutionPerThread) {
  const Kernel kernel = kernels(convolution())[0];
  EXPECT_EQ(kernel.block.x, 32u);
  EXPECT_EQ(kernel.block.y, 8u);
  EXPECT_EQ(kernel.grid.x, 128u);  // 4096 columns
  EXPECT_EQ(kernel.grid.y, 8u);
  ASSERT_EQ(kernel.phases.size(), 8u);
  EXPECT_EQ(kernel.phases[3].first_block, 3 * 128u);
  EXPECT_EQ(kernel.phases[3].block_count, 128u);
  EXPECT_EQ(kernel.phases[3].accesses, (std::vector<PhaseAccess>{{0, {{23 * 4, 10 * 4, AccessMode::kRead}}},
                                                                 {1, {{24 * 4, 8 * 4, AccessMode::kWrite}}}}));
  const std::uint64_t matrix = 64 * 4, again = 2 * (8 - 1) * 4;
  EXPECT_EQ(pages_of_phases(kernel), (std::vector<std::uint64_t>{matrix + again, matrix}));
  const auto pages = touched_in_order(convolution());
  EXPECT_EQ(lru_misses(pages, 1), 2 * matrix + again);
  EXPECT_GT(lru_misses(pages, (8 + 2) * 4 - 1), 2 * matrix);
  EXPECT_EQ(lru_misses(pages, (8 + 2) * 4), 2 * matrix);
  GeneratorOptions other = convolution();
  other.block = 64;
  EXPECT_EQ(kernels(other)[0].phases.size(), 32u);
}

// With phases of a page's columns, a phase reads them and one element on either side, in each row.
TEST(Generate, ConvolutionPerThreadByColumns) {
  GeneratorOptions options = convolution();
  options.blocks_per_phase = 32;
  const Kernel kernel = kernels(options)[0];
  ASSERT_EQ(kernel.phases.size(), 8 * 4u);
  std::set<std::uint64_t> written;
  for (std::uint64_t p = 0; p < kernel.phases.size(); ++p) {
    const Phase& phase = kernel.phases[p];
    EXPECT_EQ(phase.first_block, 32 * p);
    const std::uint64_t band = p / 4, page = p % 4;
    const std::uint64_t first_row = band == 0 ? 0 : 8 * band - 1, rows = band == 0 || band == 7 ? 9 : 10;
    const std::uint64_t first_page = page == 0 ? 0 : page - 1, pages = page == 0 || page == 3 ? 2 : 3;
    const auto& read = phase.accesses[0].extents;
    ASSERT_EQ(read.size(), rows);
    for (std::uint64_t row = 0; row < rows; ++row) {
      EXPECT_EQ(read[row], (Extent{(first_row + row) * 4 + first_page, pages, AccessMode::kRead}));
    }
    for (const Extent& extent : phase.accesses[1].extents) {
      EXPECT_EQ(extent.count, 1u);
      EXPECT_EQ(extent.first % 4, page);
      written.insert(extent.first);
    }
  }
  EXPECT_EQ(written.size(), 64 * 4u);
}

void expect_product(GeneratorOptions options, std::uint64_t block_columns, std::uint64_t block_rows,
                    AccessMode result) {
  options.bytes = 3 * 1024 * kPage + 5 * kPage;  // 1024 x 1024 floats each, and a rest
  const Kernel kernel = kernels(options)[0];
  EXPECT_EQ(kernel.distribution, Distribution::kGridStride);
  EXPECT_EQ(kernel.bytes_per_thread_access, 4u);
  EXPECT_EQ(kernel.block.x, block_columns);
  EXPECT_EQ(kernel.block.y, block_rows);
  EXPECT_EQ(kernel.grid.x, 1024 / block_columns);
  EXPECT_EQ(kernel.grid.y, 1024 / block_rows);
  EXPECT_EQ(kernel.accesses[2].extents[0].mode, result);
  const std::uint64_t matrix = 1024, m = 1024 / block_rows;
  ASSERT_EQ(kernel.phases.size(), m);
  EXPECT_EQ(kernel.phases[1].first_block, kernel.grid.x);
  EXPECT_EQ(kernel.phases[1].block_count, kernel.grid.x);
  EXPECT_EQ(kernel.phases[1].accesses, (std::vector<PhaseAccess>{{0, {{block_rows, block_rows, AccessMode::kRead}}},
                                                                 {1, {{0, matrix, AccessMode::kRead}}},
                                                                 {2, {{block_rows, block_rows, result}}}}));
  EXPECT_EQ(pages_of_phases(kernel), (std::vector<std::uint64_t>{matrix, m * matrix, matrix}));
  // B comes again with every row of blocks unless it fits beside a row of A and one of C.
  const auto pages = touched_in_order(options);
  EXPECT_EQ(lru_misses(pages, matrix + 2 * block_rows - 1), (2 + m) * matrix);
  EXPECT_EQ(lru_misses(pages, matrix + 2 * block_rows), 3 * matrix);
}

TEST(Generate, ProductPerThread) {
  GeneratorOptions options;
  options.pattern = "product_per_thread";
  expect_product(options, 32, 8, AccessMode::kReadWrite);
  options.block = 1024;
  expect_product(options, 32, 32, AccessMode::kReadWrite);
  EXPECT_EQ(kernels(options)[0].shared_bytes_per_block, 0u);
}

TEST(Generate, ProductTiled) {
  GeneratorOptions options;
  options.pattern = "product_tiled";
  expect_product(options, 16, 16, AccessMode::kWrite);
  EXPECT_EQ(kernels(options)[0].shared_bytes_per_block, 2 * 16 * 16 * 4u);
  options.block = 1024;
  expect_product(options, 32, 32, AccessMode::kWrite);
  options.block = 400;  // 20 x 20: rows of whole pages in whole tiles have 5120 elements
  options.bytes = 3 * 6000 * 6000 * 4;
  const Kernel kernel = kernels(options)[0];
  EXPECT_EQ(kernel.grid.x, 5120 / 20u);
  EXPECT_EQ(kernel.grid.y, 5120 / 20u);
}

TEST(Generate, Errors) {
  const auto about = [](auto&& change) {
    GeneratorOptions options;
    change(options);
    return message_of([&] { make_program(options); });
  };
  EXPECT_THAT(about([](auto& o) { o.pattern = "zigzack"; }),
              HasSubstr("unknown pattern 'zigzack' (did you mean 'zigzag'?)"));
  EXPECT_THAT(about([](auto& o) { o.bytes = 100; }), HasSubstr("bytes is 100; allowed: 4096 to"));
  EXPECT_THAT(about([](auto& o) { o.repeats = 0; }), HasSubstr("repeats is 0"));
  EXPECT_THAT(about([](auto& o) { o.kernels = 16385; }), HasSubstr("kernels is 16385; allowed: up to the 16384 pages"));
  EXPECT_THAT(about([](auto& o) { o.write_percent = 101; }), HasSubstr("write-percent is 101; allowed: 0 to 100"));
  EXPECT_THAT(about([](auto& o) { o.stride_bytes = 5000; }), HasSubstr("stride-bytes is 5000; allowed: multiples of"));
  EXPECT_THAT(about([](auto& o) { o.block = 1025; }), HasSubstr("block is 1025; allowed: 1 to 1024"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "strided", o.stride_bytes = 1 << 30; }), HasSubstr("allowed: up to"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "pipeline", o.gpus = 1; }), HasSubstr("gpus is 1"));
  EXPECT_THAT(about([](auto& o) { o.gpus = 17; }), HasSubstr("gpus is 17; allowed: 1 to 16"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "pipeline", o.bytes = 5 * kPage; }), HasSubstr("at least 57344"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "stencil", o.kernels = 1000; }), HasSubstr("halo-bytes is 65536"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "tiled_matmul", o.tile = 20; }), HasSubstr("tile is 20"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "tiled_matmul", o.bytes = kPage; }), HasSubstr("three tiles"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "tiled_matmul", o.blocks_per_phase = 7; }),
              HasSubstr("blocks-per-phase"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "row_per_thread", o.stride_bytes = 1 << 30; }),
              HasSubstr("at least a row"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "column_per_thread", o.element_bytes = 3; }), HasSubstr("1, 2, 4, 8"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "convolution_per_thread", o.block = 100; }),
              HasSubstr("block is 100; allowed: multiples of 32"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "convolution_per_thread", o.stride_bytes = std::uint64_t{1} << 63; }),
              HasSubstr("at least two matrices of 8 rows"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "convolution_per_thread", o.blocks_per_phase = 3; }),
              HasSubstr("blocks-per-phase is 3; allowed: divisors of the 512 thread blocks"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "convolution_per_thread", o.blocks_per_phase = 1, o.bytes <<= 4; }),
              HasSubstr("524288 phases in one kernel; allowed: up to 131072"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "convolution_per_thread", o.element_bytes = 0; }),
              HasSubstr("element-bytes is 0"));
  EXPECT_THAT(about([](auto& o) {
                o.pattern = "convolution_per_thread", o.bytes = kMaxObjectBytes, o.stride_bytes = kMaxObjectBytes / 64;
                o.element_bytes = 1;
              }),
              HasSubstr("rows of 68719476736 thread blocks; allowed: up to"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "product_per_thread", o.block = 48; }), HasSubstr("multiples of 32"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "product_per_thread", o.bytes = 8 << 20; }),
              HasSubstr("at least three matrices of 1024 x 1024 elements, 12582912 in all"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "product_per_thread", o.element_bytes = 16; }), HasSubstr("1, 2, 4, 8"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "product_tiled", o.block = 128; }),
              HasSubstr("block is 128; allowed: squares, such as 256"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "pointer_chase", o.kernels = 5000; }), HasSubstr("at least one each"));
  EXPECT_THAT(about([](auto& o) { o.pattern = "zipf", o.bytes = 1ull << 40; }), HasSubstr("different pages; allowed"));
}

}  // namespace
}  // namespace uvmsim::trace
