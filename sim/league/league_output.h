// SPDX-License-Identifier: Apache-2.0
// A league: as tables for people, as JSON and as CSV.
#pragma once

#include <string>

#include "sim/league/league.h"

namespace uvmsim::league {

inline constexpr const char* kLeagueSchema = "uvmsim.league/2";

// A table per contest, then the overall ranking if there are several. Lines of plug-ins begin with '>'.
std::string league_text(const League& league);

// One object, schema "uvmsim.league/2" (README.md lists its keys); ends in a newline. Integers only, keys in a fixed
// order.
std::string league_json(const League& league);

// A header, a row per entrant and contest (scope "contest"), then one per entrant (scope "overall"): the numbers of the
// JSON, means rounded to thousandths, "yes" as 1; absent is empty. RFC 4180.
std::string league_csv(const League& league);

// How the overall ranking is made.
inline constexpr const char* kRule =
    "geometric mean of the time over that under the driver's own policies, over all programs and limits; times of "
    "settled iterations where a number of iterations was asked for, else of whole runs";

constexpr const char* status_name(Standing::Status status) {
  constexpr const char* kNames[] = {"finished", "failed", "missing"};
  return kNames[static_cast<unsigned>(status)];
}

}  // namespace uvmsim::league
