// SPDX-License-Identifier: Apache-2.0
// The access pass, replayed with its own memory: what each launch touched, by thing (object or tensor).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tracer/merge/match.h"
#include "tracer/merge/resolve.h"
#include "tracer/merge/world.h"

namespace uvmtrace {

// The framework's operators that are running on each thread.
class OpenOperators {
 public:
  explicit OpenOperators(const PassLog& log);

  // Applies an event, given by position; call it in the log's order.
  void apply(std::size_t position);
  // Returns the inputs and outputs of the thread's innermost operator that names tensors, at their current places. The
  // operator's outputs are logged when it is done, so they are looked up in advance. Empty if there is no such
  // operator.
  std::vector<Slot> operands(std::uint32_t tid, const World& world) const;

 private:
  const PassLog& log_;
  std::map<std::size_t, std::size_t> outputs_of_;              // position of an operator -> position of its outputs
  std::map<std::uint32_t, std::vector<std::size_t>> running_;  // by thread: positions, innermost last
};

struct AccessPass {
  // Resolves the launches that `match` names. Also keeps the operands of launches that ran without instrumentation, and
  // of kernels whose accesses it may miss.
  AccessPass(const PassLog& log, const LaunchMatch& match, const std::function<bool(const std::string&)>& blind);

  World world;                           // after the last event
  std::vector<ThingIndex> made;          // by event
  std::vector<bool> kept;                // by thing: not freed before the cut
  std::vector<ResolvedLaunch> launches;  // by launch; empty for launches that were not matched
};

}  // namespace uvmtrace
