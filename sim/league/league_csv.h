// SPDX-License-Identifier: Apache-2.0
// A league as CSV: a row per entrant and contest (scope "contest"), then one per entrant (scope "overall").
#pragma once

#include <string>

#include "sim/league/league.h"

namespace uvmsim::league {

// With a header; RFC 4180. Integers and texts; absent is empty.
std::string league_csv(const League& league);

}  // namespace uvmsim::league
