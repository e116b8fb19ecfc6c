// SPDX-License-Identifier: Apache-2.0
// Everything that one page shows, read from its inputs; and the page: one HTML file that needs nothing else. Its style,
// scripts and data are in it, and its policy lets a browser load nothing.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/html/points.h"
#include "sim/html/profile_excerpt.h"

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

// Each path is a file of `uvmsim run --json` or `--profile`, the folder of a sweep or a league, a sweep's database or
// league.json. A sweep with missing points is refused unless `allow_partial`; a league says itself what it lacks.
// Throws InputError that names the file, for one that is none of these, too many profiles, and two leagues.
Document read_document(const std::vector<std::string>& paths, bool allow_partial);

// `command`: what makes the page again. The same document gives the same bytes.
std::string page_of(const Document& document, const std::string& command);

}  // namespace uvmsim::html
