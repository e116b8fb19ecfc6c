// SPDX-License-Identifier: Apache-2.0
// Campaigns: the generated programs against their closed forms, and a small one replayed with oversubscription.
#include "sim/validate/campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/config/load_system.h"
#include "sim/engine/simulation.h"
#include "sim/generate/generate.h"
#include "sim/trace/shape.h"
#include "sim/validate/calibrate.h"
#include "sim/validate/campaign_comparison.h"
#include "sim/validate/campaign_program.h"
#include "sim/validate/page_lists.h"
#include "sim/validate/validation.h"
#include "sim/validate/validation_report.h"

namespace uvmsim::validate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::uint64_t kSeed = 202610081;

// Returns the campaign's own check value: FNV-1a over the list of words, as 64-bit indices of 4-byte words.
std::uint64_t hash_of(const std::vector<SparseWord>& words) {
  std::uint64_t hash = 1469598103934665603u;
  for (const SparseWord& word : words) {
    const std::uint64_t index = word.page * 1024 + word.word;
    for (unsigned byte = 0; byte < 8; ++byte) {
      hash ^= (index >> (8 * byte)) & 0xff;
      hash *= 1099511628211u;
    }
  }
  return hash;
}

// The values were published with the program (results/analysis/gate_e/e8/bench_validation.log there), which was built
// with another compiler.
TEST(SparsePages, AreThoseOfThePublishedProgram) {
  EXPECT_EQ(hash_of(sparse_words(32, 8, kSeed)), 0xcadb089e31a7ed3eu);
  EXPECT_EQ(hash_of(sparse_words(32, 8, kSeed + 1)), 0xd7358ca74b9d82ccu);
  EXPECT_EQ(hash_of(sparse_words(512, 8, kSeed)), 0x03115d610e56a59eu);
}

// An odd number of blocks takes the other branch of the shuffle: still every block occurs once, with its pages together
// and distinct.
TEST(SparsePages, EveryBlockOnceWithDistinctPages) {
  for (const std::uint64_t blocks : {1u, 2u, 7u}) {
    const std::vector<SparseWord> words = sparse_words(blocks, 64, 5);
    ASSERT_EQ(words.size(), blocks * 64);
    std::set<std::uint64_t> seen_blocks, seen_pages;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint64_t block = words[i].page / kPagesPerBlock;
      EXPECT_EQ(block, words[i / 64 * 64].page / kPagesPerBlock);
      EXPECT_LT(words[i].word, 1024u);
      seen_blocks.insert(block);
      seen_pages.insert(words[i].page);
    }
    EXPECT_EQ(seen_blocks.size(), blocks);
    EXPECT_EQ(*seen_blocks.rbegin(), blocks - 1);
    EXPECT_EQ(seen_pages.size(), words.size());
  }
}

template <class Record>
std::vector<Record> records_of(const Campaign& campaign) {
  config::GpuConfig gpu;
  gpu.memory_bytes_per_us = 1000000;
  CampaignProgram program("p", campaign, gpu);
  trace::check_shape(program.header());
  std::vector<Record> found;
  for (trace::Record record; program.next(record);) {
    trace::check_shape(record);
    if (const auto* match = std::get_if<Record>(&record)) found.push_back(*match);
  }
  return found;
}

Campaign sparse(std::uint64_t blocks, std::uint64_t pages_per_block) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kSparseBlocks;
  campaign.array_bytes = blocks * kBlockBytes;
  campaign.pages_per_block = pages_per_block;
  campaign.seed = kSeed;
  campaign.steps = 3;
  return campaign;
}

TEST(CampaignProgram, SparseBlocksLoadsAndStoresOneWordPerThread) {
  const std::vector<trace::Kernel> passes = records_of<trace::Kernel>(sparse(32, 8));
  ASSERT_THAT(passes, SizeIs(3));
  const std::vector<SparseWord> words = sparse_words(32, 8, kSeed);
  for (const trace::Kernel& pass : passes) {
    EXPECT_EQ(pass.grid.x, 1u);
    ASSERT_EQ(pass.touches.size(), 2 * words.size());
    for (std::size_t thread = 0; thread < words.size(); ++thread) {
      const trace::Touch &load = pass.touches[2 * thread], &store = pass.touches[2 * thread + 1];
      EXPECT_EQ(load.quantum * 512 / kBasePageBytes, words[thread].page);
      EXPECT_EQ(load.quantum, store.quantum);
      EXPECT_EQ(load.mode, trace::AccessMode::kRead);
      EXPECT_EQ(store.mode, trace::AccessMode::kWrite);
    }
  }
}

