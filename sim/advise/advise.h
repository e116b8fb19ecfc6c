// SPDX-License-Identifier: Apache-2.0
// Finds changes to a program that is slow under unified memory: changes are tried one by one, then on top of the best,
// each as a run of the simulator.
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

enum class Machine : std::uint8_t { kThis, kFastest, kSlowest };  // of the kind (config/calibration.h)

// A run of the program with some changes.
struct Trial {
  std::vector<const Change*> changes;
  Machine machine = Machine::kThis;
};
struct Measured {
  std::uint64_t time_ns = 0;
  bool is_settled = true;
};
// Runs them at the same time, as the step of that name.
using Measure = std::function<std::vector<Measured>(const std::string& step, const std::vector<Trial>& trials)>;

enum class Confidence : std::uint8_t { kHigh, kMedium, kLow };
const char* confidence_text(Confidence confidence);

// A change that is recommended, on top of those before it.
struct Step {
  std::vector<const Change*> changes;  // one; two where neither helps without the other
  Measured with;                       // all steps up to this one
  std::uint64_t alone_ns = 0;          // this one alone; 0: not of two
  // The part of the previous time that this step saves, in thousandths: here, on the fastest and on the slowest machine
  // of the kind.
  std::int64_t saves_thousandths = 0, fastest_thousandths = 0, slowest_thousandths = 0;
  Confidence confidence = Confidence::kLow;
};

struct Tried {
  const Change* change = nullptr;
  Measured alone;
};

struct Answer {
  report::RunRecord run;                               // without a change; with its baseline and bounds
  std::shared_ptr<const std::vector<Change>> changes;  // all that were tried; what follows points into it
  std::vector<Step> steps;                             // in the order to make them; empty: nothing helps
  std::vector<Tried> tried;                            // each alone, the fastest first
  std::uint64_t runs = 0;                              // of the simulator
  std::uint64_t knowing_ns = 0;                        // of an evictor that knows the future
  std::string varied;                                  // what the fastest and the slowest machine differ in

  // It takes what it takes with everything resident: there is nothing to save.
  bool waits_for_nothing() const;
  std::uint64_t best_ns() const;
  std::vector<trace::HintRule> rules() const;  // of all steps
  std::string layout() const;                  // of the steps; empty: as given
};

// `run`: of the program without changes; `memory` with its waits. Never recommends what takes longer than no change.
Answer advise(report::RunRecord run, const Memory& memory, const std::string& layout, const Measure& measure);

// A table for people, with the lines to add.
std::string advise_text(const Answer& answer);
// Schema "uvmsim.advise/1" (README.md), one line.
std::string advise_json(const Answer& answer);

}  // namespace uvmsim::advise
