// SPDX-License-Identifier: Apache-2.0
#include "sim/html/points.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/formats/printable.h"
#include "sim/policy/policy_choices.h"
#include "sim/policy/registry.h"

namespace uvmsim::html {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTraceEnding = ".uvmt";

// Members that view_of_result() does not check are optional here, but must have the right type.
const Json* find_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::uint64_t number_at(const Json& object, const char* key, const std::string& where, std::uint64_t fallback = 0) {
  const Json* found = find_at(object, key);
  if (found == nullptr) return fallback;
  if (!found->is_number_integer() || (!found->is_number_unsigned() && found->get<std::int64_t>() < 0)) {
    throw_input_error("{}: '{}' is not a whole number of at least 0", where, key);
  }
  return found->get<std::uint64_t>();
}

std::string text_at(const Json& object, const char* key, const std::string& where) {
  const Json* found = find_at(object, key);
  if (found == nullptr) return "";
  if (!found->is_string()) throw_input_error("{}: '{}' is not a string", where, key);
  return found->get<std::string>();
}

// Returns nothing where the object lacks the member; `where` names it in messages.
const Json* object_at(const Json& object, const char* key, const std::string& where) {
  const Json* found = find_at(object, key);
  if (found != nullptr && !found->is_object()) throw_input_error("{}: '{}' is not an object", where, key);
  return found;
}

void read_limit(const Json& result, const std::string& where, ReportPoint& point) {
  const Json& limit = result.at("limit");  // checked by view_of_result()
  const std::string by = limit.at("by").get<std::string>();
  point.osf_thousandths = number_at(result, "osf_thousandths", where);
  if (by == "osf") {
    point.limit = ReportPoint::Limit::kFactor;
    point.osf_thousandths = number_at(limit, "osf_thousandths", where + ": limit");
  } else if (by == "capacity") {
    point.limit = ReportPoint::Limit::kCapacity;
  }
  point.hypothetical = limit.value("hypothetical", Json()) == true;
  point.footprint_bytes = number_at(result, "footprint_bytes", where);
  if (result.contains("touched_footprint_bytes")) {
    point.footprint_bytes = number_at(result, "touched_footprint_bytes", where);
  }
  point.capacity_bytes = number_at(result, "capacity_bytes", where);
}

void read_policies(ReportPoint& point) {
  point.are_drivers_policies = true;
  for (const policy::Slot slot : kPolicySlots) {
    const std::string& drivers = driver_choice(slot).name;
    const std::string used = compare::named_or(point.view.identity, policy::slot_name(slot), drivers);
    if (used != drivers) point.are_drivers_policies = false;
    if (is_always_named(slot) || used != drivers) point.policies += (point.policies.empty() ? "" : ", ") + used;
  }
}

void read_settled(const Json& result, const std::string& where, ReportPoint& point) {
  const Json* settled = object_at(result, "settled", where);
  if (settled == nullptr) return;
  const std::string at = where + ": settled";
  point.of_iterations = true;
  if (const auto known = settled->find("is_settled"); known != settled->end()) point.is_settled = *known == true;
  point.learning = number_at(*settled, "learning_iterations", at);
  point.last_iteration = number_at(*settled, "index", at);
  point.first_iteration = number_at(*settled, "first_index", at, point.last_iteration);
  point.shortest_ns = number_at(*settled, "shortest_ns", at);
  point.longest_ns = number_at(*settled, "longest_ns", at);
}

void read_distance(const Json& result, const std::string& where, ReportPoint& point) {
  const Json* bounds = object_at(result, "bounds", where);
  const Json* distance = bounds == nullptr ? nullptr : object_at(*bounds, "distance", where + ": bounds");
  if (distance == nullptr) return;
  const std::string at = where + ": bounds";
  PointDistance& out = point.distance.emplace();
  out.bound_ns = number_at(*bounds, "best_ns", at);
  out.compute_ns = number_at(*bounds, "compute_ns", at);
  out.necessary_bytes_ns = number_at(*distance, "necessary_bytes_ns", at);
  out.excess_bytes_ns = number_at(*distance, "excess_bytes_ns", at);
  out.fault_latency_ns = number_at(*distance, "fault_latency_ns", at);
  out.serialisation_ns = number_at(*distance, "serialisation_ns", at);
}

// A page repeats names: a long one would make it as large as many files.
void check_lengths(const ReportPoint& point, const std::string& where) {
  constexpr std::size_t kLongestText = 4096, kLongestCommand = 65536;
  const auto check = [&](const std::string& what, const std::string& text, std::size_t most) {
    if (text.size() > most) {
      throw_input_error("{}: '{}' has {} bytes; allowed: up to {}", where, printable(what), text.size(), most);
    }
  };
  check("trace.file", point.view.trace_name, kLongestText);
  check("command", point.command, kLongestCommand);
  for (const auto& [key, text] : point.view.identity) {
    check(key, key, kLongestText);
    check(key, text, kLongestText);
  }
}

}  // namespace

ReportPoint point_of_result(const Json& result, const std::string& where) {
  ReportPoint point;
  point.view = compare::view_of_result(result, where);
  point.program = point.view.trace_name;
  if (point.program.ends_with(kTraceEnding)) point.program.resize(point.program.size() - kTraceEnding.size());
  point.system = compare::shown_text(point.view, "system");
  point.layout = compare::shown_text(point.view, "layout");
  point.seed = compare::shown_text(point.view, "seed");
  point.command = text_at(result, "command", where);
  check_lengths(point, where);
  point.partial_trace = compare::find_named(point.view.identity, "trace.partial") != nullptr;
  if (const Json* misfits = object_at(result, "pattern_misfits", where)) {
    point.misfit_kernels = number_at(*misfits, "kernels", where);
  }
  read_limit(result, where, point);
  read_policies(point);
  read_settled(result, where, point);
  read_distance(result, where, point);

  const auto metric = [&](const std::string& name) {
    return compare::named_or(point.view.metrics, name, std::uint64_t{0});
  };
  const auto quoted = [&](const char* name) {
    return metric((point.of_iterations ? "settled_" : "") + std::string(name));
  };
  point.total_ns = metric("total_ns");
  point.time_ns = point.of_iterations ? metric("settled_ns") : point.total_ns;
  if (const Json* unlimited = object_at(result, "unlimited", where)) {
    const std::uint64_t slowdown = number_at(result, "slowdown_thousandths", where);
    if (slowdown != 0) point.slowdown_thousandths = slowdown;
    point.baseline_hypothetical = unlimited->value("hypothetical", Json()) == true;
  }
  point.htod_bytes = quoted("htod_bytes");
  point.dtoh_bytes = quoted("dtoh_bytes");
  point.fault_batches = quoted("fault_batches");
  point.evictions = quoted("evictions");
  point.reloaded_pages = quoted("reloaded_pages");
  point.kernel_ns = quoted("kernel_ns");
  point.kernel_compute_ns = quoted("kernel_compute_ns");
  point.fault_service_ns = quoted("fault_service_ns");
  return point;
}

}  // namespace uvmsim::html
