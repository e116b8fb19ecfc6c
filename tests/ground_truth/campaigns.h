// SPDX-License-Identifier: Apache-2.0
// The shipped campaigns: programs that others ran beyond GPU memory.
#pragma once

#include <vector>

#include "sim/validate/experiment.h"

namespace uvmsim::ground_truth {

struct CampaignFile {
  const char* name;    // in data/
  const char* system;  // the system that it was measured on
};
inline constexpr CampaignFile kCampaignFiles[] = {
    {"oversubscribed_rtx5070ti.jsonl", "rtx5070ti-pcie5"},
    {"oversubscribed_rtx4080.jsonl", "rtx4080-pcie4"},
    {"oversubscribed_gtx1080ti.jsonl", "gtx1080ti-pcie3"},
    {"oversubscribed_rtx5090.jsonl", "rtx5090-pcie5"},
    {"oversubscribed_a30.jsonl", "a30-pcie4"},
    {"oversubscribed_rtx3090.jsonl", "rtx3090-pcie4"},
    {"oversubscribed_v100.jsonl", "v100-pcie-16g"},
};

// Returns the campaigns of all files.
std::vector<validate::Experiment> campaigns();

}  // namespace uvmsim::ground_truth
