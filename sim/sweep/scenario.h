// SPDX-License-Identifier: Apache-2.0
// A scenario as its user wrote it: several programs at once on one server. configs/scenario.schema.json describes the
// file to editors, SCENARIO.md to readers.
#pragma once

#include <string>
#include <vector>

#include "sim/common/units.h"
#include "sim/driver/harvest_choice.h"
#include "sim/engine/simulation.h"
#include "sim/formats/json_value.h"
#include "sim/sweep/axes.h"
#include "sim/sweep/point.h"

namespace uvmsim::scenario {

struct ScenarioProgram {
  std::string name;
  sweep::Point point;          // its trace, limit and layout, and the settings that all programs share
  std::vector<unsigned> gpus;  // GPUs of the server, by device of the trace
  Nanoseconds start{};
  bool repeat = false;  // repeats its settled iteration until every program without this flag has ended
};

struct Scenario {
  std::string file;  // as the user named it
  std::string description;
  HarvestChoice harvest;
  GpuSharing sharing = GpuSharing::kTimeSlices;
  // The limit of GPUs that several programs use: relative to the sum of their footprints, or in bytes. If neither is
  // set, it is the GPU's own memory.
  sweep::Limit shared_limit;
  bool schedules = false;  // the file names a schedule policy
  std::vector<ScenarioProgram> programs;
};

// Names as in the file; the list is in the order of the enum.
std::string sharing_name(GpuSharing sharing);
std::vector<std::string> sharing_names();

nlohmann::ordered_json harvest_json(const HarvestChoice& choice);

// Checks form and values. Names of systems, layouts and policies are looked up when points are resolved, GPUs are
// looked up when the programs run. Throws InputError, one line: the file, the JSON pointer of the key, what is allowed.
Scenario read_scenario(const std::string& path);
// Reads the content of a file; relative paths are relative to the folder of its origin.
Scenario read_scenario(const JsonValue& top);

// The JSON schema of scenario files: configs/scenario.schema.json. Ends in a newline.
std::string scenario_schema();

}  // namespace uvmsim::scenario
