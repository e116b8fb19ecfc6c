// SPDX-License-Identifier: Apache-2.0
// The policies that run beside the chosen ones, to know the fastest: --best-of.
#pragma once

#include <vector>

#include "sim/cli/run_options.h"
#include "sim/policy/registry.h"
#include "sim/report/run_record.h"
#include "sim/sweep/point.h"

namespace uvmsim::cli {

// One point per pair of policies that --best-of names, each the given one but for its policies. `all` means those of
// the registry, with default parameters.
std::vector<sweep::Point> rivals_of(const RunArguments& run, const sweep::Point& point,
                                    const policy::Registry& registry);

// The best known is now this run, if it is faster than what was.
void note_known(report::RunBounds& bounds, const report::RunRecord& run);

}  // namespace uvmsim::cli
