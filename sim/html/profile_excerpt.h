// SPDX-License-Identifier: Apache-2.0
// What a page shows of a profile (`uvmsim run --profile`, ../report/PROFILE.md): sums per kernel, layer and tensor of
// one iteration, the heat map, and a stretch of the timeline.
//
// Tables are cut to the rows that waited longest, and say how many rows and how much waiting is left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/html/points.h"

namespace uvmsim::html {

// A sum of waiting and who it belongs to, the longest first.
using Waiting = std::vector<std::pair<std::string, std::int64_t>>;

struct ProfileExcerpt {
  ReportPoint run;
  std::string about;  // "iteration 2" or "the whole run": what sums and tables are about
  std::int64_t kernel_ns = 0, compute_ns = 0, stall_ns = 0;  // summed over kernels
  std::uint64_t launches = 0;
  std::uint64_t loaded_pages = 0, reloaded_pages = 0;  // that came to the GPU; of them, after an eviction
  Waiting kernels, layers, lifetimes;
  std::string json;  // for the page's script
};

// Throws InputError for what is no profile.
ProfileExcerpt read_profile(const std::string& path);

// Whether the file, an SQLite database, looks like one.
bool is_profile(const std::string& path);

}  // namespace uvmsim::html
