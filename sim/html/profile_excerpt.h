// SPDX-License-Identifier: Apache-2.0
// The part of a profile (`uvmsim run --profile`, ../report/PROFILE.md) that a page shows: sums per kernel, layer and
// tensor of one iteration, the heat map, and a section of the timeline.
//
// Tables are cut to the rows that waited longest, and state how many rows and how much waiting is left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/html/points.h"

namespace uvmsim::html {

// Sums of waiting by name, the longest first.
using Waiting = std::vector<std::pair<std::string, std::int64_t>>;

struct ProfileExcerpt {
  ReportPoint run;
  std::string about;  // "iteration 2" or "the whole run": the scope of sums and tables
  std::int64_t kernel_ns = 0, compute_ns = 0, stall_ns = 0;  // summed over kernels
  std::uint64_t launches = 0;
  std::uint64_t loaded_pages = 0, reloaded_pages = 0;  // pages that came to the GPU; those that came after an eviction
  Waiting kernels, layers, lifetimes;
  Waiting causes, memory;  // as `uvmsim why` has them
  std::string json;        // for the page's script
};

// Throws InputError if the file is not a profile.
ProfileExcerpt read_profile(const std::string& path);

// Returns whether the file, an SQLite database, looks like a profile.
bool is_profile(const std::string& path);

}  // namespace uvmsim::html
