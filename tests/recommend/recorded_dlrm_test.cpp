// SPDX-License-Identifier: Apache-2.0
// Compares the generator with a recording: the pages that the bags of workloads/dlrm.uvmt touch, and a workload of the
// same shape.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <set>

#include "sim/trace/reader.h"
#include "tests/recommend/small_workload.h"

namespace uvmsim::recommend {
namespace {

using Pages = std::set<std::uint64_t>;

// Per table and batch, for one unit of memory: the number of distinct units touched, and the part of them that the
// table's previous batch also touched.
struct PageStatistics {
  double touched = 0, reused = 0;
};

constexpr std::uint64_t kQuantum = 512;

// `bags`: touched quanta, by table and batch.
PageStatistics statistics(const std::map<std::uint64_t, std::vector<Pages>>& bags, std::uint64_t unit_bytes) {
  PageStatistics out;
  double touched = 0, reused = 0, followers = 0;
  for (const auto& [table, batches] : bags) {
    Pages before;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      Pages pages;
      for (const std::uint64_t quantum : batches[i]) pages.insert(quantum * kQuantum / unit_bytes);
      out.touched += static_cast<double>(pages.size());
      touched += 1;
      if (i != 0) {
        double common = 0;
        for (const std::uint64_t page : pages) common += before.contains(page) ? 1 : 0;
        reused += common / static_cast<double>(pages.size());
        followers += 1;
      }
      before = pages;
    }
  }
  out.touched /= touched;
  out.reused = reused / followers;
  return out;
}

std::map<std::uint64_t, std::vector<Pages>> recorded_bags() {
  trace::TraceReader reader(UVMSIM_SOURCE_DIR "/workloads/dlrm.uvmt");
  EXPECT_EQ(reader.header().quantum_bytes, kQuantum);
  std::set<trace::ObjectId> tables;
  std::map<std::uint64_t, std::vector<Pages>> bags;
  for (trace::Record record; reader.next(record);) {
    if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) {
      if (tensor->bytes == 1000000 * 64 * 4) tables.insert(tensor->id);
    }
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    if (kernel == nullptr || kernel->name.find("EmbeddingBag_updateOutput") == std::string::npos) continue;
    for (const trace::ObjectAccess& access : kernel->accesses) {
      if (!tables.contains(access.object)) continue;
      Pages quanta;
      for (const trace::Extent& extent : access.extents) {
        for (std::uint64_t i = 0; i < extent.count; ++i) quanta.insert(extent.first + i);
      }
      bags[access.object].push_back(std::move(quanta));
    }
  }
  return bags;
}

std::map<std::uint64_t, std::vector<Pages>> generated_bags(std::size_t batches) {
  const Workload workload = read_workload("dlrm_recorded");
  const BatchStream stream(workload, true, 1);
  std::map<std::uint64_t, std::vector<Pages>> bags;
  Batch batch;
  for (std::size_t number = 0; number < batches; ++number) {
    fill(stream, number, batch);
    for (auto& [table, quanta] : bags) quanta.emplace_back();
    for (const std::uint64_t row : batch.rows) {
      auto& quanta = bags[row / 1000000];
      quanta.resize(number + 1);
      quanta.back().insert(row % 1000000 * workload.row_bytes() / kQuantum);
    }
  }
  return bags;
}

TEST(RecordedDlrm, HasThePageStatisticsOfTheGenerator) {
  const auto recorded = recorded_bags();
  ASSERT_EQ(recorded.size(), 8u);
  for (const auto& [table, batches] : recorded) ASSERT_EQ(batches.size(), 3u);
  const auto generated = generated_bags(3);
  ASSERT_EQ(generated.size(), 8u);
  for (const std::uint64_t unit :
       {std::uint64_t{512}, std::uint64_t{4096}, std::uint64_t{65536}, std::uint64_t{2} << 20}) {
    const PageStatistics was = statistics(recorded, unit), is = statistics(generated, unit);
    fmt::print(
        "units of {:>7} bytes: touched per table and batch {:7.1f} recorded, {:7.1f} generated; "
        "again in the next batch {:.4f}, {:.4f}\n",
        unit, was.touched, is.touched, was.reused, is.reused);
    EXPECT_NEAR(is.touched / was.touched, 1, 0.02) << unit;
    EXPECT_NEAR(is.reused, was.reused, 0.02) << unit;
  }
}

}  // namespace
}  // namespace uvmsim::recommend
