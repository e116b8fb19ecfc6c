// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/program.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "sim/engine/simulation.h"
#include "sim/recommend/study.h"
#include "sim/trace/validate.h"
#include "tests/recommend/small_workload.h"

namespace uvmsim::recommend {
namespace {

ProgramOptions options_for(const Workload& workload) {
  ProgramOptions options;
  options.steps = 3;
  options.warm_up = 5;
  options.gpu_bytes = workload.bytes() / 5;
  options.host_cache_bytes = workload.bytes() / 2;
  return options;
}

PlacementResult result_of(const Workload& workload, const char* placement, const ProgramOptions& options) {
  return run_placement(workload, find_placement(placement), options, system_with_ssd());
}

TEST(Program, IsAValidTrace) {
  const Workload workload = small_workload();
  const ProgramOptions options = options_for(workload);
  for (const Placement& placement : placements()) {
    for (const bool training : {true, false}) {
      ProgramOptions mode = options;
      mode.training = training;
      Program program(workload, placement, mode, system_with_ssd());
      trace::Validator validator(std::string(placement.name), program.header());
      for (trace::Record record; program.next(record);) EXPECT_NO_THROW(validator.check(record)) << placement.name;
      EXPECT_NO_THROW(validator.finish());
    }
  }
}

TEST(Program, IsTheSameEveryTime) {
  const Workload workload = small_workload();
  const ProgramOptions options = options_for(workload);
  for (const char* placement : {"vanilla", "caching_lfu_prefetch", "ssd"}) {
    const PlacementResult a = result_of(workload, placement, options), b = result_of(workload, placement, options);
    EXPECT_EQ(a.numbers(), b.numbers()) << placement;
  }
}

// The link carries exactly the bytes that the program reads and writes in place.
TEST(Program, BytesOnTheLinkAreThoseOfItsRows) {
  const Workload workload = small_workload();
  for (const bool training : {true, false}) {
    ProgramOptions options = options_for(workload);
    options.training = training;
    for (const char* placement : {"device", "managed", "caching_lru", "caching_lfu", "ssd"}) {
      const PlacementResult result = result_of(workload, placement, options);
      ASSERT_EQ(result.refused, "");
      EXPECT_EQ(result.counters.remote_access_bytes, result.rows.host_read_bytes + result.rows.host_written_bytes)
          << placement;
      EXPECT_EQ(result.counters.faulting_pages, 0u) << placement;
    }
  }
}

TEST(Program, ManagedRowsPayPerLookupAndPerUpdate) {
  const Workload workload = small_workload();
  const ProgramOptions options = options_for(workload);
  const PlacementResult result = result_of(workload, "managed", options);
  const std::uint64_t row = workload.row_bytes();
  EXPECT_EQ(result.rows.lookups, 3 * workload.batch * workload.lookups_per_sample());
  EXPECT_EQ(result.rows.host_read_bytes, (result.rows.lookups + result.rows.unique) * row);
  EXPECT_EQ(result.rows.host_written_bytes, result.rows.unique * row);
  EXPECT_EQ(result.rows.device_bytes, 0u);
}

// A row that enters the cache crosses the link once, and a row that leaves it once; rows that find no way in their set
// are used in place.
TEST(Program, CachesMoveWhatTheyMiss) {
  const Workload workload = small_workload();
  const ProgramOptions options = options_for(workload);
  for (const char* placement : {"caching_lru", "caching_lfu"}) {
    const PlacementResult result = result_of(workload, placement, options);
    const RowStatistics& rows = result.rows;
    const std::uint64_t row = workload.row_bytes();
    EXPECT_GE(rows.hits + rows.inserted + rows.conflicts, rows.unique) << placement;
    EXPECT_EQ(rows.host_read_bytes, (rows.inserted + rows.conflict_lookups + rows.conflicts) * row) << placement;
    EXPECT_EQ(rows.host_written_bytes, (rows.evicted + rows.conflicts) * row) << placement;
    EXPECT_GT(result.hit_thousandths(), 500u) << placement;
  }
}

// Rows read from the SSD plus rows found in DRAM equal the misses of the GPU's cache.
TEST(Program, TheSsdServesWhatNoCacheHas) {
  const Workload workload = small_workload();
  const ProgramOptions options = options_for(workload);
  const RowStatistics rows = result_of(workload, "ssd", options).rows;
  EXPECT_EQ(rows.host_cache_hits + rows.ssd_read_rows, rows.inserted + rows.conflicts);
  EXPECT_EQ(rows.ssd_read_bytes, rows.ssd_read_rows * 4096);
  EXPECT_EQ(rows.ssd_written_bytes, rows.ssd_written_rows * workload.row_bytes());
  ProgramOptions bare = options;
  bare.host_cache_bytes = 0;
  const RowStatistics without = result_of(workload, "ssd", bare).rows;
  EXPECT_EQ(without.host_cache_hits, 0u);
  EXPECT_EQ(without.ssd_read_rows, without.inserted + without.conflicts);
  EXPECT_EQ(without.ssd_written_rows, without.evicted + without.conflicts);
}

// With as many ways as rows, only rows of sets with more than 32 rows miss.
TEST(Program, ACacheOfAllRowsHitsButForCrowdedSets) {
  Workload workload = small_workload();
  workload.rows = {2000};
  workload.lookups = {8};
  workload.training_zipf_thousandths = 0;
  ProgramOptions options = options_for(workload);
  options.gpu_bytes = 4 * workload.bytes();
  options.load_factor_thousandths = 1000;
  options.warm_up = 50;
  const PlacementResult result = result_of(workload, "caching_lru", options);
  EXPECT_EQ(result.rows.inserted + result.rows.conflicts, result.rows.unique - result.rows.hits);
  EXPECT_GT(result.hit_thousandths(), 900u);
  EXPECT_GT(result.cache_rows_used, result.cache_rows * 9 / 10);
}

// seed-systems.md, section D5, under oversubscription.
TEST(Study, PlacementsCostInTheExpectedOrder) {
  Workload workload = small_workload();
  workload.batch = 8192;
  for (const bool training : {true, false}) {
    ProgramOptions options = options_for(workload);
    options.training = training;
    options.steps = 2;
    std::vector<PlacementResult> results;
    for (const char* placement : {"device", "caching_lru_prefetch", "caching_lru", "managed", "vanilla"}) {
      results.push_back(result_of(workload, placement, options));
    }
    for (std::size_t i = 1; i < results.size(); ++i) {
      EXPECT_LT(results[i - 1].step, results[i].step)
          << results[i - 1].placement->name << " against " << results[i].placement->name << ", training " << training;
    }
  }
}

// A fault fetches at least 64 KB for a row of 512 bytes.
TEST(Study, FaultsBringMoreThanRows) {
  const Workload workload = small_workload();
  const ProgramOptions options = options_for(workload);
  EXPECT_GT(result_of(workload, "vanilla", options).amplification_thousandths(), 30000u);
  EXPECT_LT(result_of(workload, "caching_lru", options).amplification_thousandths(), 2000u);
}

TEST(Study, SaysWhatHasNoRoom) {
  const Workload workload = small_workload();
  ProgramOptions options = options_for(workload);
  config::SystemConfig system = config::load_system("h200-sxm-pcie5");
  EXPECT_NE(run_placement(workload, find_placement("ssd"), options, system).refused, "");
  system.host.memory_bytes = workload.bytes() / 2;
  EXPECT_NE(run_placement(workload, find_placement("managed"), options, system).refused, "");
  options.gpu_bytes = 1000;
  EXPECT_NE(run_placement(workload, find_placement("caching_lru"), options, system_with_ssd()).refused, "");
}

TEST(Study, FilesHoldEveryNumber) {
  Study study;
  study.workload = small_workload();
  study.system = system_with_ssd();
  study.options = options_for(study.workload);
  study.results = {
      result_of(study.workload, "device", study.options),
      run_placement(study.workload, find_placement("ssd"), study.options, config::load_system("h200-sxm-pcie5"))};
  const auto json = nlohmann::json::parse(study_json(study));
  EXPECT_EQ(json["placements"][0]["step_ns"], study.results[0].step.value);
  EXPECT_FALSE(json["placements"][1].contains("step_ns"));
  const std::string csv = study_csv(study);
  std::map<std::size_t, int> commas;  // number of commas of each line
  for (std::size_t line = 0, at = 0; at < csv.size(); ++at) {
    if (csv[at] == '\n') ++line;
    if (csv[at] == ',') ++commas[line];
  }
  EXPECT_EQ(commas[0], commas[1]);
}

}  // namespace
}  // namespace uvmsim::recommend
