#include "sim/compare/read_database.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/config/json_text.h"
#include "sim/engine/policy_choices.h"
#include "sim/policy/registry.h"
#include "sim/report/counters.h"
#include "sim/report/result_json.h"
#include "sim/trace/nsys_database.h"

namespace uvmsim::compare {
namespace {

using Json = nlohmann::ordered_json;
using Row = trace::Database::Row;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::uint64_t number(const Row& row, std::size_t column) {
  return static_cast<std::uint64_t>(row.required(column, 0, kMost));
}

// Columns by name, then the counters, then those that older versions did not write; each of the others is required.
class Columns {
 public:
  explicit Columns(std::vector<std::string> names, const std::vector<std::string>& optional = {})
      : names_(std::move(names)) {
    first_counter_ = names_.size();
    constexpr Counters kNames;  // only its names matter
    for_each_counter(kNames, [&](const char* name, std::uint64_t) { names_.emplace_back(name); });
    first_optional_ = names_.size();
    names_.insert(names_.end(), optional.begin(), optional.end());
  }
  const std::vector<std::string>& names() const { return names_; }
  std::size_t first_optional() const { return first_optional_; }

  Json counters(const Row& row) const {
    Json out = Json::object();
    for (std::size_t i = first_counter_; i < first_optional_; ++i) out[names_[i]] = number(row, i);
    return out;
  }

 private:
  std::vector<std::string> names_;
  std::size_t first_counter_, first_optional_;
};

Json parsed(const std::string& text, const std::string& where) {
  Json value = config::parse_or_discard<Json>(text);
  if (value.is_discarded()) throw_input_error("{}: is not JSON", where);
  return value;
}

Json number_or_null(const Row& row, std::size_t column) {
  return row.has(column) ? Json(number(row, column)) : Json(nullptr);
}

const std::vector<std::string> kOptionalOfSettled = {"ideal_ns",        "learning_iterations", "is_settled", "period",
                                                     "first_iteration", "last_iteration",      "iterations"};

// Column, and key of a result's `bounds`.
constexpr std::pair<const char*, const char*> kBoundColumns[] = {{"bound_compute_ns", "compute_ns"},
                                                                 {"bound_cold_ns", "cold_ns"},
                                                                 {"bound_min_ns", "min_ns"},
                                                                 {"bound_windowed_ns", "windowed_ns"},
                                                                 {"bound_write_backs_ns", "write_backs_ns"}};
constexpr const char* kDistanceColumns[] = {"necessary_bytes_ns", "excess_bytes_ns", "fault_latency_ns",
                                            "serialisation_ns"};

// Older databases have fewer slots, and no such choice.
std::vector<std::string> optional_choices() {
  std::vector<std::string> names;
  for (const policy::Slot slot : kPolicySlots) {
    if (is_always_named(slot)) continue;
    names.emplace_back(policy::slot_name(slot));
    names.push_back(names.back() + "_parameters");
  }
  names.emplace_back("until_settled");
  names.emplace_back("touched_footprint_bytes");
  names.emplace_back("command");
  names.emplace_back("program");
  names.emplace_back("slowdown_thousandths");
  for (const auto& [column, key] : kBoundColumns) names.emplace_back(column);
  for (const char* column : kDistanceColumns) names.emplace_back(column);
  return names;
}

// Rebuilds results as `uvmsim run --json` writes them, as far as comparing and showing them needs.
class DatabaseReader {
 public:
  DatabaseReader(const std::string& path, const ResultVisitor& visit) : path_(path), visit_(visit), database_(path) {}

  std::vector<std::string> read() {
    if (!database_.has_table("sweep") || !database_.has_table("points")) {
      throw_input_error("{}: is not the database of a sweep: table 'sweep' or 'points' is missing", path_);
    }
    read_sweep();
    read_systems();
    read_settled();
    read_points();
    read_failures();
    if (!any_) throw_input_error("{}: no point of this sweep has a result", path_);
    return std::move(missing_);
  }

 private:
  void read_sweep() {
    database_.each("sweep", {"uvmsim_version", "model_version", "planned", "finished", "failed"}, 5,
                   [&](const Row& row) {
                     version_ = row.text(0);
                     model_ = row.text(1);
                     const std::int64_t planned = row.required(2, 0, kMost), finished = row.required(3, 0, kMost),
                                        failed = row.required(4, 0, kMost);
                     if (finished <= planned && failed < planned - finished) not_run_ = planned - finished - failed;
                   });
  }

  void read_systems() {
    database_.each("systems", {"sha256", "json"}, 2,
                   [&](const Row& row) { systems_[row.text(0)] = parsed(row.text(1), path_ + ": table 'systems'"); });
  }

  void read_settled() {
    const Columns columns({"id", "duration_ns"}, kOptionalOfSettled);
    database_.each("settled", columns.names(), columns.first_optional(), [&](const Row& row) {
      Json& settled = settled_[row.text(0)];
      settled = {{"duration_ns", number(row, 1)}, {"counters", columns.counters(row)}};
      std::size_t column = columns.first_optional();
      for (const std::string& key : kOptionalOfSettled) {
        if (row.has(column)) settled[key] = number(row, column);
        ++column;
      }
      for (const char* key : {"learning_iterations", "period"}) {
        if (!settled.contains(key)) settled[key] = nullptr;
      }
      if (settled.contains("is_settled")) settled["is_settled"] = settled["is_settled"] != 0;
    });
  }

