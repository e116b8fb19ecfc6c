// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/batch_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/recommend/small_workload.h"

namespace uvmsim::recommend {
namespace {

TEST(BatchStream, NamesTheRowsOfEveryTableAndBag) {
  const Workload workload = small_workload();
  const BatchStream stream(workload, true, 1);
  Batch batch;
  for (const std::uint64_t number : {0u, 1u, 1000000u}) {
    fill(stream, number, batch);
    ASSERT_EQ(batch.lookups.size(), workload.batch * workload.lookups_per_sample());
    auto lookup = batch.lookups.begin();
    std::uint64_t base = 0;
    for (std::size_t table = 0; table < workload.rows.size(); ++table) {
      for (std::uint64_t sample = 0; sample < workload.batch; ++sample) {
        std::set<std::uint64_t> bag;
        for (std::uint32_t i = 0; i < workload.lookups[table]; ++i, ++lookup) {
          ASSERT_GE(*lookup, base);
          ASSERT_LT(*lookup, base + workload.rows[table]);
          bag.insert(*lookup);
        }
        ASSERT_EQ(bag.size(), workload.lookups[table]) << "a row twice in a bag";
      }
      base += workload.rows[table];
    }
    // Compares rows and counts with a map.
    std::map<std::uint64_t, std::uint32_t> expected;
    for (const std::uint64_t row : batch.lookups) ++expected[row];
    ASSERT_EQ(batch.rows.size(), expected.size());
    std::size_t i = 0;
    for (const auto& [row, count] : expected) {
      ASSERT_EQ(batch.rows[i], row);
      ASSERT_EQ(batch.counts[i++], count);
    }
  }
}

TEST(BatchStream, IsTheSameWhateverWasAskedBefore) {
  const Workload workload = small_workload();
  const BatchStream a(workload, true, 3), b(workload, true, 3), other(workload, true, 4);
  Batch first, second;
  for (const std::uint64_t number : {5u, 2u}) fill(a, number, first);
  fill(b, 2, second);
  EXPECT_EQ(first.lookups, second.lookups);
  fill(other, 2, second);
  EXPECT_NE(first.lookups, second.lookups);
  fill(a, 3, second);
  EXPECT_NE(first.lookups, second.lookups);
}

// Random draws use integers only, so these values hold on every machine.
TEST(BatchStream, DrawsWhatItDrewBefore) {
  const Workload workload = small_workload();
  Batch batch;
  std::uint64_t training = 0, inference = 0;
  fill(BatchStream(workload, true, 1), 0, batch);
  for (const std::uint64_t row : batch.lookups) training = training * 31 + row;
  fill(BatchStream(workload, false, 1), 0, batch);
  for (const std::uint64_t row : batch.lookups) inference = inference * 31 + row;
  EXPECT_EQ(training, 12057461504572219294u);
  EXPECT_EQ(inference, 198611020219221124u);
}

// The most popular row of a table takes 1 / zeta(1.15) of the draws, and those that wrap around.
TEST(BatchStream, PopularRowsComeOften) {
  Workload workload = small_workload();
  workload.rows = {1000000};
  workload.lookups = {1};
  workload.batch = 200000;
  Batch batch;
  fill(BatchStream(workload, true, 1), 0, batch);
  const std::uint32_t most = *std::max_element(batch.counts.begin(), batch.counts.end());
  EXPECT_NEAR(most, 200000 / 7.25, 1000);
  workload.training_zipf_thousandths = 1000;  // all rows are equally likely: 181269 different ones on average
  fill(BatchStream(workload, true, 1), 0, batch);
  EXPECT_NEAR(static_cast<double>(batch.rows.size()), 1e6 * (1 - std::exp(-0.2)), 1500);
}

}  // namespace
}  // namespace uvmsim::recommend
