// SPDX-License-Identifier: Apache-2.0
// Decides whether a launch's phases are worth keeping. sim/engine/README.md describes the replay of phases.
#pragma once

#include <cstdint>

#include "tracer/merge/resolve.h"

namespace uvmtrace {

// The simulator replays phases instead of the launch's accesses, so together they must cover its grid and all touched
// memory: blocks without a phase get phases without accesses, accesses without a phase go to the first phase.
void complete_phases(std::uint64_t blocks, ResolvedLaunch& launch);

// Returns whether in every phase, for everything read and everything written, block b of G touches the share [b/G,
// (b+1)/G), to within a 64 KB page: this equals the replay without phases (Distribution::kBlockLinear).
bool says_no_more_than_linear(std::uint64_t blocks, const World& world, const ResolvedLaunch& launch);

}  // namespace uvmtrace
