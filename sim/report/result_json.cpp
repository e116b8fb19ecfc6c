// SPDX-License-Identifier: Apache-2.0
#include "sim/report/result_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/common/version.h"

namespace uvmsim::report {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const InputFile& file) { return {{"file", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}}; }

template <class Map>
Json object_of(const Map& map) {
  return Json::object_t(map.begin(), map.end());
}

Json trace_json(const RunRecord& record) {
  Json out = to_json(record.trace);
  out["partial"] = record.partial;
  out["records"] = record.result.records;
  out["schema"] = fmt::format("{}.{}", record.header.major, record.header.minor);
  out["quantum_bytes"] = record.header.quantum_bytes;
  out["program"] = record.header.program;
  out["gpu"] = record.header.gpu;
  out["driver"] = record.header.driver;
  out["tool"] = record.header.tool;
  return out;
}

// Describes the choice of the capacity: by a factor, in bytes, or the GPU's own memory.
Json limit_json(const RunRecord& record) {
  const RunOptions& options = record.options;
  Json out = {{"by", "none"}, {"osf_thousandths", nullptr}, {"capacity_bytes", nullptr}, {"footprint_bytes", nullptr}};
  if (options.capacity_bytes != 0) {
    out["by"] = "capacity";
    out["capacity_bytes"] = options.capacity_bytes;
  } else if (options.limited) {
    out["by"] = "osf";
    out["osf_thousandths"] = options.osf_thousandths;
  }
  if (options.footprint_bytes != 0) out["footprint_bytes"] = options.footprint_bytes;
  if (record.touched_footprint_bytes) out["footprint"] = "touched";
  if (has_hypothetical_capacity(record)) out["hypothetical"] = true;
  return out;
}

Json policies_json(const RunRecord& record) {
  Json out = Json::object();
  for (const PolicyUsed& policy : record.policies) {
    out[policy.slot] = {{"name", policy.name},
                        {"information_class", policy.information_class},
                        {"parameters", object_of(policy.parameters)}};
  }
  return out;
}

Json counters_json(const Counters& counters) {
  Json out = Json::object();
  for_each_counter(counters, [&](const char* name, std::uint64_t value) { out[name] = value; });
  return out;
}

Json iteration_json(const IterationResult& iteration, bool quoted, bool is_settled) {
  return {{"index", iteration.index},          {"quoted", quoted},
          {"settled", quoted && is_settled},   {"begin_ns", iteration.begin.value},
          {"end_ns", iteration.end.value},     {"duration_ns", (iteration.end - iteration.begin).value},
          {"ideal_ns", iteration.ideal.value}, {"counters", counters_json(iteration.counters)}};
}

Json settled_json(const std::optional<SettledIterations>& settled) {
  if (!settled) return nullptr;
  return {{"index", settled->last_index},
          {"first_index", settled->first_index},
          {"count", settled->count},
          {"is_settled", settled->is_settled},
          {"learning_iterations", settled->is_settled ? Json(settled->learning) : Json(nullptr)},
          {"period", settled->is_settled ? Json(settled->period) : Json(nullptr)},
          {"exact", settled->exact},
          {"duration_ns", settled->duration.value},
          {"shortest_ns", settled->shortest.value},
          {"longest_ns", settled->longest.value},
          {"ideal_ns", settled->ideal.value},
          {"counters", counters_json(settled->counters)}};
}

Json time_scale_json(const TimeScaleResult& scale) {
  Json out = {{"rule", time_scale_rule_name(scale.rule)},
              {"recorded_on", scale.recorded_on.empty() ? Json(nullptr) : Json(scale.recorded_on)},
              {"factor_millionths", nullptr},
              {"classes", nullptr}};
  if (scale.rule == TimeScaleRule::kFixed) out["factor_millionths"] = scale.factor_millionths;
  if (scale.rule != TimeScaleRule::kRoofline) return out;
  out["classes"] = Json::object();
  for_each_time_scale_class(scale, [&](const char* name, std::uint64_t factor, const TimeScaleClass& c) {
    out["classes"][name] = {{"factor_millionths", factor},
                            {"kernels", c.kernels},
                            {"recorded_ns", c.recorded_ns},
                            {"scaled_ns", c.scaled_ns}};
  });
  return out;
}

