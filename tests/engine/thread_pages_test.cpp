// SPDX-License-Identifier: Apache-2.0
// Threads that each walk a part of an operand in accesses smaller than a page: the pages that they touch, against a
// second, simple implementation, and the effect if memory is too small.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "sim/common/random.h"
#include "sim/engine/step_pages.h"
#include "sim/generate/generate.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

struct Walk {
  engine::KernelWork work;
  engine::SectionRun section;
};

// Makes a walk of `threads` threads in blocks of `block`, over `pages` pages in all, with `accesses` to each page of a
// thread's part.
Walk walk_of(std::uint64_t threads, std::uint32_t block, std::uint64_t pages, std::uint32_t accesses) {
  engine::KernelWork work;
  work.pattern = engine::Pattern::kThreads;
  work.accesses_per_page = 1024;
  work.threads = threads;
  work.threads_per_block = block;
  work.units_per_block = (block + 31) / 32;
  work.units = threads / block * work.units_per_block;
  engine::Section section;
  section.units = work.units;
  engine::Operand operand;
  operand.pages = pages;
  operand.stretches = {{1000, pages, 0}};
  operand.contiguous = true;
  operand.first_index = 1000;
  section.operands = {operand};
  section.longest = pages;
  section.steps = static_cast<std::uint32_t>((pages + threads - 1) / threads * accesses);
  work.sections.push_back(std::move(section));
  engine::SectionRun run(work.sections.front());
  run.watch([](std::uint32_t) { return true; });
  return {std::move(work), std::move(run)};
}

// Returns the page of a thread in a step, if the part [t/T, (t+1)/T) is walked in equal steps; `pages` is a multiple of
// `threads`, or the reverse.
std::uint64_t page_of(std::uint64_t thread, std::uint64_t threads, std::uint64_t pages, std::uint64_t step,
                      std::uint64_t steps) {
  if (pages < threads) return thread * pages / threads;
  const std::uint64_t share = pages / threads;
  return thread * share + share * step / steps;
}

TEST(ThreadPages, AreThoseOfEachThreadsShare) {
  for (const std::uint32_t block : {32u, 96u, 40u}) {
    for (const std::uint64_t pages : {480u, 480u * 7, 30u}) {
      const std::uint64_t threads = 480;
      const Walk walk = walk_of(threads, block, pages, 5);
      for (std::uint64_t unit = 0; unit < walk.work.units; ++unit) {
        const std::uint64_t warp = unit % walk.work.units_per_block;
        const std::uint64_t first = unit / walk.work.units_per_block * block + warp * 32;
        const std::uint64_t end = std::min<std::uint64_t>(first + 32, (unit / walk.work.units_per_block + 1) * block);
        for (std::uint32_t step = 0; step < walk.section.steps; ++step) {
          std::set<std::uint64_t> expected, found;
          for (std::uint64_t thread = first; thread < end; ++thread) {
            expected.insert(1000 + page_of(thread, threads, pages, step, walk.section.steps));
          }
          engine::thread_pages(walk.work, walk.section, unit, step, false,
                               [&](const engine::PageRun& run, std::uint32_t count, engine::Reach reach) {
                                 EXPECT_EQ(run.count, 1u);
                                 EXPECT_EQ(count, 1u);
                                 EXPECT_EQ(reach, engine::Reach::kLanes);
                                 found.insert(run.block.value * kPagesPerBlock + run.first);
                               });
          ASSERT_EQ(found, expected) << "block " << block << ", pages " << pages << ", unit " << unit << ", step "
                                     << step;
        }
      }
    }
  }
}

// Every page has a thread, even if neither the number of pages nor that of threads divides the other.
TEST(ThreadPages, CoverTheOperand) {
  for (std::uint64_t pages = 1; pages < 300; ++pages) {
    const Walk walk = walk_of(96, 96, pages, 3);
    std::set<std::uint64_t> found;
    for (std::uint64_t unit = 0; unit < walk.work.units; ++unit) {
      for (std::uint32_t step = 0; step < walk.section.steps; ++step) {
        engine::thread_pages(walk.work, walk.section, unit, step, false,
                             [&](const engine::PageRun& run, std::uint32_t, engine::Reach) {
                               found.insert(run.block.value * kPagesPerBlock + run.first);
                             });
      }
    }
    EXPECT_EQ(found.size(), pages);
    EXPECT_EQ(*found.rbegin(), 1000 + pages - 1);
  }
}