Campaign scans(std::uint64_t blocks, bool growing) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kSliceScans;
  campaign.array_bytes = blocks * kBlockBytes;
  campaign.steps = growing ? 8 : 3;
  campaign.rounds = 2;
  campaign.growing = growing;
  return campaign;
}

std::uint64_t bytes_of(const trace::Kernel& kernel, trace::AccessMode mode) {
  std::uint64_t bytes = 0;
  for (const trace::ObjectAccess& access : kernel.accesses) {
    for (const trace::Extent& extent : access.extents) {
      if (extent.mode == mode) bytes += extent.count * 512;
    }
  }
  return bytes;
}

TEST(CampaignProgram, GrowingScansWriteASliceAndReadAllUpToIt) {
  const std::vector<trace::Kernel> kernels = records_of<trace::Kernel>(scans(16, true));
  ASSERT_THAT(kernels, SizeIs(2 * 8 * 3)) << "write, read, and the additions to the sum";
  for (std::size_t step = 0; step < 16; ++step) {
    EXPECT_EQ(bytes_of(kernels[3 * step], trace::AccessMode::kWrite), 2 * kBlockBytes);
    EXPECT_EQ(bytes_of(kernels[3 * step + 1], trace::AccessMode::kRead), (step % 8 + 1) * 2 * kBlockBytes);
  }
  // The slices end at words, so the last one ends with the array, whose size is no multiple of a page.
  Campaign odd = scans(16, true);
  odd.array_bytes = 18888626176;
  EXPECT_EQ(bytes_of(records_of<trace::Kernel>(odd).at(0), trace::AccessMode::kWrite), 2361078272u);
}

TEST(CampaignProgram, AccumulateAddsTheNewestArrayFirst) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kAccumulate;
  campaign.array_bytes = 50 * kBlockBytes;
  campaign.arrays = 3;
  campaign.steps = 2;
  EXPECT_EQ(campaign.footprint_bytes(), 200 * kBlockBytes);
  EXPECT_THAT(records_of<trace::HostAccess>(campaign), SizeIs(4));
  std::vector<trace::ObjectId> read;
  for (const trace::Kernel& kernel : records_of<trace::Kernel>(campaign)) {
    if (kernel.name == "addArray") read.push_back(kernel.accesses[0].object);
    EXPECT_EQ(kernel.accesses.back().object, 1u) << "the sum is the first array";
  }
  EXPECT_THAT(read, ElementsAre(4, 3, 2, 4, 3, 2));
}

TEST(CampaignProgram, RandomPageWalkVisitsEveryPageOfAThreadsShareOnce) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kPageWalk;
  campaign.array_bytes = std::uint64_t{65536} * 3 * kBasePageBytes;
  campaign.steps = 1;
  campaign.seed = 1;
  campaign.random_order = true;
  const trace::Kernel walk = records_of<trace::Kernel>(campaign).at(0);
  ASSERT_EQ(walk.touches.size(), 65536u * 3 * 2);
  std::size_t ascending = 0;
  for (std::size_t thread = 0; thread < 65536; ++thread) {
    std::vector<std::uint64_t> pages;
    for (std::size_t i = 0; i < 3; ++i) {
      const trace::Touch &in = walk.touches[6 * thread + 2 * i], &out = walk.touches[6 * thread + 2 * i + 1];
      EXPECT_EQ(in.quantum, out.quantum);
      EXPECT_EQ(in.slot, 0u);
      EXPECT_EQ(out.slot, 1u);
      pages.push_back(in.quantum / 8);
    }
    ascending += std::is_sorted(pages.begin(), pages.end()) ? 1 : 0;
    EXPECT_THAT(pages, ::testing::UnorderedElementsAre(3 * thread, 3 * thread + 1, 3 * thread + 2));
  }
  EXPECT_NEAR(static_cast<double>(ascending), 65536 / 6.0, 500) << "one of six orders";
}