Json unlimited_json(const RunRecord& record) {
  if (!record.unlimited) return nullptr;
  return {{"total_ns", record.unlimited->total.value},
          {"settled_ns", record.unlimited->settled.value},
          {"is_settled", record.unlimited->is_settled},
          {"capacity_bytes", record.unlimited->capacity_bytes},
          {"hypothetical", record.unlimited->hypothetical}};
}

Json uncertainty_json(const Uncertainty& range) {
  const bool compared = range.high_slowdown_thousandths != 0;
  return {{"calibration", range.calibration},
          {"varied", range.varied},
          {"low_ns", range.low_ns},
          {"high_ns", range.high_ns},
          {"low_slowdown_thousandths", compared ? Json(range.low_slowdown_thousandths) : Json(nullptr)},
          {"high_slowdown_thousandths", compared ? Json(range.high_slowdown_thousandths) : Json(nullptr)}};
}

// Lists the determinants of a run besides its policies.
Json program_json(const RunRecord& record, const char* schema) {
  Json out;
  out["schema"] = schema;
  out["uvmsim_version"] = version();
  out["uvmsim_commit"] = commit();
  out["model_version"] = record.provenance.model_version;
  out["command"] = record.provenance.command;
  out["trace"] = trace_json(record);
  out["layout"] = record.options.layout.name;
  out["layout_parameters"] = object_of(layout::resolve(record.options.layout).resolved());
  out["limit"] = limit_json(record);
  return out;
}

void add_memory(Json& out, const RunRecord& record) {
  const RunResult& result = record.result;
  out["footprint_bytes"] = result.footprint_bytes;
  if (record.touched_footprint_bytes) out["touched_footprint_bytes"] = *record.touched_footprint_bytes;
  if (result.arena_reached_bytes != 0) out["arena_reached_bytes"] = result.arena_reached_bytes;
  if (result.unmanaged_bytes != 0) out["unmanaged_bytes"] = result.unmanaged_bytes;
  out["capacity_bytes"] = result.capacity_bytes;
  out["osf_thousandths"] = effective_osf_thousandths(record);
  if (result.unmanaged_bytes != 0) {
    const OsfReadings osf = osf_readings(record);
    out["osf_before_loading_thousandths"] = osf.before_loading_thousandths;
    out["osf_managed_thousandths"] = osf.managed_thousandths;
  }
}

Json misfits_json(const RunResult& result) {
  return {{"kernels", result.misfits.size()},
          {"launches", result.misfit_launches()},
          {"launches_by_name", object_of(result.misfits)}};
}

Json bounds_of(const RunRecord& record) {
  const bounds::Bounds& bounds = record.bounds->bounds;
  const bounds::TimeBounds& time = bounds.time;
  Json hard = nullptr;
  if (bounds.hard_phase.last_record != 0) {
    hard = {{"first_record", bounds.hard_phase.first_record},
            {"last_record", bounds.hard_phase.last_record},
            {"htod_bytes", bounds.hard_phase.htod_bytes},
            {"dtoh_bytes", bounds.hard_phase.dtoh_bytes},
            {"link_ns", bounds.hard_phase.link_time.value}};
  }
  return {{"best_ns", time.best().value},
          {"compute_ns", time.compute.value},
          {"cold_ns", time.cold.value},
          {"min_ns", time.min.value},
          {"windowed_ns", time.windowed.value},
          {"write_backs_ns", time.write_backs.value},
          {"cold_htod_bytes", bounds.bytes.cold_htod},
          {"htod_bytes", bounds.bytes.htod},
          {"dtoh_bytes", bounds.bytes.dtoh},
          {"link_ns", bounds.bytes.link_time.value},
          {"hard_phase", std::move(hard)}};
}

Json choice_json(const PolicyChoice& choice) {
  return {{"name", choice.name}, {"parameters", object_of(choice.parameters)}};
}

