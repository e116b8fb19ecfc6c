#include "sim/sweep/result_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/policy/registry.h"
#include "sim/report/counters.h"
#include "sim/report/numbers.h"

namespace uvmsim::sweep {
namespace {

// Keys in the order of the file: that of a policy's parameters is its own.
using nlohmann::ordered_json;

constexpr Counters kNames;  // only its names matter

Column number(std::string name) { return {std::move(name), false}; }
Column text(std::string name) { return {std::move(name), true}; }

std::vector<Column> with_counters(std::vector<Column> columns) {
  for_each_counter(kNames, [&](const char* name, std::uint64_t) { columns.push_back(number(name)); });
  return columns;
}

// Numbers, texts, true and false; null is absent. What is larger than a database's integers is a text.
Cell cell(const ordered_json& value) {
  if (value.is_null()) return {};
  if (value.is_boolean()) return std::int64_t{value.get<bool>()};
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return value.dump();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.dump();
}
Cell cell(std::uint64_t value) { return cell(ordered_json(value)); }
Cell cell_or_null(std::uint64_t value) { return value == 0 ? Cell{} : cell(value); }

void append_counters(const ordered_json& counters, Row& row) {
  for_each_counter(kNames, [&](const char* name, std::uint64_t) { row.push_back(cell(counters.at(name))); });
}

// What a result leaves out is the driver's.
ordered_json policy(const ordered_json& result, policy::Slot slot) {
  const ordered_json& policies = result.at("policies");
  const auto found = policies.find(policy::slot_name(slot));
  if (found != policies.end()) return *found;
  return {{"name", driver_choice(slot).name}, {"parameters", ordered_json::object()}};
}

// "threshold=51,min_faults=1", in the order of the policy or layout, as `uvmsim run --csv`.
std::string parameters_text(const ordered_json& parameters) {
  std::string out;
  for (const auto& [key, value] : parameters.items()) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", key, value.get<std::string>());
  }
  return out;
}

std::string policy_with_parameters(const ordered_json& result, policy::Slot slot) {
  const ordered_json used = policy(result, slot);
  const std::string parameters = parameters_text(used.at("parameters"));
  return used.at("name").get<std::string>() + (parameters.empty() ? "" : ":") + parameters;
}

template <class Item>
std::vector<Item> joined(std::vector<Item> first, const std::vector<Item>& policies, const std::vector<Item>& rest) {
  first.insert(first.end(), policies.begin(), policies.end());
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// "none", "1.25" or "roofline", as `uvmsim run --csv`.
std::string time_scale_text(const ordered_json& result) {
  const ordered_json& scale = result.at("time_scale");
  const ordered_json& factor = scale.at("factor_millionths");
  return factor.is_null() ? scale.at("rule").get<std::string>()
                          : report::format_millionths(factor.get<std::uint64_t>());
}

std::string limit_by(const Point& point) {
  return point.capacity_bytes != 0 ? "capacity" : point.osf_thousandths != 0 ? "osf" : "none";
}

// Each of the lower bounds, then the parts of the run's distance from the best one; absent without bounds.
constexpr const char* kBounds[] = {"compute_ns", "cold_ns", "min_ns", "windowed_ns", "write_backs_ns"};
constexpr const char* kDistance[] = {"necessary_bytes_ns", "excess_bytes_ns", "fault_latency_ns", "serialisation_ns"};

void append_bounds(const ordered_json& result, Row& row) {
  const auto bounds = result.find("bounds");
  const bool known = bounds != result.end();
  for (const char* name : kBounds) row.push_back(known ? cell(bounds->at(name)) : Cell{});
  for (const char* name : kDistance) row.push_back(known ? cell(bounds->at("distance").at(name)) : Cell{});
}

Cell slowdown(const ordered_json& result, const std::optional<Unlimited>& unlimited) {
  if (!unlimited || unlimited->settled_ns == 0) return {};
  return cell(report::ratio_thousandths(settled_ns(result), unlimited->settled_ns));
}

// Nothing where no iterations are marked.
Cell of_settled(const ordered_json& result, const char* key) {
  const ordered_json& settled = result.at("settled");
  return settled.is_null() ? Cell{} : cell(settled.at(key));
}

}  // namespace

std::uint64_t settled_ns(const ordered_json& result) {
  const ordered_json& settled = result.at("settled");
  return settled.is_null() ? result.at("total_ns").get<std::uint64_t>()
                           : settled.at("duration_ns").get<std::uint64_t>();
}

const std::vector<Column>& point_columns() {
  static const std::vector<Column> columns = [] {
    std::vector<Column> first = {
        number("position"),
        text("id"),
        number("asked"),
        text("command"),
        text("trace"),
        text("trace_sha256"),
        number("trace_partial"),
        text("program"),
        text("recorded_gpu"),
        text("system"),
        text("system_sha256"),
        text("settings"),
        text("layout"),
        text("layout_parameters"),
        text("limit_by"),
        number("osf_thousandths"),
        number("limit_capacity_bytes"),
        number("limit_footprint_bytes"),
    };
    std::vector<Column> policies;
    for (const policy::Slot slot : kPolicySlots) {
      policies.push_back(text(std::string(policy::slot_name(slot))));
      policies.push_back(text(std::string(policy::slot_name(slot)) + "_parameters"));
    }
    const std::vector<Column> rest = {
        text("plugins"),
        number("seed"),
        number("include_host_gaps"),
        number("iterations_asked"),
        number("until_settled"),
        number("time_scale_millionths"),
        text("time_scale"),
        number("footprint_bytes"),
        number("touched_footprint_bytes"),
        number("capacity_bytes"),
        number("effective_osf_thousandths"),
        number("records"),
        number("iterations"),
        number("total_ns"),
        number("ideal_ns"),
        number("slowdown_ideal_thousandths"),
        number("settled_ns"),
        number("is_settled"),
        number("learning_iterations"),
        text("unlimited_id"),
        number("slowdown_thousandths"),
    };
    first = joined(std::move(first), policies, rest);
    for (const char* name : kBounds) first.push_back(number(fmt::format("bound_{}", name)));
    for (const char* name : kDistance) first.push_back(number(name));
    return with_counters(std::move(first));
  }();
  return columns;
}

Row point_row(const PlannedPoint& planned, std::uint64_t position, const ordered_json& result,
              const std::optional<Unlimited>& unlimited) {
  const Point& point = planned.point;
  const ordered_json determinants = ordered_json::parse(planned.determinants);
  const ordered_json& trace = result.at("trace");
  ordered_json plugins = ordered_json::array();
  for (const ordered_json& plugin : result.at("plugins")) plugins.push_back(plugin.at("file"));
  Row row = {
      cell(position),
      planned.id,
      cell(std::uint64_t{planned.asked}),
      cell(result.at("command")),
      cell(trace.at("file")),
      cell(trace.at("sha256")),
      cell(trace.at("partial")),
      cell(trace.at("program")),
      cell(trace.at("gpu")),
      cell(result.at("system").at("name")),
      cell(determinants.at("system").at("sha256")),
      ordered_json(point.settings).dump(),
      cell(result.at("layout")),
      result.at("layout_parameters").dump(),
      limit_by(point),
      cell_or_null(point.osf_thousandths),
      cell_or_null(point.capacity_bytes),
      cell_or_null(point.footprint_bytes),
  };
  Row policies;
  for (const policy::Slot slot : kPolicySlots) {
    const ordered_json used = policy(result, slot);
    policies.push_back(cell(used.at("name")));
    policies.emplace_back(used.at("parameters").dump());
  }
  const Row rest = {
      plugins.dump(),
      cell(point.seed),
      cell(result.at("include_host_gaps")),
      cell_or_null(point.iterations),
      cell(std::uint64_t{point.until_settled}),
      cell_or_null(point.time_scale_millionths),
      time_scale_text(result),
      cell(result.at("footprint_bytes")),
      result.contains("touched_footprint_bytes") ? cell(result.at("touched_footprint_bytes")) : Cell{},
      cell(result.at("capacity_bytes")),
      cell(result.at("osf_thousandths")),
      cell(trace.at("records")),
      cell(std::uint64_t{result.at("iterations").size()}),
      cell(result.at("total_ns")),
      cell(result.at("ideal_ns")),
      cell(result.at("slowdown_thousandths")),
      cell(settled_ns(result)),
      of_settled(result, "is_settled"),
      of_settled(result, "learning_iterations"),
      unlimited ? Cell{unlimited->id} : Cell{},
      slowdown(result, unlimited),
  };
  row = joined(std::move(row), policies, rest);
  append_bounds(result, row);
  append_counters(result.at("counters"), row);
  return row;
}

const std::vector<Column>& iteration_columns() {
  static const std::vector<Column> columns =
      with_counters({text("id"), number("iteration"), number("begin_ns"), number("end_ns"), number("duration_ns"),
                     number("ideal_ns")});
  return columns;
}

std::vector<Row> iteration_rows(const PlannedPoint& planned, const ordered_json& result) {
  std::vector<Row> rows;
  for (const ordered_json& iteration : result.at("iterations")) {
    Row row = {planned.id,
               cell(iteration.at("index")),
               cell(iteration.at("begin_ns")),
               cell(iteration.at("end_ns")),
               cell(iteration.at("duration_ns")),
               cell(iteration.at("ideal_ns"))};
    append_counters(iteration.at("counters"), row);
    rows.push_back(std::move(row));
  }
  return rows;
}

const std::vector<Column>& settled_columns() {
  static const std::vector<Column> columns =
      with_counters({text("id"), number("first_iteration"), number("last_iteration"), number("iterations"),
                     number("is_settled"), number("learning_iterations"), number("period"), number("exact"),
                     number("duration_ns"), number("shortest_ns"), number("longest_ns"), number("ideal_ns")});
  return columns;
}

std::optional<Row> settled_row(const PlannedPoint& planned, const ordered_json& result) {
  const ordered_json& settled = result.at("settled");
  if (settled.is_null()) return std::nullopt;
  Row row = {planned.id,
             cell(settled.at("first_index")),
             cell(settled.at("index")),
             cell(settled.at("count")),
             cell(settled.at("is_settled")),
             cell(settled.at("learning_iterations")),
             cell(settled.at("period")),
             cell(settled.at("exact")),
             cell(settled.at("duration_ns")),
             cell(settled.at("shortest_ns")),
             cell(settled.at("longest_ns")),
             cell(settled.at("ideal_ns"))};
  append_counters(settled.at("counters"), row);
  return row;
}

const std::vector<Column>& csv_columns() {
  static const std::vector<Column> columns = [] {
    const std::vector<Column> first = {
        number("position"), text("id"),     text("uvmsim_version"),    text("uvmsim_commit"), text("model_version"),
        text("command"),    text("trace"),  text("trace_sha256"),      text("system"),        text("system_sha256"),
        text("settings"),   text("layout"), text("layout_parameters"), text("limit_by"),      number("osf_thousandths"),
    };
    std::vector<Column> policies;
    for (const policy::Slot slot : kPolicySlots) policies.push_back(text(std::string(policy::slot_name(slot))));
    const std::vector<Column> rest = {
        number("seed"),
        number("include_host_gaps"),
        number("iterations_asked"),
        text("time_scale"),
        text("osf"),
        number("footprint_bytes"),
        number("capacity_bytes"),
        text("scope"),
        number("iteration"),
        number("settled"),
        number("begin_ns"),
        number("end_ns"),
        number("duration_ns"),
        number("ideal_ns"),
        number("settled_ns"),
        number("slowdown_thousandths"),
        number("is_settled"),
        number("learning_iterations"),
        number("settled_period"),
    };
    return with_counters(joined(first, policies, rest));
  }();
  return columns;
}

std::vector<Row> csv_rows(const PlannedPoint& planned, std::uint64_t position, const ordered_json& result,
                          const std::optional<Unlimited>& unlimited) {
  const Point& point = planned.point;
  const Row first = {
      cell(position),
      planned.id,
      cell(result.at("uvmsim_version")),
      cell(result.at("uvmsim_commit")),
      cell(result.at("model_version")),
      cell(result.at("command")),
      cell(result.at("trace").at("file")),
      cell(result.at("trace").at("sha256")),
      cell(result.at("system").at("name")),
      cell(result.at("system_sha256")),
      ordered_json(point.settings).dump(),
      cell(result.at("layout")),
      parameters_text(result.at("layout_parameters")),
      limit_by(point),
      cell_or_null(point.osf_thousandths),
  };
  Row policies;
  for (const policy::Slot slot : kPolicySlots) policies.emplace_back(policy_with_parameters(result, slot));
  const Row rest = {
      cell(point.seed),
      cell(result.at("include_host_gaps")),
      cell_or_null(point.iterations),
      time_scale_text(result),
      report::format_thousandths(result.at("osf_thousandths").get<std::uint64_t>()),
      cell(result.at("footprint_bytes")),
      cell(result.at("capacity_bytes")),
  };
  const Row parameters = joined(first, policies, rest);
  std::vector<Row> rows;
  const auto add = [&](Row rest, const ordered_json& counters) {
    Row row = parameters;
    row.insert(row.end(), rest.begin(), rest.end());
    for (const char* key : {"is_settled", "learning_iterations", "period"}) row.push_back(of_settled(result, key));
    append_counters(counters, row);
    rows.push_back(std::move(row));
  };
  for (const ordered_json& iteration : result.at("iterations")) {
    add({"iteration",
         cell(iteration.at("index")),
         cell(iteration.at("settled")),
         cell(iteration.at("begin_ns")),
         cell(iteration.at("end_ns")),
         cell(iteration.at("duration_ns")),
         cell(iteration.at("ideal_ns")),
         {},
         {}},
        iteration.at("counters"));
  }
  const Cell total = cell(result.at("total_ns"));
  add({"total",
       {},
       {},
       cell(std::uint64_t{0}),
       total,
       total,
       cell(result.at("ideal_ns")),
       cell(settled_ns(result)),
       slowdown(result, unlimited)},
      result.at("counters"));
  return rows;
}

}  // namespace uvmsim::sweep