TEST(CampaignProgram, PhaseScansAddToEachHalfTwice) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kPhaseScan;
  campaign.array_bytes = 5 * kBlockBytes;
  campaign.steps = 4;
  campaign.local_bytes_per_us = 1000;
  const std::vector<trace::Kernel> phases = records_of<trace::Kernel>(campaign);
  ASSERT_THAT(phases, SizeIs(4));
  for (std::size_t phase = 0; phase < 4; ++phase) {
    const trace::Extent& extent = phases[phase].accesses.at(0).extents.begin()[0];
    EXPECT_EQ(extent.first * 512, phase % 2 == 0 ? 0u : 5 * kBlockBytes / 2);
    EXPECT_EQ(bytes_of(phases[phase], trace::AccessMode::kReadWrite), 5 * kBlockBytes / 2);
    EXPECT_EQ(phases[phase].grid.x, 5 * kBlockBytes / 2 / 4 / 256) << "a word per thread";
    EXPECT_EQ(phases[phase].duration_ns, 5 * kBlockBytes) << "what it reads and writes, at 1 byte per ns";
  }
  campaign.array_bytes = 256 * kBlockBytes;
  EXPECT_EQ(records_of<trace::Kernel>(campaign).front().grid.x, 65535u) << "as many as a grid may have";
}

TEST(CampaignProgram, VectorAddReadsTwoArraysAndWritesTheThird) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kVectorAdd;
  campaign.array_bytes = kBlockBytes;
  campaign.steps = 2;
  EXPECT_EQ(campaign.footprint_bytes(), 3 * kBlockBytes);
  EXPECT_THAT(records_of<trace::HostAccess>(campaign), SizeIs(3));
  const std::vector<trace::Kernel> launches = records_of<trace::Kernel>(campaign);
  ASSERT_THAT(launches, SizeIs(2));
  for (const trace::Kernel& launch : launches) {
    EXPECT_EQ(bytes_of(launch, trace::AccessMode::kRead), 2 * kBlockBytes);
    EXPECT_EQ(bytes_of(launch, trace::AccessMode::kWrite), kBlockBytes);
  }
}

TEST(CampaignProgram, MatrixVectorHasARowPerThreadAndThenAColumn) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kMatrixVector;
  campaign.columns = 8192;
  campaign.array_bytes = 512 * campaign.columns * 4;
  campaign.page_ns = 1000;
  EXPECT_EQ(campaign.footprint_bytes(), campaign.array_bytes + 4 * campaign.columns * 4);
  const std::vector<trace::Kernel> kernels = records_of<trace::Kernel>(campaign);
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(kernels[0].distribution, trace::Distribution::kThreadChunk);
  EXPECT_EQ(kernels[0].bytes_per_thread_access, 4u);
  EXPECT_EQ(kernels[0].grid.count() * kernels[0].block.count(), 512u) << "rows";
  EXPECT_EQ(kernels[0].duration_ns, 8000) << "of a row's eight pages";
  EXPECT_EQ(kernels[1].grid.count() * kernels[1].block.count(), 8192u) << "columns";
  EXPECT_EQ(kernels[1].duration_ns, campaign.array_bytes / 1000) << "by memory bandwidth";
}

// Every row of the output is written once, and every row of the input is read with the rows beside it.
TEST(CampaignProgram, ConvolutionReadsARowMoreOnEitherSide) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kConvolution;
  campaign.columns = 1024;
  campaign.array_bytes = 20 * campaign.columns * 4;  // the third band has four rows
  const trace::Kernel kernel = records_of<trace::Kernel>(campaign).at(0);
  EXPECT_EQ(kernel.grid.x, 32u);
  ASSERT_EQ(kernel.phases.size(), 3u);
  std::vector<std::uint64_t> read, written;  // rows of a page
  for (const trace::Phase& phase : kernel.phases) {
    EXPECT_EQ(phase.block_count, 32u);
    read.push_back(phase.accesses.at(0).extents.at(0).count / 8);
    written.push_back(phase.accesses.at(1).extents.at(0).count / 8);
  }
  EXPECT_THAT(read, ElementsAre(9, 10, 5));
  EXPECT_THAT(written, ElementsAre(8, 8, 4));
}

Campaign gram_schmidt(std::uint64_t columns) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kGramSchmidt;
  campaign.columns = columns;
  campaign.array_bytes = columns * columns * 4;
  campaign.norm_ns = 20000;
  return campaign;
}

