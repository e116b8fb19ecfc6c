// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/events/counters.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"

namespace uvmsim::sweep {
namespace {

// Keeps the order of the file's keys; a policy's parameters have an order of their own.
using nlohmann::ordered_json;

// The source of a row: a point, and an iteration in tables with several rows per point.
struct Source {
  const PlannedPoint& planned;
  std::uint64_t position;
  const ordered_json& result;
  const std::optional<Unlimited>& unlimited;
  const ordered_json* iteration = nullptr;  // null: the whole run
};

using Getter = GetterOf<Source>;
using Columns = ColumnsOf<Source>;

// Returns the getter of a member of the point.
template <class Member>
Getter of_point(Member Point::*chosen) {
  return [chosen](const Source& s) { return cell(std::uint64_t{s.planned.point.*chosen}); };
}
// Return getters of an iteration's value, and of the settled iterations' value, which is absent if no iterations are
// marked.
Getter of_iteration(const char* key) {
  return [key](const Source& s) { return cell(s.iteration->at(key)); };
}
Getter of_settled(const char* key) {
  return [key](const Source& s) {
    const ordered_json& settled = s.result.at("settled");
    return settled.is_null() ? Cell{} : cell(settled.at(key));
  };
}

Cell id(const Source& s) { return s.planned.id; }
Cell position(const Source& s) { return cell(s.position); }
Cell settings(const Source& s) { return ordered_json(s.planned.point.settings).dump(); }
Cell settled_time(const Source& s) { return cell(settled_ns(s.result)); }

Cell limit_by(const Source& s) {
  return s.planned.point.capacity_bytes != 0 ? "capacity" : s.planned.point.osf_thousandths != 0 ? "osf" : "none";
}

Cell slowdown(const Source& s) {
  if (!s.unlimited || s.unlimited->settled_ns == 0) return {};
  // There is no slowdown either if no kernel touches anything (report::slowdown_thousandths).
  if (s.result.at("slowdown_ideal_thousandths") == 0) return {};
  return cell(report::ratio_thousandths(settled_ns(s.result), s.unlimited->settled_ns));
}

Cell baseline_hypothetical(const Source& s) { return s.unlimited ? cell(s.unlimited->hypothetical) : Cell{}; }
// Returns whether the run was to end when it had settled.
Cell until_settled(const Source& s) { return cell(s.result.contains("until_settled")); }
Cell not_repeated(const Source& s) {
  const auto found = s.result.find("not_repeated");
  return found == s.result.end() ? Cell{} : cell(*found);
}

// "none", "1.25" or "roofline", as `uvmsim run --csv`.
Cell time_scale(const Source& s) {
  const ordered_json& scale = s.result.at("time_scale");
  const ordered_json& factor = scale.at("factor_millionths");
  return factor.is_null() ? scale.at("rule").get<std::string>()
                          : report::format_millionths(factor.get<std::uint64_t>());
}

ordered_json policy(const Source& s, policy::Slot slot) { return policy_of(s.result, slot); }

// The touched footprint where the result has one.
Cell touched_footprint(const Source& s) {
  const auto found = s.result.find("touched_footprint_bytes");
  return found == s.result.end() ? Cell{} : cell(*found);
}

Cell plugins(const Source& s) {
  ordered_json files = ordered_json::array();
  for (const ordered_json& plugin : s.result.at("plugins")) files.push_back(plugin.at("file"));
  return files.dump();
}

// The result as `uvmsim run --json` has it, without `system` and `iterations`, which other tables hold.
Cell result_json(const Source& s) {
  ordered_json result = s.result;
  result.erase("system");
  result.erase("iterations");
  return result.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// Returns the getter of a value of the bounds, or of the distance from the best one; absent without bounds.
Getter bound(const std::string& pointer) {
  return [path = ordered_json::json_pointer("/bounds" + pointer)](const Source& s) {
    return s.result.contains("bounds") ? cell(s.result.at(path)) : Cell{};
  };
}

}  // namespace

std::uint64_t settled_ns(const ordered_json& result) {
  const ordered_json& settled = result.at("settled");
  return settled.is_null() ? result.at("total_ns").get<std::uint64_t>()
                           : settled.at("duration_ns").get<std::uint64_t>();
}

namespace {

const Columns& points() {
  static const Columns columns = [] {
    Columns all = {
        number("position", position),
        text("id", id),
        number("asked", [](const Source& s) { return cell(std::uint64_t{s.planned.asked}); }),
        text("command", of_result("/command")),
        text("trace", of_result("/trace/file")),
        text("trace_sha256", of_result("/trace/sha256")),
        number("trace_partial", of_result("/trace/partial")),
        text("program", of_result("/trace/program")),
        text("recorded_gpu", of_result("/trace/gpu")),
        text("system", of_result("/system/name")),
        text("system_sha256", of_result("/system_sha256")),
        text("settings", settings),
        text("layout", of_result("/layout")),
        text("layout_parameters", [](const Source& s) { return s.result.at("layout_parameters").dump(); }),
        text("limit_by", limit_by),
        number("osf_thousandths", unless_zero(&Point::osf_thousandths)),
        number("limit_capacity_bytes", unless_zero(&Point::capacity_bytes)),
        number("limit_footprint_bytes", unless_zero(&Point::footprint_bytes)),
    };
    for (const policy::Slot slot : kPolicySlots) {
      const std::string name(policy::slot_name(slot));
      all.push_back(text(name, [slot](const Source& s) { return cell(policy(s, slot).at("name")); }));
      all.push_back(
          text(name + "_parameters", [slot](const Source& s) { return policy(s, slot).at("parameters").dump(); }));
    }
    append(all, {
                    text("plugins", plugins),
                    number("seed", of_point(&Point::seed)),
                    number("include_host_gaps", of_result("/include_host_gaps")),
                    number("iterations_asked", of_result("/requested_iterations")),
                    number("until_settled", until_settled),
                    text("not_repeated", not_repeated),
                    number("time_scale_millionths", unless_zero(&Point::time_scale_millionths)),
                    text("time_scale", time_scale),
                    number("footprint_bytes", of_result("/footprint_bytes")),
                    number("touched_footprint_bytes", touched_footprint),
                    number("capacity_bytes", of_result("/capacity_bytes")),
                    number("effective_osf_thousandths", of_result("/osf_thousandths")),
                    number("records", of_result("/trace/records")),
                    number("iterations",
                           [](const Source& s) { return cell(std::uint64_t{s.result.at("iterations").size()}); }),
                    number("total_ns", of_result("/total_ns")),
                    number("ideal_ns", of_result("/ideal_ns")),
                    number("slowdown_ideal_thousandths", of_result("/slowdown_ideal_thousandths")),
                    number("settled_ns", settled_time),
                    number("is_settled", of_settled("is_settled")),
                    number("learning_iterations", of_settled("learning_iterations")),
                    text("unlimited_id", [](const Source& s) { return s.unlimited ? Cell{s.unlimited->id} : Cell{}; }),
                    number("slowdown_thousandths", slowdown),
                    number("baseline_hypothetical", baseline_hypothetical),
                });
    for (const char* name : {"compute_ns", "cold_ns", "min_ns", "windowed_ns", "write_backs_ns"}) {
      all.push_back(number(fmt::format("bound_{}", name), bound(fmt::format("/{}", name))));
    }
    add_numbers(all, {"necessary_bytes_ns", "excess_bytes_ns", "fault_latency_ns", "serialisation_ns"},
                [](const char* name) { return bound(fmt::format("/distance/{}", name)); });
    add_counters(all, [](const Source& s) -> const ordered_json& { return s.result; });
    all.push_back(text("result", result_json));
    return all;
  }();
  return columns;
}

const Columns& iterations() {
  static const Columns columns = [] {
    Columns all = {text("id", id), number("iteration", of_iteration("index"))};
    add_numbers(all, {"begin_ns", "end_ns", "duration_ns", "ideal_ns"}, of_iteration);
    add_counters(all, [](const Source& s) -> const ordered_json& { return *s.iteration; });
    return all;
  }();
  return columns;
}

const Columns& settled() {
  static const Columns columns = [] {
    Columns all = {
        text("id", id),
        number("first_iteration", of_settled("first_index")),
        number("last_iteration", of_settled("index")),
        number("iterations", of_settled("count")),
    };
    add_numbers(all,
                {"is_settled", "learning_iterations", "period", "exact", "duration_ns", "shortest_ns", "longest_ns",
                 "ideal_ns"},
                of_settled);
    add_counters(all, [](const Source& s) -> const ordered_json& { return s.result.at("settled"); });
    return all;
  }();
  return columns;
}

// A column of the CSV file: one getter for rows of iterations and one for rows of whole runs.
Getter either(Getter iteration, Getter whole) {
  return [iteration = std::move(iteration), whole = std::move(whole)](const Source& s) {
    return s.iteration != nullptr ? iteration(s) : whole(s);
  };
}
Cell absent(const Source&) { return {}; }
// Adds columns that are the same as in the table of points.
void add_same(Columns& columns, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    columns.push_back(*std::ranges::find(points(), name, [](const auto& known) { return known.column.name; }));
  }
}

const Columns& csv() {
  static const Columns columns = [] {
    Columns all;
    add_same(all, {"position", "id"});
    append(all,
           {text("uvmsim_version", of_result("/uvmsim_version")), text("uvmsim_commit", of_result("/uvmsim_commit")),
            text("model_version", of_result("/model_version"))});
    add_same(all, {"command", "trace", "trace_sha256", "system", "system_sha256", "settings", "layout"});
    all.push_back(
        text("layout_parameters", [](const Source& s) { return parameters_text(s.result.at("layout_parameters")); }));
    add_same(all, {"limit_by", "osf_thousandths"});
    for (const policy::Slot slot : kPolicySlots) {
      all.push_back(
          text(std::string(policy::slot_name(slot)), [slot](const Source& s) { return chosen_text(policy(s, slot)); }));
    }
    add_same(all, {"seed", "include_host_gaps", "iterations_asked", "time_scale"});
    append(all, {
                    text("osf",
                         [](const Source& s) {
                           return report::format_thousandths(s.result.at("osf_thousandths").get<std::uint64_t>());
                         }),
                    number("footprint_bytes", of_result("/footprint_bytes")),
                    number("capacity_bytes", of_result("/capacity_bytes")),
                    text("scope", [](const Source& s) { return s.iteration != nullptr ? "iteration" : "total"; }),
                    number("iteration", either(of_iteration("index"), absent)),
                    number("quoted", either(of_iteration("quoted"), absent)),
                    number("settled", either(of_iteration("settled"), absent)),
                    number("begin_ns",
                           either(of_iteration("begin_ns"), [](const Source&) { return cell(std::uint64_t{0}); })),
                    number("end_ns", either(of_iteration("end_ns"), of_result("/total_ns"))),
                    number("duration_ns", either(of_iteration("duration_ns"), of_result("/total_ns"))),
                    number("ideal_ns", either(of_iteration("ideal_ns"), of_result("/ideal_ns"))),
                    number("settled_ns", either(absent, settled_time)),
                    number("shortest_ns", either(absent, of_settled("shortest_ns"))),
                    number("longest_ns", either(absent, of_settled("longest_ns"))),
                    number("first_quoted", either(absent, of_settled("first_index"))),
                    number("last_quoted", either(absent, of_settled("index"))),
                    number("slowdown_thousandths", either(absent, slowdown)),
                    number("slowdown_ideal_thousandths", either(absent, of_result("/slowdown_ideal_thousandths"))),
                    number("baseline_hypothetical", either(absent, baseline_hypothetical)),
                    number("uncertain_low_ns", absent),
                    number("uncertain_high_ns", absent),
                });
    add_same(all, {"is_settled", "learning_iterations"});
    all.push_back(number("settled_period", of_settled("period")));
    add_counters(
        all, [](const Source& s) -> const ordered_json& { return s.iteration != nullptr ? *s.iteration : s.result; });
    return all;
  }();
  return columns;
}

}  // namespace

std::vector<Column> point_columns() { return names_of(points()); }
std::vector<Column> iteration_columns() { return names_of(iterations()); }
std::vector<Column> settled_columns() { return names_of(settled()); }
std::vector<Column> csv_columns() { return names_of(csv()); }

ResultRows result_rows(const PlannedPoint& planned, std::uint64_t position, const ordered_json& result,
                       const std::optional<Unlimited>& unlimited) {
  Source source{planned, position, result, unlimited, nullptr};
  ResultRows rows;
  rows.point = row_of(points(), source);
  if (!result.at("settled").is_null()) rows.settled = row_of(settled(), source);
  for (const ordered_json& iteration : result.at("iterations")) {
    source.iteration = &iteration;
    rows.iterations.push_back(row_of(iterations(), source));
    rows.csv.push_back(row_of(csv(), source));
  }
  source.iteration = nullptr;
  rows.csv.push_back(row_of(csv(), source));
  return rows;
}

}  // namespace uvmsim::sweep
