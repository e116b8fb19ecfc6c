// SPDX-License-Identifier: Apache-2.0
// The content of one page, read from its inputs, and the page itself: one HTML file that contains its style, scripts
// and data, and whose content security policy forbids a browser to load anything.
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
  std::string file;    // the file that was read, within a folder: "results.sqlite"
  std::string sha256;  // of that file
  std::string spec;    // for a sweep: its file as JSON
  // The state of an incomplete sweep: "finished 3 of 5 points, 1 failed".
  std::string incomplete;
};

struct Document {
  std::vector<DocumentInput> inputs;
  std::vector<ReportPoint> points;
  SeriesTable series;  // of `points`
  std::vector<ProfileExcerpt> profiles;
  std::optional<nlohmann::ordered_json> league;  // league.json, checked
  std::vector<std::string> missing;              // points of sweeps without a result, with the reason
};

// Each path is a file of `uvmsim run --json` or `--profile`, the folder of a sweep or a league, a sweep's database or
// league.json. A sweep with missing points is refused unless `allow_partial`; a league reports missing points itself.
// Throws InputError naming the file for any other file, too many profiles, and two leagues.
Document read_document(const std::vector<std::string>& paths, bool allow_partial);

// `command` is the command that makes the page again. The same document gives the same bytes.
std::string page_of(const Document& document, const std::string& command);

}  // namespace uvmsim::html
