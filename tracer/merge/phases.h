// SPDX-License-Identifier: Apache-2.0
// What a launch's phases say, and whether it is worth keeping. sim/engine/README.md says how phases are replayed.
#pragma once

#include <cstdint>

#include "tracer/merge/resolve.h"

namespace uvmtrace {

// The simulator replays phases instead of the launch's accesses, so together they must cover its grid and all that it
// touched: blocks of no phase get phases without accesses, accesses of no phase go to the first phase.
void complete_phases(std::uint64_t blocks, ResolvedLaunch& launch);

// Whether in every phase, of everything read and of everything written, block b of G touches the share [b/G, (b+1)/G),
// give or take a 64 KB page: what is replayed without phases (Distribution::kBlockLinear).
bool says_no_more_than_linear(std::uint64_t blocks, const World& world, const ResolvedLaunch& launch);

}  // namespace uvmtrace
