// SPDX-License-Identifier: Apache-2.0
// Words that every form of a league shares.
#pragma once

#include "sim/league/league.h"

namespace uvmsim::league {

// How the overall ranking is made.
inline constexpr const char* kRule =
    "geometric mean of the time over that under the driver's own policies, over all programs and limits; times of "
    "settled "
    "iterations where a number of iterations was asked for, else of whole runs";

constexpr const char* status_name(Standing::Status status) {
  constexpr const char* kNames[] = {"finished", "failed", "missing"};
  return kNames[static_cast<unsigned>(status)];
}

}  // namespace uvmsim::league
