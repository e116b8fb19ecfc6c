// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/quiet.h"

#include <gtest/gtest.h>

namespace uvmsim::validate {
namespace {

// Returns batches one after the other; each migrates `lead` after it begins and ends 20 us later.
Observation with_leads(const std::vector<std::int64_t>& leads_us, bool migrate) {
  Observation seen;
  std::int64_t now = 0;
  for (const std::int64_t lead : leads_us) {
    const std::int64_t replay = now + (lead + (migrate ? 20 : 0)) * 1000;
    seen.batches.push_back({now, replay, 0, 0});
    if (migrate) {
      ObservedTransfer transfer;
      transfer.start_ns = now + lead * 1000;
      transfer.end_ns = replay - 1;
      seen.transfers.push_back(transfer);
    }
    now = replay + 200;
  }
  seen.kernel_ns = now;
  return seen;
}

std::int64_t removed_us(const Observation& seen) { return (seen.kernel_ns - quiet_kernel_ns(seen)) / 1000; }

TEST(Quiet, ReplacesStallsByTheUsualLead) {
  EXPECT_EQ(removed_us(with_leads({400, 12, 13, 350, 14, 12, 210, 13}, true)), 350 - 13 + 210 - 13);
  EXPECT_EQ(removed_us(with_leads({400, 12, 13, 350, 14, 12, 210, 13}, false)), 350 - 13 + 210 - 13);
}

TEST(Quiet, LeavesTheFirstBatchAndSlowWorkAlone) {
  EXPECT_EQ(removed_us(with_leads({600, 12, 13, 14}, true)), 0);
  EXPECT_EQ(removed_us(with_leads({100, 250, 300, 340, 280}, true)), 0) << "everything is slow: no stall";
  EXPECT_EQ(removed_us(with_leads({300, 295}, false)), 0) << "one batch is no pattern";
  EXPECT_EQ(removed_us(with_leads({300, 30, 31, 119}, true)), 0);
  EXPECT_EQ(removed_us(with_leads({}, true)), 0);
}

TEST(Quiet, SurvivesEventsInAnyOrder) {
  Observation seen = with_leads({10, 10, 400, 10}, true);
  seen.batches[0].end_ns = -5;
  seen.kernel_ns = 1;
  EXPECT_GE(quiet_kernel_ns(seen), 0);
}

}  // namespace
}  // namespace uvmsim::validate
