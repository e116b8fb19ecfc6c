// SPDX-License-Identifier: Apache-2.0
// From the command line of `uvmsim run` to points.
#pragma once

#include <vector>

#include "sim/cli/run_options.h"
#include "sim/sweep/point.h"

namespace uvmsim::cli {

// What all runs of one command line share, without a limit.
sweep::Point shared_point(const RunArguments& run);

// One point per limit, in the order given, and seed; without any limit, the one without. The seed varies fastest.
std::vector<sweep::Point> points_of(const RunArguments& run);

}  // namespace uvmsim::cli
