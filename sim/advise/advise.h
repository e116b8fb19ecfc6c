// SPDX-License-Identifier: Apache-2.0
// Finds changes to a program that is slow under unified memory. Changes are tried one by one, then on top of the best
// one; each trial is a run of the simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/advise/changes.h"
#include "sim/advise/objects.h"
#include "sim/report/run_record.h"

namespace uvmsim::advise {

// within the uncertainty of the system (config/calibration.h)
enum class Machine : std::uint8_t { kThis, kFastest, kSlowest };

// A run of the program with some changes.
struct Trial {
  std::vector<const Change*> changes;
  Machine machine = Machine::kThis;
};
struct Measured {
  std::uint64_t time_ns = 0;
  bool is_settled = true;
};
// Runs the trials at the same time; `step` names them in the progress.
using Measure = std::function<std::vector<Measured>(const std::string& step, const std::vector<Trial>& trials)>;

enum class Confidence : std::uint8_t { kHigh, kMedium, kLow };
const char* confidence_text(Confidence confidence);

// A recommended change, on top of those before it.
struct Step {
  std::vector<const Change*> changes;  // one change; two if neither helps without the other
  Measured with;                       // with all steps up to this one
  std::uint64_t alone_ns = 0;          // with this change alone; 0 if the step has two changes
  // The part of the previous time that this step saves, in thousandths: on this machine, on the fastest and on the
  // slowest.
  std::int64_t saves_thousandths = 0, fastest_thousandths = 0, slowest_thousandths = 0;
  Confidence confidence = Confidence::kLow;
};

struct Tried {
  const Change* change = nullptr;
  Measured alone;
};

struct Answer {
  report::RunRecord run;                               // the run without changes, with its baseline and bounds
  std::shared_ptr<const std::vector<Change>> changes;  // all changes that were tried; the members below point into it
  std::vector<Step> steps;                             // in the order in which to make them; empty: no change helps
  std::vector<Tried> tried;                            // each change alone, the fastest first
  std::uint64_t runs = 0;                              // number of runs of the simulator
  std::uint64_t knowing_ns = 0;                        // time with an evictor that knows the future
  std::string varied;                                  // the values in which the fastest and the slowest machine differ

  // Returns whether the run takes no longer than with everything resident, so that no change can save time.
  bool waits_for_nothing() const;
  std::uint64_t best_ns() const;
  std::vector<trace::HintRule> rules() const;  // the rules of all steps
  std::string layout() const;                  // the layout of the steps; empty: as given
};

// `run` is the run of the program without changes; `memory` includes the waits. Never recommends a change that makes
// the program slower.
Answer advise(report::RunRecord run, const Memory& memory, const std::string& layout, const Measure& measure);

// Formats a table for people, with the lines of code to add.
std::string advise_text(const Answer& answer);
// Formats schema "uvmsim.advise/1" (README.md), one line.
std::string advise_json(const Answer& answer);

}  // namespace uvmsim::advise
