// SPDX-License-Identifier: Apache-2.0
// Results of a study as files.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/formats/fields.h"
#include "sim/recommend/study.h"

namespace uvmsim::recommend {

std::string study_json(const Study& study) {
  using Json = nlohmann::ordered_json;
  const Workload& workload = study.workload;
  const ProgramOptions& options = study.options;
  Json json = {{"schema", "uvmsim.recommend/1"},
               {"workload", workload.name},
               {"system", study.system.name},
               {"training", options.training},
               {"tables", workload.rows.size()},
               {"table_rows", workload.total_rows()},
               {"row_bytes", workload.row_bytes()},
               {"table_bytes", workload.bytes()},
               {"batch", workload.batch},
               {"steps", options.steps},
               {"warm_up", options.warm_up},
               {"gpu_bytes", options.gpu_bytes},
               {"load_factor_thousandths", options.load_factor_thousandths},
               {"host_cache_bytes", options.host_cache_bytes},
               {"seed", options.seed},
               {"gpus", options.gpus},
               {"sharding", options.sharding->name},
               {"optimizer", options.optimizer->name}};
  Json& shares = json["shares"] = Json::array();
  for (const GpuShare& gpu : gpu_shares(workload, options)) {
    shares.push_back({{"tables", gpu.share.tables},
                      {"rows", gpu.share.rows},
                      {"table_bytes", gpu.table_bytes},
                      {"state_bytes", gpu.state_bytes},
                      {"osf_thousandths", gpu.osf_thousandths}});
  }
  Json& placements = json["placements"] = Json::array();
  for (const PlacementResult& result : study.results) {
    Json entry = {{"placement", result.placement->name}, {"refused", result.refused}};
    if (result.refused.empty()) {
      for (const auto& [name, value] : result.numbers()) entry[name] = value;
      Json& gpus = entry["gpus"] = Json::array();
      for (const RowStatistics& gpu : result.gpus) {
        gpus.push_back({{"lookups", gpu.lookups},
                        {"unique_rows", gpu.unique},
                        {"device_bytes", gpu.device_bytes},
                        {"remote_read_bytes", gpu.host_read_bytes},
                        {"remote_written_bytes", gpu.host_written_bytes}});
      }
    }
    placements.push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string study_csv(const Study& study) {
  std::string out = "workload,system,placement,refused";
  PlacementResult empty;
  empty.placement = &placements().front();
  for (const auto& [name, value] : empty.numbers()) out += "," + name;
  out += "\n";
  for (const PlacementResult& result : study.results) {
    out += fmt::format("{},{},{},{}", csv_field(study.workload.name), csv_field(study.system.name),
                       result.placement->name, csv_field(result.refused));
    for (const auto& [name, value] : result.numbers()) out += result.refused.empty() ? fmt::format(",{}", value) : ",";
    out += "\n";
  }
  return out;
}

}  // namespace uvmsim::recommend
