// SPDX-License-Identifier: Apache-2.0
// Everything that one page shows, read from its inputs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/html/points.h"
#include "sim/html/profile_excerpt.h"
#include "sim/html/series.h"

namespace uvmsim::html {

struct DocumentInput {
  std::string kind;    // "results", "sweep", "league", "profile"
  std::string name;    // without its folder
  std::string file;    // what was read, within a folder: "results.sqlite"
  std::string sha256;  // of that file
  std::string spec;    // of a sweep: its file, JSON
  // A sweep that is not whole: "finished 3 of 5 points, 1 failed".
  std::string incomplete;
};

struct Document {
  std::vector<DocumentInput> inputs;
  std::vector<ReportPoint> points;
  SeriesTable series;  // of them
  std::vector<ProfileExcerpt> profiles;
  std::optional<nlohmann::ordered_json> league;  // league.json, checked
  std::vector<std::string> missing;              // points of sweeps without a result, and why
};

}  // namespace uvmsim::html
