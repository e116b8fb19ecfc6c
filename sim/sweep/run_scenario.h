// SPDX-License-Identifier: Apache-2.0
// Runs a scenario: all programs together, and for comparison each of them alone on the same server.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/run_record.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/scenario.h"

namespace uvmsim::scenario {

struct ProgramOutcome {
  report::RunRecord together;
  // Absent when not asked for, and for a repeated program that did not complete an iteration. A repeated program runs
  // alone for as many iterations as it completed together.
  std::optional<report::RunRecord> alone;
  std::vector<Nanoseconds> busiest_streams;  // by device, for ends_of(); empty for a repeated program
};

// Returns the time that is compared: the settled iterations' mean, or the time of the whole run if the program marks no
// iterations.
Nanoseconds compared_time(const report::RunRecord& record);
// The time together over the time alone, in thousandths; 0 without `alone`.
std::uint64_t slowdown_thousandths(const ProgramOutcome& outcome);

// Measures of how evenly programs that run together are slowed down. Absent if a program has no `alone`.
struct Fairness {
  std::uint64_t unfairness_thousandths = 0;        // the largest slowdown over the smallest
  std::uint64_t weighted_speedup_thousandths = 0;  // the sum of alone over together; 1000 per program: no slowdown
};
std::optional<Fairness> fairness(const std::vector<ProgramOutcome>& outcomes);

// `last`: the time when all programs that are not repeated have ended. `bound`: a lower bound on this time for any
// policy and schedule: each program needs its ideal time, and with time slices a GPU computes for one program at a
// time.
struct Ends {
  Nanoseconds last{}, bound{};
};
Ends ends_of(const Scenario& scenario, const std::vector<ProgramOutcome>& outcomes);

struct ScenarioChoices {
  bool alone = true;
  // Returns the sink for the events of the program at this place in the scenario; null: its events are not wanted. May
  // be empty.
  std::function<EventSink*(std::size_t program)> events;
  sweep::ReadProgress progress;
};

// Returns one outcome per program, in their order. Throws InputError as simulate_server() and sweep::run_point() do.
std::vector<ProgramOutcome> run_scenario(const Scenario& scenario, sweep::Resolver& resolver,
                                         const ScenarioChoices& choices = {});

// Writes the outcomes as "uvmsim.scenario/1" (README.md), with a newline at the end.
std::string scenario_json(const Scenario& scenario, const std::vector<ProgramOutcome>& outcomes);

}  // namespace uvmsim::scenario
