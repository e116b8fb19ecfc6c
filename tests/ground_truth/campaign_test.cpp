// SPDX-License-Identifier: Apache-2.0
// Replays the shipped campaigns: published results of programs beyond GPU memory against the model. The longest are
// replayed in fewer steps than were measured, so that all of them take a minute; `uvmsim validate` replays them whole.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "sim/config/calibration.h"
#include "sim/config/load_system.h"
#include "sim/validate/validation.h"
#include "sim/validate/validation_report.h"
#include "tests/ground_truth/campaigns.h"
#include "tests/ground_truth/expect_as_listed.h"

namespace uvmsim::ground_truth {

void PrintTo(const CampaignFile& file, std::ostream* out) { *out << file.name; }

namespace {

validate::ExperimentFile read(const CampaignFile& file) {
  return validate::read_experiments(std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/" + file.name);
}

// Passes after the first repeat it.
void shorten_passes(validate::Campaign& campaign) {
  const std::uint64_t passes = std::exchange(campaign.passes, 1);
  for (auto& figure : campaign.published_total) {
    if (figure) *figure /= passes;
  }
  *campaign.steady->time_ns /= passes;
  campaign.finish_ns.reset();
}

// Steps beyond these repeat earlier ones. Sums over the whole run then cannot be compared, except for the CPU faults,
// which all come first.
void shorten(validate::Campaign& campaign) {
  if (campaign.program == validate::CampaignProgramKind::kLayerProducts) return shorten_passes(campaign);
  if (campaign.program == validate::CampaignProgramKind::kMemoryPasses) {
    campaign.steps = std::min<std::uint64_t>(campaign.steps, 2);
    campaign.published.resize(std::min<std::size_t>(campaign.published.size(), campaign.steps));
    return;
  }
  const std::uint64_t before = campaign.steps * campaign.rounds;
  const bool fits = campaign.published_total[validate::figure::kEvictedBytes].value_or(0) == 0;
  if (fits) return;
  if (campaign.program == validate::CampaignProgramKind::kSliceScans) campaign.rounds = 1;
  if (campaign.program == validate::CampaignProgramKind::kAccumulate) campaign.steps = 3;
  const std::uint64_t steps = campaign.steps * campaign.rounds;
  if (steps == before) return;
  campaign.published.resize(std::min<std::size_t>(campaign.published.size(), steps));
  validate::Figures kept;
  kept[validate::figure::kCpuFaults] = campaign.published_total[validate::figure::kCpuFaults];
  campaign.published_total = kept;
}

validate::Validation replay(const CampaignFile& file) {
  validate::ExperimentFile experiments = read(file);
  // P1_R3 tests the same with a larger array; the thrashing of mvt_1.50 takes minutes with the model's checks.
  std::erase_if(experiments.experiments,
                [](const auto& experiment) { return experiment.name == "P1_R2" || experiment.name == "mvt_1.50"; });
  for (validate::Experiment& experiment : experiments.experiments) shorten(*experiment.campaign);
  return validate::validate({experiments}, config::load_system(file.system));
}

class Campaigns : public ::testing::TestWithParam<CampaignFile> {};

TEST_P(Campaigns, AreWithinTheirLimitsOrListed) {
  const validate::Validation validation = replay(GetParam());
  fmt::print("{}\n", validate::validation_text(validation));
  expect_as_listed(validation);
  expect_table_in_readme(validate::validation_markdown(validation), GetParam().system);
}

INSTANTIATE_TEST_SUITE_P(Machines, Campaigns, ::testing::ValuesIn(kCampaignFiles), [](const auto& info) {
  std::string name = info.param.system;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// No cost of the A30 was fitted, so its times must lie within the range that is printed for such systems.
TEST(CarriedOverCosts, RangeHoldsTheTimesOfAMachineThatNothingWasFittedTo) {
  validate::ExperimentFile file = read({"oversubscribed_a30.jsonl", ""});
  std::erase_if(file.experiments,
                [](const auto& one) { return one.campaign->capacity_bytes.value_or(0) >= 20000000000; });
  ASSERT_EQ(file.experiments.size(), 4u);
  const auto times = [&](const std::vector<std::string>& settings) {
    config::SystemConfig system = config::load_system("a30-pcie4");
    config::apply_overrides(system, settings);
    return validate::validate({file}, system).comparisons;
  };
  const config::Corners corners = config::corners_of(config::Calibration::Kind::kCarriedOver);
  const auto fast = times(corners.fast), slow = times(corners.slow);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < fast.size(); ++i) {
    for (std::size_t step = 0; step < fast[i].campaign->steps.size(); ++step) {
      const auto least = fast[i].campaign->steps[step].pair(validate::figure::kTime);
      const auto most = slow[i].campaign->steps[step].pair(validate::figure::kTime);
      if (!least) continue;
      EXPECT_LE(least->simulated, least->measured) << fast[i].name << " step " << step;
      EXPECT_GE(most->simulated, most->measured) << fast[i].name << " step " << step;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 8u);
}

}  // namespace

std::vector<validate::Experiment> campaigns() {
  std::vector<validate::Experiment> all;
  for (const CampaignFile& file : kCampaignFiles) {
    for (validate::Experiment& experiment : read(file).experiments) all.push_back(std::move(experiment));
  }
  return all;
}

}  // namespace uvmsim::ground_truth
