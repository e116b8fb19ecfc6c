// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/run_outputs.h"

#include <fmt/format.h>

#include "sim/report/result_csv.h"
#include "sim/report/result_json.h"

namespace uvmsim::cli {

RunOutputs::RunOutputs(const RunArguments& run) : json_to_stdout_(run.json == "-"), csv_to_stdout_(run.csv == "-") {
  if (run.json && !json_to_stdout_) json_.emplace(*run.json);
  if (run.csv && !csv_to_stdout_) csv_.emplace(*run.csv);
  std::vector<EventSink*> sinks;
  if (run.timeline) {
    timeline_ = std::make_unique<report::Timeline>(*run.timeline, run.timeline_window);
    sinks.push_back(timeline_.get());
  }
  if (run.profile) {
    profile_ = std::make_unique<report::Profile>(*run.profile, run.profile_grid);
    sinks.push_back(profile_.get());
  }
  if (!sinks.empty()) events_.emplace(std::move(sinks));
}

void RunOutputs::write(const std::vector<report::RunRecord>& records) {
  // Only what was asked for: a result of many iterations is long.
  if (csv_) csv_->write(report::result_csv_header());
  for (const auto& record : records) {
    if (json_) json_->write(report::result_json(record));
    if (csv_) csv_->write(report::result_csv_rows(record));
  }
  if (json_) json_->commit();
  if (csv_) csv_->commit();
  if (timeline_) timeline_->finish(&records.back());
  if (profile_) profile_->finish(records.back());
  if (csv_to_stdout_) fmt::print("{}", report::result_csv_header());
  for (const auto& record : records) {
    if (json_to_stdout_) fmt::print("{}", report::result_json(record));
    if (csv_to_stdout_) fmt::print("{}", report::result_csv_rows(record));
  }
}

}  // namespace uvmsim::cli
