// The access pass, replayed against its own memory: what each launch touched, by thing.
#pragma once

#include <map>
#include <vector>

#include "tracer/merge/match.h"
#include "tracer/merge/resolve.h"
#include "tracer/merge/world.h"

namespace uvmtrace {

// The operators that are open on each thread.
class OpenOperators {
 public:
  void apply(const Event& event, const World& world);
  // What the innermost one of the thread touches; null when none is open or it names no tensor.
  const std::vector<Slot>* operands(std::uint32_t tid) const;

 private:
  std::map<std::uint32_t, std::vector<std::vector<Slot>>> stacks_;
};

struct AccessPass {
  // Resolves the launches that `match` names.
  AccessPass(const PassLog& log, const LaunchMatch& match);

  World world;                           // after the last event
  std::vector<ThingIndex> made;          // by event
  std::vector<ResolvedLaunch> launches;  // by launch; empty ones where nothing was matched
};

}  // namespace uvmtrace
