// SPDX-License-Identifier: Apache-2.0
// The replay of a campaign: the published results of each step against the simulated ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/system.h"
#include "sim/validate/campaign.h"
#include "sim/validate/pair.h"

namespace uvmsim::validate {

struct CampaignStep {
  std::string name;
  Figures measured, simulated;
  bool lost_records = false;

  // Returns the pair where both are known.
  std::optional<Pair> pair(std::size_t figure) const;
  // Fault bytes in per thousand bytes in.
  std::optional<Pair> fault_share_permille() const;
};

struct CampaignRun {
  std::vector<CampaignStep> steps;
  CampaignStep total;
  std::uint64_t processes = 1;                              // steps and total are the mean over them
  std::uint64_t footprint_blocks = 0, capacity_blocks = 0;  // of 2 MB
  std::optional<Pair> steady_ns;                            // median of the steady steps
  std::optional<Pair> ratio_permille;  // time of a block of the arrays in a steady step, per thousand of a cold one's
  std::optional<Pair> finish_ns;       // from the start to the end of all processes
};

// Throws as simulate().
CampaignRun replay_campaign(const std::string& name, const Campaign& campaign, const config::SystemConfig& system);

// Adds the ratio, once the run with the cold first step is known (for most campaigns their own).
void add_ratio(CampaignRun& run, const CampaignRun& cold);

// Returns the checks outside the limits; each check once, with its largest error over the steps.
std::vector<Failure> judge_campaign(const Campaign& campaign, const CampaignRun& run);

}  // namespace uvmsim::validate
