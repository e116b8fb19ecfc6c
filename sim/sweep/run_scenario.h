// SPDX-License-Identifier: Apache-2.0
// Runs a scenario: all programs together, and each of them alone on the same server to compare with.
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
  // Absent when not asked for, and for a repeated program that did not come to the end of an iteration. A repeated one
  // runs as many iterations as it had done.
  std::optional<report::RunRecord> alone;
  std::vector<Nanoseconds> busiest_streams;  // by device, for ends_of(); of a repeated program empty
};

// What is compared: the settled iterations' mean, or the whole run of a program that marks none.
Nanoseconds compared_time(const report::RunRecord& record);
// Together over alone, in thousandths; 0 without `alone`.
std::uint64_t slowdown_thousandths(const ProgramOutcome& outcome);

// How fairly programs that run together are slowed down. None where a program has no `alone`.
struct Fairness {
  std::uint64_t unfairness_thousandths = 0;        // the largest slowdown over the smallest
  std::uint64_t weighted_speedup_thousandths = 0;  // the sum of alone over together; 1000 per program: none is slower
};
std::optional<Fairness> fairness(const std::vector<ProgramOutcome>& outcomes);

// When the programs that are not repeated have ended, and before when no policy and no schedule can end them: each
// needs its ideal time, and in time slices a GPU computes for one of them at a time.
struct Ends {
  Nanoseconds last{}, bound{};
};
Ends ends_of(const Scenario& scenario, const std::vector<ProgramOutcome>& outcomes);

struct ScenarioChoices {
  bool alone = true;
  // What a program of the run together has to tell its events, by its place in the scenario; null: not wanted.
  // May be empty.
  std::function<EventSink*(std::size_t program)> events;
  sweep::ReadProgress progress;
};

// One outcome per program, in their order. Throws InputError as simulate_server() and sweep::run_point() do.
std::vector<ProgramOutcome> run_scenario(const Scenario& scenario, sweep::Resolver& resolver,
                                         const ScenarioChoices& choices = {});

// "uvmsim.scenario/1": README.md. Ends in a newline.
std::string scenario_json(const Scenario& scenario, const std::vector<ProgramOutcome>& outcomes);

}  // namespace uvmsim::scenario