TEST(CampaignProgram, GramSchmidtTakesOneColumnAfterTheOther) {
  const std::vector<trace::Kernel> kernels = records_of<trace::Kernel>(gram_schmidt(2048));
  ASSERT_EQ(kernels.size(), 4 * 2048u - 2) << "nothing lies behind the last column";
  const trace::Kernel &norm = kernels[4 * 1500], &subtract = kernels[4 * 1500 + 3];
  ASSERT_THAT(norm.touches, SizeIs(2048));
  EXPECT_EQ(norm.touches[3].quantum, (3 * 2048 + 1500) * 4 / 512);
  EXPECT_EQ(bytes_of(subtract, trace::AccessMode::kReadWrite), 2048 * kBasePageBytes) << "the second page of each row";
  EXPECT_EQ(bytes_of(kernels[3], trace::AccessMode::kReadWrite), 2048 * 2048 * 4u) << "first, all later columns";
}

config::SystemConfig small_gpu(std::uint64_t blocks) {
  config::SystemConfig system = config::load_system("rtx4080-pcie4");
  system.gpus[0].memory_bytes = blocks * kBlockBytes;
  system.gpus[0].reserved_bytes = 0;
  return system;
}

// 16 blocks pass through 8: an evicted block is needed before those that came after it, so every scan moves everything.
TEST(CampaignRun, ScansBeyondMemoryMoveTheWholeArrayInEveryStep) {
  Campaign campaign = scans(16, false);
  campaign.steady = SteadySteps{1, {}, {}, {}, ""};
  const CampaignRun run = replay_campaign("p", campaign, small_gpu(9));
  EXPECT_EQ(run.footprint_blocks, 16u);
  EXPECT_EQ(run.capacity_blocks, 9u);
  ASSERT_THAT(run.steps, SizeIs(6));
  constexpr std::uint64_t sum = 65536;  // the page that the CPU clears, with its surroundings
  for (const CampaignStep& step : run.steps) {
    EXPECT_NEAR(static_cast<double>(*step.simulated[figure::kBytesIn]), 16 * kBlockBytes, sum) << step.name;
    const double out = step.name == "cold 0" ? 8 : 16;
    EXPECT_NEAR(static_cast<double>(*step.simulated[figure::kEvictedBytes]), out * kBlockBytes, sum) << step.name;
  }
  EXPECT_EQ(run.steps[3].name, "repeat 0");
  EXPECT_EQ(*run.total.simulated[figure::kCpuFaults] / 16, 6u) << "six faults for each block that the CPU writes first";
}

TEST(CampaignRun, WithThresholdZeroEveryFaultBringsItsBlock) {
  Campaign campaign = sparse(16, 1);
  const CampaignRun usual = replay_campaign("p", campaign, small_gpu(32));
  campaign.prefetch_threshold = 0;
  const CampaignRun whole = replay_campaign("p", campaign, small_gpu(32));
  EXPECT_EQ(*usual.steps[0].simulated[figure::kBytesIn], 16u * 65536);
  EXPECT_EQ(*whole.steps[0].simulated[figure::kBytesIn], 16 * kBlockBytes);
  EXPECT_EQ(*whole.total.simulated[figure::kCpuFaults], 16u) << "so does a fault of the CPU";
  for (std::size_t pass : {1u, 2u}) EXPECT_EQ(*whole.steps[pass].simulated[figure::kBytesIn], 0u);
}

// The whole working set exceeds memory; both halves are fetched once. Blocks that the second half evicted are fetched
// again, and evict the blocks that are needed next.
// `trace generate` yields the same program, so that a run of it takes the same time and moves the same bytes.
TEST(CampaignRun, AConvolutionIsTheGeneratedOne) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kConvolution;
  campaign.columns = 8192;
  campaign.array_bytes = 16 * kBlockBytes;
  campaign.local_bytes_per_us = 1000000;
  const config::SystemConfig system = config::load_system("rtx3090-pcie4");
  trace::GeneratorOptions generator;
  generator.pattern = "convolution_per_thread";
  generator.bytes = 2 * campaign.array_bytes;
  generator.stride_bytes = campaign.columns * kNumberBytes;
  generator.duration_ns = static_cast<std::int64_t>(2 * campaign.array_bytes / 1000);
  for (const std::uint64_t blocks : {32u, 20u}) {
    campaign.capacity_bytes = blocks * kBlockBytes;
    const CampaignRun run = replay_campaign("c", campaign, system);
    RunOptions options;
    options.system = system;
    options.layout = "none";
    options.capacity_bytes = blocks * kBlockBytes;
    const auto program = trace::make_program(generator);
    // Random numbers depend on a kernel's place among the records. The campaign has one more before its kernel.
    std::uint64_t records = 0;
    const RunResult result = simulate(
        program->header(),
        [&](trace::Record& record) {
          if (++records != 5) return program->next(record);
          record.emplace<trace::Sync>();
          return true;
        },
        options);
    EXPECT_EQ(figures_of(result.iterations.at(0).counters), run.steps.at(0).simulated) << blocks;
  }
}

