// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/common/sha256.h"
#include "sim/common/version.h"
#include "sim/config/load_system.h"
#include "sim/config/system_text.h"
#include "sim/layout/layout_choice.h"
#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"
#include "sim/sweep/model_version.h"

namespace uvmsim::sweep {
namespace {

using nlohmann::json;

report::PolicyUsed describe_policy(policy::Slot slot, const PolicyChoice& choice, const policy::Registry& registry) {
  const auto& entry = registry.find(slot, choice.name);
  return {std::string(policy::slot_name(slot)), choice.name,
          std::string(policy::information_class_name(entry.info.information)),
          entry.resolve(choice.parameters).resolved()};
}

// Lists the policies of the slots that are always named, and those that differ from the driver's.
std::vector<report::PolicyUsed> policies_used(const PolicyChoices& choices, const policy::Registry& registry) {
  std::vector<report::PolicyUsed> all;
  for (const policy::Slot slot : kPolicySlots) {
    report::PolicyUsed used = describe_policy(slot, choices.*choice_of(slot), registry);
    if (is_named(choices, slot)) all.push_back(std::move(used));
  }
  if (!is_driver_choice(choices, policy::Slot::kSchedule)) {
    all.push_back(describe_policy(policy::Slot::kSchedule, choices.schedule, registry));
  }
  return all;
}

json limit_json(const Point& point) {
  if (point.capacity_bytes != 0) return {{"capacity_bytes", point.capacity_bytes}};
  if (point.osf_thousandths == 0) return nullptr;
  return {{"osf_thousandths", point.osf_thousandths}};
}

json policies_json(const std::vector<report::PolicyUsed>& policies) {
  json out = json::object();
  for (const report::PolicyUsed& used : policies) {
    json parameters = json::object();
    for (const auto& [key, value] : used.parameters) parameters[key] = value;
    out[used.slot] = {{"name", used.name}, {"parameters", std::move(parameters)}};
  }
  return out;
}

// The version of every slot's policy, including the driver's own ones. A plug-in has its file's SHA-256 instead.
json policy_versions_json(const PolicyChoices& choices) {
  json out = json::object();
  for (std::size_t i = 0; i < policy::Slots::kCount; ++i) {
    const auto slot = static_cast<policy::Slot>(i);
    const std::string_view version = policy_version(slot, (choices.*choice_of(slot)).name);
    if (!version.empty()) out[std::string(policy::slot_name(slot))] = version;
  }
  return out;
}

// Describes the GPU of the recording by its numbers: its name alone would not show that they changed.
json time_scale_json(const TimeScaleChoice& choice) {
  if (choice.factor_millionths != 0) return {{"factor_millionths", choice.factor_millionths}};
  if (!choice.recorded_on) return nullptr;
  config::SystemConfig numbers;
  numbers.gpus = {*choice.recorded_on};
  return {{"recorded_on_sha256", sha256(config::values_json(numbers))}};
}

json inputs_json(const std::vector<report::InputFile>& files) {
  json out = json::array();
  for (const report::InputFile& file : files) out.push_back({{"file", file.name}, {"sha256", file.sha256}});
  return out;
}

}  // namespace

std::string program_determinants(const std::string& determinants) {
  json program = json::parse(determinants);
  for (const char* key : {"policies", "policy_versions", "plugins", "seed", "bounds"}) program.erase(key);
  return program.dump();
}

std::string baseline_id(const std::string& determinants, bool hypothetical) {
  json baseline = json::parse(determinants);  // sorted keys, as the id requires
  baseline["limit"] = nullptr;
  baseline["footprint_bytes"] = nullptr;
  baseline.erase("touched_footprint");
  baseline.erase("hypothetical_capacity");
  if (hypothetical) baseline["hypothetical_capacity"] = true;
  baseline["plugins"] = json::array();
  baseline["policies"] = policies_json(policies_used({}, *policy::built_ins()));
  baseline["policy_versions"] = policy_versions_json({});
  return sha256(baseline.dump(-1, ' ', false, json::error_handler_t::replace));
}

TraceInput& Resolver::trace(const Point& point) {
  const std::pair key(point.trace, point.partial);
  const auto known = traces_.find(key);
  if (known != traces_.end()) return known->second;
  return traces_.try_emplace(key, point.trace, point.partial, largest_kept_bytes_).first->second;
}

void Resolver::keep_only_traces_of(const std::vector<Point>& points) {
  std::erase_if(traces_, [&](const auto& entry) {
    const auto is_of = [&](const Point& point) { return entry.first == std::pair(point.trace, point.partial); };
    return std::ranges::none_of(points, is_of);
  });
}

const Resolver::System& Resolver::system(const Point& point) {
  const std::pair key(point.system, point.settings);
  const auto known = systems_.find(key);
  if (known != systems_.end()) return known->second;
  System system;
  system.config = config::load_system(point.system);
  system.as_in_file = system.config;
  config::apply_overrides(system.config, point.settings);
  system.values_json = config::values_json(system.config);
  system.sha256 = sha256(system.values_json);
  return systems_.emplace(key, std::move(system)).first->second;
}

// Returns the GPU of the recording: that of the system that the point names for it, else the GPU named in the trace's
// header.
const std::optional<config::GpuConfig>& Resolver::recorded_gpu(const Point& point) {
  const std::string model = point.recorded_on.empty() ? trace(point).header().gpu : "";
  const std::tuple key(point.recorded_on, model, point.system);
  const auto known = recorded_gpus_.find(key);
  if (known != recorded_gpus_.end()) return known->second;
  std::optional<config::GpuConfig> gpu;
  if (!point.recorded_on.empty()) {
    gpu = config::load_system(point.recorded_on).gpus.front();
  } else {
    gpu = config::find_gpu(model, system(point).as_in_file, config::default_search_path());
  }
  return recorded_gpus_.emplace(key, std::move(gpu)).first->second;
}

const Resolver::Plugin& Resolver::plugin(const std::string& name) {
  const auto known = plugins_.find(name);
  if (known != plugins_.end()) return known->second;
  const std::string file = policy::find_plugin(name);
  // Another user of a shared registry may have loaded it.
  const auto is_ours = [&](const policy::PolicyEntry* entry) { return entry->origin == file; };
  if (std::ranges::none_of(registry_->list(), is_ours)) policy::load_plugin(*registry_, file);
  return plugins_.emplace(name, Plugin{file, report::describe_input(file)}).first->second;
}

bool Resolver::uses_plugin(const Point& point, const std::string& file) const {
  return std::ranges::any_of(registry_->list(), [&](const policy::PolicyEntry* entry) {
    return entry->origin == file && entry->info.name == (point.*choice_of(entry->slot)).name;
  });
}

void Resolver::check_plugins(const Point& point, const std::string& determinants) const {
  if (point.plugins.empty()) return;
  std::vector<report::InputFile> found;
  for (const std::string& path : point.plugins) found.push_back(report::describe_input(policy::find_plugin(path)));
  const json recorded = json::parse(determinants);
  const auto plugins = recorded.find("plugins");
  if (plugins != recorded.end() && *plugins == inputs_json(found)) return;
  throw_input_error("a plug-in changed since the sweep was planned, and is not loaded; plan it again");
}

ResolvedPoint Resolver::resolve(const Point& point) {
  ResolvedPoint resolved;
  resolved.point = point;
  report::RunRecord& record = resolved.record;
  TraceInput& input = trace(point);
  record.trace = input.description();
  resolved.point.plugins.clear();
  for (const std::string& name : point.plugins) {
    const Plugin& found = plugin(name);
    if (!uses_plugin(point, found.path)) continue;
    record.plugins.push_back(found.file);
    resolved.point.plugins.push_back(name);
  }
  check_choices(point, *registry_);
  record.policies = policies_used(point, *registry_);
  const System& loaded = system(point);
  record.system_json = loaded.values_json;
  record.provenance = {command_text(resolved.point), model_version(), loaded.sha256};

  RunOptions& options = record.options;
  options.system = loaded.config;
  static_cast<PolicyChoices&>(options) = point;
  options.registry = registry_;
  options.layout = layout::on_gpu(layout::parse_layout(point.layout), options.system.gpus.front().memory_bytes);
  options.capacity_bytes = point.capacity_bytes;
  options.limited = point.capacity_bytes != 0 || point.osf_thousandths != 0;
  if (point.osf_thousandths != 0) options.osf_thousandths = point.osf_thousandths;
  options.footprint_bytes = point.footprint_bytes;
  options.hypothetical_capacity = point.hypothetical_capacity;
  options.seed = point.seed;
  options.include_host_gaps = point.include_host_gaps;
  options.iterations = point.iterations;  // run_length() decides where the point leaves it open
  options.until_settled = point.until_settled;
  options.replay_all = point.replay_all;
  options.time_scale.factor_millionths = point.time_scale_millionths;
  options.time_scale.recorded_on = recorded_gpu(point);

  json determinants = {
      {"schema", "uvmsim.point/1"},
      {"uvmsim_version", version()},
      {"model_version", model_version()},
      {"trace", {{"file", record.trace.name}, {"sha256", record.trace.sha256}, {"partial", point.partial}}},
      {"layout", layout::resolved_text(options.layout)},
      {"system", {{"name", loaded.config.name}, {"sha256", loaded.sha256}}},
      {"limit", limit_json(point)},
      {"footprint_bytes", point.footprint_bytes == 0 ? json() : json(point.footprint_bytes)},
      {"policies", policies_json(record.policies)},
      {"policy_versions", policy_versions_json(point)},
      {"plugins", inputs_json(record.plugins)},
      {"seed", point.seed},
      {"include_host_gaps", point.include_host_gaps},
      {"iterations", point.iterations},
      {"time_scale", time_scale_json(options.time_scale)},
  };
  if (point.touched_footprint) determinants["touched_footprint"] = true;
  if (point.hypothetical_capacity) determinants["hypothetical_capacity"] = true;
  if (point.as_recorded) determinants["as_recorded"] = true;
  if (point.until_settled) determinants["until_settled"] = true;
  if (point.replay_all) determinants["replay_all"] = true;
  if (point.bounds) determinants["bounds"] = true;
  resolved.determinants =
      determinants.dump(-1, ' ', false, json::error_handler_t::replace);  // names of files may not be UTF-8
  resolved.id = sha256(resolved.determinants);
  return resolved;
}

}  // namespace uvmsim::sweep
