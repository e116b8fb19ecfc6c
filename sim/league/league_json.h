// SPDX-License-Identifier: Apache-2.0
// A league as one JSON object, schema "uvmsim.league/2" (README.md lists its keys).
#pragma once

#include <string>

#include "sim/league/league.h"

namespace uvmsim::league {

inline constexpr const char* kLeagueSchema = "uvmsim.league/2";

// Ends in a newline. Integers only, keys in a fixed order.
std::string league_json(const League& league);

}  // namespace uvmsim::league
