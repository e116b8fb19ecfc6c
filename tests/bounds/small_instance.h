// SPDX-License-Identifier: Apache-2.0
// Small programs as sets of pages, for searches through all possible actions of a machine.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "sim/bounds/program.h"
#include "sim/bounds/steps.h"
#include "sim/common/random.h"
#include "sim/config/system.h"

namespace uvmsim {

using PageSet = std::uint32_t;  // bit per page

struct SmallStep {
  bounds::Action action = bounds::Action::kUse;
  PageSet pages = 0;
  std::int64_t compute_ns = 0;  // kUse
};
using SmallProgram = std::vector<SmallStep>;

inline unsigned size_of(PageSet set) { return static_cast<unsigned>(std::popcount(set)); }

// One stream; the host waits for it before it touches or frees anything.
inline bounds::Program to_program(const SmallProgram& steps) {
  bounds::Program program;
  program.gpus = {0};
  for (const SmallStep& step : steps) {
    bounds::Operation operation;
    operation.action = step.action;
    operation.on_host = step.action == bounds::Action::kHostTouch || step.action == bounds::Action::kFree;
    operation.after = program.operations.size();
    operation.record = program.operations.size() + 1;
    operation.first_run = program.runs.size();
    for (std::uint64_t page = 0; page < 32; ++page) {
      if ((step.pages >> page & 1) != 0) program.runs.push_back({page, page + 1});
    }
    operation.end_run = program.runs.size();
    program.operations.push_back(operation);
    using Kind = bounds::ClockCall::Kind;
    if (operation.on_host) {
      program.clock.push_back({Kind::kWaitAll, false, 0, 0, 0});
      program.clock.push_back({Kind::kHostOperation, false, 0, 0, 0});
    } else {
      program.clock.push_back({Kind::kEnqueue, true, 0, step.compute_ns, 0});
    }
  }
  return program;
}

// Returns the system without thrashing control, so that blocks which bounce between host and GPU are treated like
// others.
inline config::SystemConfig system_without_thrashing(config::SystemConfig system) {
  system.driver.thrashing_enable = false;
  return system;
}

inline PageSet random_set(Random& random, unsigned pages) {
  PageSet set = 0;
  while (set == 0) set = static_cast<PageSet>(random.below(std::uint64_t{1} << pages));
  return set;
}

}  // namespace uvmsim