TEST(CampaignRun, PhasesBeyondAGivenCapacityBringEverythingAgain) {
  Campaign campaign;
  campaign.program = CampaignProgramKind::kPhaseScan;
  campaign.array_bytes = 40 * kBlockBytes;
  campaign.steps = 4;
  campaign.capacity_bytes = 38 * kBlockBytes;
  campaign.prefetch = "always_2mb";
  const CampaignRun run = replay_campaign("p", campaign, small_gpu(64));
  EXPECT_EQ(run.capacity_blocks, 38u);
  EXPECT_EQ(*run.steps[0].simulated[figure::kBytesIn], 20 * kBlockBytes);
  EXPECT_EQ(*run.steps[1].simulated[figure::kEvictions], 2u) << "blocks of the working set less those that fit";
  EXPECT_EQ(*run.steps[2].simulated[figure::kEvictions], 20u);
  EXPECT_EQ(*run.steps[3].simulated[figure::kEvictions], 20u);
  EXPECT_EQ(*run.total.simulated[figure::kCpuFaults], 40u) << "the CPU's faults bring whole blocks, too";
}

// Each matrix has two blocks. The second block of r evicts the oldest one, which is needed next, and so on through all
// of them; without memory for one block of r, every column fetches everything again.
TEST(CampaignRun, GramSchmidtFallsOffItsCliffByOneBlock) {
  Campaign campaign = gram_schmidt(1024);
  const auto evictions = [&](std::uint64_t blocks) {
    campaign.capacity_bytes = blocks * kBlockBytes;
    return *replay_campaign("p", campaign, small_gpu(64)).total.simulated[figure::kEvictions];
  };
  EXPECT_EQ(evictions(6), 0u);
  EXPECT_LT(evictions(5), 30u);
  EXPECT_GT(evictions(4), 2000u);
}