// Skipping is correct only if all steps before the named one find their pages, and the named one does not.
TEST(ThreadPages, ClearStepsEndAtTheFirstMissingPage) {
  Random random(1);
  const std::uint64_t threads = 64;
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t share = 1 + random.below(9), accesses = 1 + random.below(6);
    const Walk walk = walk_of(threads, 64, threads * share, static_cast<std::uint32_t>(accesses));
    std::vector<bool> missing(threads * share);
    for (std::uint64_t i = random.below(4); i > 0; --i) missing[random.below(missing.size())] = true;
    const std::uint64_t unit = random.below(2);
    const auto finds_all = [&](std::uint32_t step) {
      for (std::uint64_t thread = unit * 32; thread < unit * 32 + 32; ++thread) {
        if (missing[page_of(thread, threads, threads * share, step, walk.section.steps)]) return false;
      }
      return true;
    };
    for (std::uint32_t step = 0; step < walk.section.steps && finds_all(step); ++step) {
      std::uint32_t expected = step;
      while (expected < walk.section.steps && finds_all(expected)) ++expected;
      const std::uint64_t clear = engine::clear_steps(
          walk.work, walk.section, walk.section.operands[0], engine::Share{}, unit, step, [&](engine::PageRange pages) {
            for (std::uint64_t page = pages.begin; page < pages.end; ++page) {
              if (missing[page]) return page;
            }
            return pages.end;
          });
      ASSERT_EQ(clear, expected) << "round " << round << ", step " << step;
    }
  }
}

RunResult run(const trace::GeneratorOptions& generator, const RunOptions& options, std::uint32_t access_bytes) {
  const auto program = trace::make_program(generator);
  return simulate(
      program->header(),
      [&](trace::Record& record) {
        if (!program->next(record)) return false;
        if (auto* kernel = std::get_if<trace::Kernel>(&record)) kernel->bytes_per_thread_access = access_bytes;
        return true;
      },
      options);
}

trace::GeneratorOptions rows() {
  trace::GeneratorOptions generator;
  generator.pattern = "row_per_thread";
  generator.bytes = 32 * kMiB;  // 512 rows, 32 per VA block: a warp needs one block
  generator.stride_bytes = 64 * kKiB;
  generator.block = 128;
  generator.duration_ns = 4000000;
  return generator;
}

TEST(RowPerThread, MovesEveryPageOnceWhenItFits) {
  for (const std::uint32_t bytes : {0u, 4u, 128u}) {
    const RunResult result = run(rows(), options_with(16), bytes);
    EXPECT_EQ(bytes_in(result.counters), 32 * kMiB) << bytes;
    EXPECT_EQ(result.counters.evictions, 0u) << bytes;
  }
}

// With more threads than accesses, the first threads make all accesses.
TEST(ThreadPages, NoAccessIsLostAmongIdleThreads) {
  for (const std::uint32_t blocks : {4u, 1u << 22}) {
    for (const bool listed : {false, true}) {
      Program program;
      const trace::ObjectId id = program.alloc(8 * kMiB);
      program.host(id);
      trace::Kernel& kernel = program.kernel("few of many", 10000, {id});
      kernel.grid.x = blocks;
      kernel.block.x = 256;
      kernel.distribution = trace::Distribution::kThreadChunk;
      kernel.bytes_per_thread_access = 1024;
      if (listed) {
        for (std::uint64_t page = 0; page < 1000; ++page) {
          kernel.touches.push_back({0, 2 * page, trace::AccessMode::kRead});
        }
      }
      RunOptions options = options_with(0);
      options.prefetch.name = "none";
      EXPECT_EQ(program.run(options).counters.faulting_pages, listed ? 1000u : 2048u) << blocks;
    }
  }
}

// Every phase of a grid-stride loop has as many steps as its own pages need.
TEST(GridStride, PhasesOfAnyLengthTouchAllTheirPages) {
  for (const std::uint64_t first : {16u, 1024u, 2032u}) {
    Program program;
    const trace::ObjectId id = program.alloc(8 * kMiB);
    program.host(id);
    trace::Kernel& kernel = program.kernel("two phases", 100000, {id});
    kernel.grid.x = 8;
    kernel.block.x = 256;
    kernel.distribution = trace::Distribution::kGridStride;
    const std::uint64_t all = 2048;
    kernel.phases = {{0, 4, {{0, {{0, first, trace::AccessMode::kRead}}}}},
                     {4, 4, {{0, {{first, all - first, trace::AccessMode::kRead}}}}}};
    RunOptions options = options_with(0);
    options.prefetch.name = "none";
    EXPECT_EQ(program.run(options).counters.faulting_pages, all) << first;
  }
}

