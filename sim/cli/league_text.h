// SPDX-License-Identifier: Apache-2.0
// A league as text for people.
#pragma once

#include <string>

#include "sim/league/league.h"

namespace uvmsim::cli {

// A table per contest, then the overall ranking if there are several. Lines of plug-ins begin with '>'.
std::string league_text(const league::League& league);

}  // namespace uvmsim::cli