TEST(CampaignRun, MatricesThatCannotBeAreRefused) {
  const auto message = [](const std::string& rest) {
    try {
      parse_experiments(R"({"name":"p","steps":1,)" + rest + "}\n", "mine.jsonl");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(R"("program":"matrix_vector","array_bytes":33554432,"columns":8192)"), "");
  EXPECT_THAT(message(R"("program":"matrix_vector","array_bytes":33554432)"), HasSubstr("columns"));
  EXPECT_THAT(message(R"("program":"convolution","array_bytes":33554436,"columns":8192)"),
              HasSubstr("whole rows of 8192"));
  EXPECT_THAT(message(R"("program":"gram_schmidt","array_bytes":33554432,"columns":8192)"),
              HasSubstr("of a square matrix"));
  EXPECT_THAT(message(R"("program":"gram_schmidt","array_bytes":17179869184,"columns":65536)"),
              HasSubstr("'columns' is 65536; allowed: up to 32768"));
}

TEST(CampaignRun, PoliciesAndCapacitiesThatCannotBeAreRefused) {
  const auto with = [](const char* more) {
    return std::string(R"({"name":"p","program":"vector_add","array_bytes":33554432,"steps":2,)") + more + "}\n";
  };
  const auto message = [&](const char* more) {
    try {
      parse_experiments(with(more), "mine.jsonl");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(R"("prefetch":"tree","capacity_bytes":4194304)"), "");
  EXPECT_THAT(message(R"("prefetch":"guess")"), HasSubstr("allowed: tree, always_2mb, none"));
  EXPECT_THAT(message(R"("prefetch":"tree","prefetch_threshold":51)"), HasSubstr("one of them"));
  EXPECT_THAT(message(R"("capacity_bytes":4096)"), HasSubstr("at least 2097152"));
}

std::string line(const std::string& name, const std::string& rest) {
  return R"({"name":")" + name + R"(","program":"slice_scans","array_bytes":33554432,"steps":3,)" + rest + "}\n";
}

// The ratio takes its cold step from another experiment of the file, and limits apply to the published numbers.
TEST(CampaignRun, IsJudgedByItsOwnLimits) {
  const std::string text =
      line(
          "fits",
          R"("array_bytes_of":1,"published":[{"time_ns":8000000,"bytes_moved":33685504}],"limits":{"bytes_blocks":1})") +
      line("beyond", R"("published":[{"time_ns":1,"bytes_moved":1,"lost_records":true},{"time_ns":16000000},{}],)"
                     R"("steady":{"from":1,"cold_run":"fits"},"limits":{"time_permille":0,"bytes_permille":0,)"
                     R"("ratio_permille":1000000})");
  const ExperimentFile file = parse_experiments(text, "mine.jsonl");
  EXPECT_THAT(file.warnings, ElementsAre(HasSubstr("array_bytes_of")));
  const Validation validation = validate({file}, small_gpu(32));
  ASSERT_THAT(validation.comparisons, SizeIs(2));
  const Comparison &fits = validation.comparisons[0], &beyond = validation.comparisons[1];
  EXPECT_TRUE(fits.within()) << joined(fits.failures);
  EXPECT_EQ(fits.experiment_class, ExperimentClass::kCampaign);
  ASSERT_THAT(beyond.failures, SizeIs(1)) << "records were lost, so bytes are not judged";
  EXPECT_EQ(beyond.failures[0].check, "time");
  ASSERT_TRUE(beyond.campaign->ratio_permille);
  EXPECT_EQ(beyond.campaign->ratio_permille->measured, 2000u);
  EXPECT_FALSE(validate({file}, small_gpu(32), {.tolerances = {}, .only = "beyond", .progress = {}})
                   .comparisons[0]
                   .campaign->ratio_permille);
}

TEST(CampaignReport, TextIsAtMost120ColumnsWideAndMarkdownARow) {
  const std::string path = UVMSIM_SOURCE_DIR "/tests/ground_truth/data/oversubscribed_rtx4080.jsonl";
  Experiment experiment = read_experiments(path).experiments.at(3);
  Campaign& campaign = *experiment.campaign;
  ASSERT_EQ(experiment.name, "P1_R3");
  campaign.array_bytes = 16 * kBlockBytes;  // a shorter array, but as many published numbers as before
  Comparison comparison = compare_campaign(experiment, replay_campaign("p", campaign, small_gpu(9)));
  judge(experiment, &*comparison.campaign, comparison);
  const std::string text = campaign_text(comparison);
  std::istringstream lines(text);
  for (std::string row; std::getline(lines, row);) EXPECT_LE(row.size(), 120u) << row;
  EXPECT_THAT(text, HasSubstr("P1_R3: 16 blocks of 2 MB, 9 fit"));
  EXPECT_THAT(text, HasSubstr("cold 0    3019.4 / "));
  EXPECT_THAT(text, HasSubstr("steady / cold block: 1.260 / "));
  EXPECT_THAT(campaigns_markdown({comparison}), HasSubstr("| P1_R3 | 16 (9) | 3019.4 / "));
  EXPECT_EQ(campaigns_markdown({}), "");
}

// From the published times of a known system with oversubscription, calibration finds its cost.
TEST(CampaignCalibration, FindsACostFromTheTimesOfSteps) {
  config::SystemConfig truth = small_gpu(9);
  truth.costs.batch_ns *= 4;
  Experiment experiment;
  experiment.name = "scans";
  experiment.mode = Mode::kCampaign;
  experiment.campaign = scans(16, false);
  for (const CampaignStep& step : replay_campaign("scans", *experiment.campaign, truth).steps) {
    PublishedStep& published = experiment.campaign->published.emplace_back();
    published.figures[figure::kTime] = step.simulated[figure::kTime];
    published.figures[figure::kCopies] = step.simulated[figure::kCopies];
  }
  CalibrationOptions options;
  options.parameters = {"costs.batch_ns"};
  const Calibration fitted = calibrate({{"made.jsonl", {experiment}, {}}}, small_gpu(9), "made.jsonl", options);
  const double found = static_cast<double>(fitted.parameters.at(0).after);
  EXPECT_NEAR(found, static_cast<double>(truth.costs.batch_ns), 0.05 * static_cast<double>(truth.costs.batch_ns));
  EXPECT_GT(fitted.error_before, 3);
  EXPECT_LT(fitted.error_after, 1);
}

}  // namespace
}  // namespace uvmsim::validate