// Loops that the name says are played as loops: their phases hold pages of everything, and tell no more.
TEST(GridStride, NamedLoopsFaultAlikeWithAndWithoutPhases) {
  for (const char* const name : {"fused_dropout_kernel_vecIffjLi1ELi4EbEEv", "CatArrayBatchedCopy_vectorized"}) {
    std::vector<std::uint64_t> batches;
    for (const bool phases : {false, true}) {
      Program program;
      const trace::ObjectId from = program.alloc(16 * kMiB), to = program.alloc(16 * kMiB);
      program.host(from);
      trace::Kernel& kernel = program.kernel(name, 100000, {from}, {to});
      kernel.grid.x = 64;
      kernel.block.x = 128;
      if (phases) {
        const trace::PhaseAccess read{0, {{0, 4096, trace::AccessMode::kRead}}};
        const trace::PhaseAccess write{1, {{0, 4096, trace::AccessMode::kWrite}}};
        kernel.phases = {{0, 32, {read, write}}, {32, 32, {read, write}}};
      }
      const Counters counters = program.run(options_with(0)).counters;
      EXPECT_EQ(bytes_in(counters), 16 * kMiB);
      EXPECT_EQ(counters.populated_pages, 4096u);
      batches.push_back(counters.fault_batches);
    }
    EXPECT_EQ(batches[0], batches[1]) << name;
  }
}

// Blocks of different inputs store to different pages, and none is left out.
TEST(Concatenation, StoresEachInputToItsPartOfTheRows) {
  Program program;
  const trace::ObjectId a = program.alloc(4 * kMiB), b = program.alloc(4 * kMiB), to = program.alloc(8 * kMiB);
  program.host(a);
  program.host(b);
  trace::Kernel& kernel = program.kernel("CatArrayBatchedCopy_vectorized", 100000, {a, b}, {to});
  kernel.grid = {16, 2, 1};
  kernel.block.x = 128;
  RunOptions options = options_with(0);
  options.prefetch.name = "none";
  const Counters counters = program.run(options).counters;
  EXPECT_EQ(bytes_in(counters), 8 * kMiB);
  EXPECT_EQ(counters.faulting_pages, 4096u);
}

// A name and a grid that do not fit each other: every page is touched all the same.
TEST(Concatenation, OfNoInputsOrTooManyIsAPlainLoop) {
  for (const std::uint32_t inputs : {0u, 3u, 1000u}) {
    Program program;
    const trace::ObjectId a = program.alloc(4 * kMiB), b = program.alloc(4 * kMiB), to = program.alloc(8 * kMiB);
    program.host(a);
    program.host(b);
    trace::Kernel& kernel = program.kernel("CatArrayBatchedCopy", 100000, {a, b}, {to});
    kernel.grid = {16, inputs, 1};
    kernel.block.x = 128;
    RunOptions options = options_with(0);
    options.prefetch.name = "none";
    EXPECT_EQ(program.run(options).counters.faulting_pages, 4096u) << inputs;
  }
}

// A block computes first, so that its fault begins when it has done so.
TEST(Stores, ComeWhenTheResultIsComputed) {
  Program program;
  const trace::ObjectId id = program.alloc(kPage);
  trace::Kernel& kernel = program.kernel("one block", 1000000, {}, {id});
  kernel.grid.x = 1;
  kernel.block.x = 128;
  EXPECT_GT(program.run(options_with(0)).counters.kernel_ns, 1005000u);
}

// Two blocks are resident on each of four SMs. An SM computes for the oldest one first, so that the results of the
// first four blocks are stored in the middle of the kernel and those of the others at its end.
TEST(Stores, OfAnSmsOldestBlockComeFirst) {
  struct Faults final : EventSink {
    void on(const FaultBatchEvent& e) override {
      starts.push_back(e.start.value);
      pages.push_back(e.faulting_pages);
    }
    std::vector<std::int64_t> starts;
    std::vector<std::uint32_t> pages;
  } faults;
  Program program;
  const trace::ObjectId id = program.alloc(8 * kPage);
  trace::Kernel& kernel = program.kernel("two per SM", 1000000, {}, {id});
  kernel.grid.x = 8;
  kernel.block.x = 1024;
  RunOptions options = options_with(0);
  options.prefetch.name = "none";
  program.run(options, &faults);
  EXPECT_EQ(faults.pages, (std::vector<std::uint32_t>{4, 4}));
  EXPECT_GE(faults.starts.back() - faults.starts.front(), 400000);
}

TEST(RowPerThread, TakesItsDurationWhenEverythingIsThere) {
  trace::GeneratorOptions generator = rows();
  generator.repeats = 2;
  const RunResult result = run(generator, options_with(16), 4);
  EXPECT_EQ(result.iterations[1].counters.kernel_ns, 4000000u);
}

// The cliff: a warp reads a page 1024 times, and if memory is too small for all warps, its block is evicted in between.
// A warp that reads a page at once loses nothing.
TEST(RowPerThread, BringsPagesBackManyTimesOnlyIfItReturnsToThem) {
  RunOptions options = options_with(8);
  const Counters once = run(rows(), options, 0).counters;
  const Counters words = run(rows(), options, 4).counters;
  EXPECT_GE(bytes_in(once), 32 * kMiB);
  EXPECT_GT(words.faulting_pages, 10 * once.faulting_pages);
  EXPECT_GT(words.kernel_ns, 10 * once.kernel_ns);
}

}  // namespace
}  // namespace uvmsim
