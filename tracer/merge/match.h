// SPDX-License-Identifier: Apache-2.0
// Matches launches and memory of the access pass with those of the timing pass. Addresses are not used, because the two
// runs of the program have different ones.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tracer/merge/event.h"
#include "tracer/merge/prologue.h"
#include "tracer/merge/world.h"

namespace uvmtrace {

inline constexpr std::size_t kUnmatched = std::numeric_limits<std::size_t>::max();

// The part of the logs that was left out so that the rest matches.
struct Prologue {
  std::uint64_t timing_launches = 0, access_launches = 0;
  std::uint64_t matched = 0, compared = 0;  // counted with the prologue
  std::string divergence;                   // the first difference: one line with both sides
};

struct LaunchMatch {
  std::vector<std::size_t> access_of;  // by launch of the timing log: the launch of the access log, or kUnmatched
  std::uint64_t matched = 0;
  // The number of launches that could have been matched: of the pass with more launches. Launches after the last match
  // on a stream do not count if the other log was cut off.
  std::uint64_t compared = 0;
  std::string divergence;  // the first difference after the cut: one line with both sides; empty if there is none
  Cut cut;                 // the fields above do not count launches before it
  std::optional<Prologue> prologue;

  bool at_least(std::uint32_t thousandths) const;
};

// Matches per stream, by name, grid and block. If fewer than `thousandths` match, only launches after the first point
// from which on enough match are used (prologue.h), if there is such a point and `drop_prologue` allows it.
LaunchMatch match_launches(const PassLog& timing, const PassLog& access, std::uint32_t thousandths, bool drop_prologue);

// Matches by order and size, separately for tensors, pinned and other memory, with the matched launches as fixed
// points. Returns for each thing of the access pass the thing of the timing pass, or kNothing. `made` has by event the
// thing that it created, `kept` by thing whether it takes part.
std::vector<ThingIndex> match_things(const PassLog& timing, const World& timing_world,
                                     const std::vector<ThingIndex>& timing_made, const std::vector<bool>& timing_kept,
                                     const PassLog& access, const World& access_world,
                                     const std::vector<ThingIndex>& access_made, const std::vector<bool>& access_kept,
                                     const LaunchMatch& launches);

}  // namespace uvmtrace
