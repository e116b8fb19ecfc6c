// SPDX-License-Identifier: Apache-2.0
// Results as `uvmsim run --json` writes them, made by hand: one line that a test can change.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/report/result_json.h"

namespace uvmsim::compare {

// Returns a run at OSF 1.5 with a settled iteration. The real writer writes it; only the numbers are invented.
inline nlohmann::ordered_json example_result() {
  report::RunRecord record;
  record.trace = {"gpt2.uvmt", 1234, std::string(64, 'a')};
  record.system_json = R"({"name":"h200","costs":{"batch_ns":6000,"replay_ns":100},"gpus":[{"sm_count":132}]})";
  record.options.system.name = "h200";
  record.options.osf_thousandths = 1500;
  record.policies = {{"prefetch", "tree", "D0", {{"threshold", "51"}, {"min_faults", "1"}}},
                     {"evict", "lrm", "D0", {}}};
  record.result.total = Nanoseconds(3000);
  record.result.ideal = Nanoseconds(2000);
  record.result.footprint_bytes = 6u << 20;
  record.result.capacity_bytes = 4u << 20;
  record.result.counters.fault_batches = 7;
  record.result.counters.evictions = 4;
  record.result.counters.htod_fault_bytes = 100;
  record.result.counters.htod_prefetch_bytes = 20;
  record.result.counters.htod_user_bytes = 3;
  IterationResult iteration;
  iteration.begin = Nanoseconds(1000);
  iteration.end = Nanoseconds(1800);
  iteration.ideal = Nanoseconds(700);
  iteration.counters.fault_batches = 3;
  record.result.iterations.push_back(iteration);
  return nlohmann::ordered_json::parse(report::result_json(record));
}

// Returns the same run at another factor, with another number of evictions.
inline nlohmann::ordered_json example_at(std::uint64_t osf_thousandths, std::uint64_t evictions) {
  nlohmann::ordered_json result = example_result();
  result["limit"]["osf_thousandths"] = osf_thousandths;
  result["counters"]["evictions"] = evictions;
  return result;
}

inline nlohmann::ordered_json with_evictor(nlohmann::ordered_json result, const std::string& name) {
  result["policies"]["evict"]["name"] = name;
  return result;
}

}  // namespace uvmsim::compare