Json best_known_json(const RunRecord& record) {
  const std::optional<BestKnown>& best = record.bounds->best_known;
  if (!best) return nullptr;
  return {{"prefetch", choice_json(best->prefetch)},
          {"evict", choice_json(best->evict)},
          {"total_ns", best->total.value},
          {"over_bound_thousandths", times_thousandths(best->total, record.bounds->bounds.time.best())}};
}

Json distance_json(const RunRecord& record) {
  const bounds::Distance& distance = record.bounds->distance;
  const std::optional<BestKnown>& best = record.bounds->best_known;
  const Nanoseconds total = record.result.total;
  return {{"over_bound_thousandths", times_thousandths(total, record.bounds->bounds.time.best())},
          {"over_best_known_thousandths", best ? Json(times_thousandths(total, best->total)) : Json(nullptr)},
          {"necessary_bytes_ns", distance.necessary_bytes.value},
          {"excess_bytes_ns", distance.excess_bytes.value},
          {"fault_latency_ns", distance.fault_latency.value},
          {"serialisation_ns", distance.serialisation.value},
          {"excess_htod_bytes", distance.excess_htod_bytes},
          {"excess_dtoh_bytes", distance.excess_dtoh_bytes}};
}

Json bounds_and_distance(const RunRecord& record) {
  Json out = bounds_of(record);
  out["best_known"] = best_known_json(record);
  out["distance"] = distance_json(record);
  return out;
}

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string result_json(const RunRecord& record) {
  const RunResult& result = record.result;
  Json out = program_json(record, kResultSchema);
  out["seed"] = record.options.seed;
  out["include_host_gaps"] = record.options.include_host_gaps;
  out["requested_iterations"] = record.options.iterations == 0 ? Json(nullptr) : Json(record.options.iterations);
  if (record.options.until_settled) out["until_settled"] = true;
  if (!record.not_repeated.empty()) out["not_repeated"] = record.not_repeated;
  out["time_scale"] = time_scale_json(result.time_scale);
  out["policies"] = policies_json(record);
  out["plugins"] = Json::array();
  for (const InputFile& plugin : record.plugins) out["plugins"].push_back(to_json(plugin));

  add_memory(out, record);
  out["total_ns"] = result.total.value;
  out["ideal_ns"] = result.ideal.value;
  out["slowdown_thousandths"] = record.unlimited ? Json(slowdown_thousandths(record)) : Json(nullptr);
  out["slowdown_ideal_thousandths"] = slowdown_ideal_thousandths(record);
  out["unlimited"] = unlimited_json(record);
  out["counters"] = counters_json(result.counters);
  if (!result.misfits.empty()) out["pattern_misfits"] = misfits_json(result);
  out["iterations"] = Json::array();
  const QuotedIterations quoted = quoted_iterations(result);
  const auto settled = settled_iterations(result);
  for (std::size_t i = 0; i < result.iterations.size(); ++i) {
    out["iterations"].push_back(iteration_json(result.iterations[i], quoted.contains(i), settled->is_settled));
  }
  out["settled"] = settled_json(settled);
  if (record.uncertainty) out["uncertainty"] = uncertainty_json(*record.uncertainty);
  if (record.bounds) out["bounds"] = bounds_and_distance(record);

  out["system_sha256"] = record.provenance.system_sha256;
  out["system"] = Json::parse(record.system_json);
  return line(out);
}

std::string result_json_with_bounds(const std::string& result, const RunRecord& bounded) {
  const Json known = Json::parse(result);
  Json out;
  for (const auto& [key, value] : known.items()) {
    if (key == "system_sha256") out["bounds"] = bounds_and_distance(bounded);
    out[key] = key == "command" ? Json(bounded.provenance.command) : value;
  }
  return line(out);
}

std::string bounds_json(const RunRecord& record) {
  Json out = program_json(record, kBoundsSchema);
  out["include_host_gaps"] = record.options.include_host_gaps;
  out["requested_iterations"] = record.options.iterations == 0 ? Json(nullptr) : Json(record.options.iterations);
  add_memory(out, record);
  out["bounds"] = bounds_of(record);
  out["bounds"]["best_known"] = best_known_json(record);
  out["system"] = Json::parse(record.system_json);
  return line(out);
}

}  // namespace uvmsim::report