  void read_points() {
    const Columns columns({"id",
                           "trace",
                           "trace_sha256",
                           "trace_partial",
                           "system_sha256",
                           "layout",
                           "layout_parameters",
                           "limit_by",
                           "osf_thousandths",
                           "limit_capacity_bytes",
                           "limit_footprint_bytes",
                           "prefetch",
                           "prefetch_parameters",
                           "evict",
                           "evict_parameters",
                           "seed",
                           "include_host_gaps",
                           "iterations_asked",
                           "time_scale_millionths",
                           "time_scale",
                           "footprint_bytes",
                           "capacity_bytes",
                           "total_ns",
                           "ideal_ns",
                           "slowdown_ideal_thousandths",
                           "effective_osf_thousandths",
                           "asked"},
                          optional_choices());
    database_.each("points", columns.names(), columns.first_optional(), [&](const Row& row) {
      if (row.required(26, 0, 1) == 0) return;
      const std::string id = row.text(0), where = fmt::format("{}: point {}", path_, id.substr(0, 12));
      const auto system = systems_.find(row.text(4));
      if (system == systems_.end()) throw_input_error("{}: its system is not in table 'systems'", where);
      Json result;
      result["schema"] = report::kResultSchema;
      result["uvmsim_version"] = version_;
      result["model_version"] = model_;
      result["trace"] = {{"file", row.text(1)}, {"sha256", row.text(2)}, {"partial", row.required(3, 0, 1) != 0}};
      result["layout"] = row.text(5);
      result["layout_parameters"] = parsed(row.text(6), where);
      result["limit"] = {{"by", row.text(7)},
                         {"osf_thousandths", number_or_null(row, 8)},
                         {"capacity_bytes", number_or_null(row, 9)},
                         {"footprint_bytes", number_or_null(row, 10)}};
      result["policies"] = {{"prefetch", {{"name", row.text(11)}, {"parameters", parsed(row.text(12), where)}}},
                            {"evict", {{"name", row.text(13)}, {"parameters", parsed(row.text(14), where)}}}};
      std::size_t column = columns.first_optional();
      for (const policy::Slot slot : kPolicySlots) {
        if (is_always_named(slot)) continue;
        if (row.has(column) && row.text(column) != driver_choice(slot).name) {
          result["policies"][std::string(policy::slot_name(slot))] = {
              {"name", row.text(column)}, {"parameters", parsed(row.text(column + 1), where)}};
        }
        column += 2;
      }
      if (row.has(column) && row.required(column, 0, 1) != 0) result["until_settled"] = true;
      if (row.has(++column)) {
        result["limit"]["footprint"] = "touched";
        result["touched_footprint_bytes"] = number(row, column);
      }
      if (row.has(++column)) result["command"] = row.text(column);
      if (row.has(++column)) result["trace"]["program"] = row.text(column);
      if (row.has(++column)) result["unlimited"] = {{"slowdown_thousandths", number(row, column)}};
      for (const auto& [name, key] : kBoundColumns) {
        if (row.has(++column)) result["bounds"][key] = number(row, column);
      }
      for (const char* key : kDistanceColumns) {
        if (row.has(++column)) result["bounds"]["distance"][key] = number(row, column);
      }
      result["plugins"] = Json::array();  // the table has no hashes
      result["seed"] = row.required(15, std::numeric_limits<std::int64_t>::min(), kMost);
      result["include_host_gaps"] = row.required(16, 0, 1) != 0;
      result["requested_iterations"] = number_or_null(row, 17);
      // The factor where one was given, else the rule ("none", "roofline").
      result["time_scale"] = {{"rule", row.has(18) ? "fixed" : row.text(19)},
                              {"factor_millionths", number_or_null(row, 18)}};
      result["footprint_bytes"] = number(row, 20);
      result["capacity_bytes"] = number(row, 21);
      result["total_ns"] = number(row, 22);
      result["ideal_ns"] = number(row, 23);
      result["slowdown_thousandths"] = number(row, 24);
      result["osf_thousandths"] = number(row, 25);
      result["counters"] = columns.counters(row);
      const auto settled = settled_.find(id);
      result["settled"] = settled == settled_.end() ? Json(nullptr) : settled->second;
      result["system"] = system->second;
      visit_(result, where);
      any_ = true;
    });
  }

  void read_failures() {
    database_.each("failures", {"label", "error"}, 2, [&](const Row& row) {
      missing_.push_back(fmt::format("{}: failed: {}", row.text(0), row.text(1)));
    });
    if (not_run_ != 0) missing_.push_back(fmt::format("{} points: not run", not_run_));
  }

  const std::string& path_;
  const ResultVisitor& visit_;
  trace::Database database_;
  bool any_ = false;
  std::vector<std::string> missing_;
  std::string version_, model_;
  std::int64_t not_run_ = 0;
  std::map<std::string, Json> systems_;  // by hash
  std::map<std::string, Json> settled_;  // by id of the point
};

}  // namespace

bool is_database(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::string begin(kMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kMagic;
}

std::vector<std::string> read_database(const std::string& path, const ResultVisitor& visit) {
  return DatabaseReader(path, visit).read();
}

}  // namespace uvmsim::compare
