// SPDX-License-Identifier: Apache-2.0
// Who takes part in a league.
#pragma once

#include <string>
#include <vector>

#include "sim/policy/policy.h"
#include "sim/sweep/point.h"
#include "sim/sweep/resolve.h"

namespace uvmsim::league {

// How a point's policies differ from the driver's: "evict lru", "prefetch none + evict lru:granularity=64k"; "driver"
// where they do not.
std::string entrant_name(const sweep::Point& point);

// One of its policies is no built-in.
bool is_from_plugin(const sweep::Point& point);

// For every program and limit of `points`, contest after contest and with lower bounds: the driver's policies; the
// combinations that `points` name, or, where they name no other policies than the driver's, every built-in (those of
// `route` where there are several GPUs); and every policy of the plug-ins. A policy that no combination names stands
// beside the driver's in the other slots. The same entrant may be there twice. Loads the plug-ins. Throws InputError as
// Resolver does.
std::vector<sweep::Point> league_points(const std::vector<sweep::Point>& points, sweep::Resolver& resolver);

}  // namespace uvmsim::league
