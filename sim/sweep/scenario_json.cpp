// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "sim/common/version.h"
#include "sim/report/result_json.h"
#include "sim/sweep/harvest_json.h"
#include "sim/sweep/run_scenario.h"

namespace uvmsim::scenario {
namespace {

using Json = nlohmann::ordered_json;

// As `uvmsim run` writes it; the system is that of the scenario.
Json result_of(const report::RunRecord& record) {
  Json result = Json::parse(report::result_json(record));
  result.erase("system");
  return result;
}

// How many of its evictions took memory from each program; null where it shares no GPU.
Json evicted_from(const Scenario& scenario, const RunResult& result) {
  if (result.evicted_from.empty()) return nullptr;
  Json out = Json::object();
  for (std::size_t i = 0; i < scenario.programs.size(); ++i) out[scenario.programs[i].name] = result.evicted_from[i];
  return out;
}

}  // namespace

std::string scenario_json(const Scenario& scenario, const std::vector<ProgramOutcome>& outcomes) {
  Json out = {{"schema", "uvmsim.scenario/1"},
              {"uvmsim_version", version()},
              {"description", scenario.description},
              {"harvest", harvest_json(scenario.harvest)},
              {"sharing", sharing_name(scenario.sharing)},
              {"programs", Json::array()}};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const ScenarioProgram& program = scenario.programs[i];
    const ProgramOutcome& outcome = outcomes[i];
    Json entry = {
        {"name", program.name},
        {"gpus", program.gpus},
        {"start_ns", program.start.value},
        {"repeat", program.repeat},
        {"compared", report::settled_iterations(outcome.together.result) ? "settled iterations" : "whole run"},
        {"together_ns", compared_time(outcome.together).value},
        {"alone_ns", outcome.alone ? Json(compared_time(*outcome.alone).value) : Json(nullptr)},
        {"slowdown_thousandths", outcome.alone ? Json(slowdown_thousandths(outcome)) : Json(nullptr)},
        {"evicted_from", evicted_from(scenario, outcome.together.result)},
        {"together", result_of(outcome.together)},
        {"alone", outcome.alone ? result_of(*outcome.alone) : Json(nullptr)}};
    out["programs"].push_back(std::move(entry));
  }
  const Ends ends = ends_of(scenario, outcomes);
  out["last_end_ns"] = ends.last.value;
  out["last_end_bound_ns"] = ends.bound.value;
  const std::optional<Fairness> fair = fairness(outcomes);
  out["unfairness_thousandths"] = fair ? Json(fair->unfairness_thousandths) : Json(nullptr);
  out["weighted_speedup_thousandths"] = fair ? Json(fair->weighted_speedup_thousandths) : Json(nullptr);
  out["system"] = Json::parse(outcomes.front().together.system_json);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim::scenario
