// SPDX-License-Identifier: Apache-2.0
// The participants of a league.
#pragma once

#include <string>
#include <vector>

#include "sim/policy/policy.h"
#include "sim/sweep/point.h"
#include "sim/sweep/resolve.h"

namespace uvmsim::league {

// Names the differences of a point's policies from the driver's: "evict lru", "prefetch none + evict
// lru:granularity=64k"; "driver" if there are none.
std::string entrant_name(const sweep::Point& point);

// Returns whether one of its policies comes from a plug-in.
bool is_from_plugin(const sweep::Point& point);

// Returns the points of every program and limit of `points`, contest after contest and with lower bounds: the driver's
// policies; the combinations that `points` name, or, if these name only the driver's policies, every built-in (those of
// `route` on servers with several GPUs); and every policy of the plug-ins. A policy that no combination names is
// combined with the driver's in the other slots. An entrant may occur twice. Loads the plug-ins. Throws InputError as
// Resolver does.
std::vector<sweep::Point> league_points(const std::vector<sweep::Point>& points, sweep::Resolver& resolver);

}  // namespace uvmsim::league
