// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/collect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/common/sha256.h"
#include "sim/common/version.h"
#include "sim/formats/fields.h"
#include "sim/formats/sqlite_file.h"
#include "sim/sweep/point_files.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/result_table.h"

namespace uvmsim::sweep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const std::vector<Column> kSweepColumns = {
    {"schema", true},  {"uvmsim_version", true}, {"uvmsim_commit", true}, {"model_version", true},
    {"spec", true},    {"spec_sha256", true},    {"planned", false},      {"finished", false},
    {"failed", false}, {"complete", false},
};
const std::vector<Column> kSystemColumns = {{"sha256", true}, {"name", true}, {"json", true}};
const std::vector<Column> kFailureColumns = {{"position", false}, {"id", true}, {"label", true}, {"error", true}};

std::string cell_text(const Cell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *number);
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? "" : csv_field(*text);
}

std::string csv_line(const Row& row) {
  std::vector<std::string> fields;
  for (const Cell& cell : row) fields.push_back(cell_text(cell));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

// Creates a table of the database and returns a writer for its rows. `key` follows the columns, as "PRIMARY KEY (id)";
// it may be empty.
SqliteFile::Rows make_table(SqliteFile& file, const std::string& name, const std::vector<Column>& columns,
                            const std::string& key) {
  std::vector<std::string> lines;
  for (const Column& column : columns) {
    lines.push_back(fmt::format("{} {}", column.name, column.is_text ? "TEXT" : "INTEGER"));
  }
  if (!key.empty()) lines.push_back(key);
  file.execute(fmt::format("CREATE TABLE {} (\n  {}\n)", name, fmt::join(lines, ",\n  ")));
  return {file, name, static_cast<int>(columns.size())};
}

void insert(const Row& row, SqliteFile::Rows& table) {
  for (const Cell& cell : row) {
    if (const auto* text = std::get_if<std::string>(&cell)) {
      table.add(std::string_view(*text));
    } else {
      const auto* number = std::get_if<std::int64_t>(&cell);
      table.add(number == nullptr ? std::nullopt : std::optional(*number));
    }
  }
  table.end();
}

struct Tables {
  SqliteFile& file;
  SqliteFile::Rows sweep = make_table(file, "sweep", kSweepColumns, "");
  SqliteFile::Rows points = make_table(file, "points", point_columns(), "PRIMARY KEY (position), UNIQUE (id)");
  SqliteFile::Rows iterations = make_table(file, "iterations", iteration_columns(), "PRIMARY KEY (id, iteration)");
  SqliteFile::Rows settled = make_table(file, "settled", settled_columns(), "PRIMARY KEY (id)");
  SqliteFile::Rows failures = make_table(file, "failures", kFailureColumns, "PRIMARY KEY (position)");
  SqliteFile::Rows systems = make_table(file, "systems", kSystemColumns, "PRIMARY KEY (sha256)");
};

// The additional tables of a sweep of scenarios.
struct ScenarioTables {
  SqliteFile& file;
  SqliteFile::Rows scenarios = make_table(file, "scenarios", scenario_columns(), "PRIMARY KEY (position), UNIQUE (id)");
  SqliteFile::Rows programs = make_table(file, "programs", program_columns(), "PRIMARY KEY (id, program)");
  SqliteFile::Rows evictions = make_table(file, "evictions", eviction_columns(), "PRIMARY KEY (id, by, of)");
};

class Collector {
 public:
  Collector(const Plan& plan, const std::string& folder, const SweepStatus& status)
      : plan_(plan), files_(folder), status_(status) {
    for (const PlannedPoint& planned : plan.points) planned_by_id_[planned.id] = &planned;
  }

  void write(const std::string& database_path, const std::string& csv_path) {
    SqliteFile database(database_path, kInFolder);
    AtomicFile csv(csv_path, kInFolder);
    {
      database.execute("BEGIN");
      Tables tables{database};
      std::optional<ScenarioTables> of_scenarios;
      if (is_of_scenarios()) of_scenarios.emplace(ScenarioTables{database});
      begin(tables, csv);
      for (std::size_t i = 0; i < plan_.points.size(); ++i) {
        const PlannedPoint& planned = plan_.points[i];
        const auto result = result_of(planned.id);
        if (!result) continue;
        try {
          if (planned.scenario) {
            add(scenario_rows(planned, i + 1, *result), of_scenarios.value(), csv);
          } else {
            add(planned, i + 1, *result, tables, csv);
          }
          add_system(planned, result->at("system"), tables);
        } catch (const Json::exception& error) {
          refuse_result(planned.id, error.what());
        } catch (const SameKeyTwice& error) {
          refuse_result(planned.id, error.what());
        }
      }
      for (const FailedPoint& failed : status_.failed) {
        insert({cell(failed.position), failed.id, failed.label, failed.error}, tables.failures);
      }
    }
    database.execute("COMMIT");
    database.commit();
    csv.commit();
  }

 private:
  void begin(Tables& tables, AtomicFile& csv) const {
    insert({kSweepSchema, plan_.uvmsim_version, commit(), plan_.model_version, plan_.spec, sha256(plan_.spec),
            cell(status_.planned), cell(status_.finished), cell(std::uint64_t{status_.failed.size()}),
            std::int64_t{status_.complete()}},
           tables.sweep);
    std::vector<std::string> names;
    for (const Column& column : is_of_scenarios() ? scenario_csv_columns() : csv_columns()) {
      names.push_back(column.name);
    }
    // A partial sweep has an additional column that marks every row.
    csv.write(fmt::format("{}{}\n", fmt::join(names, ","), status_.complete() ? "" : ",partial_sweep"));
  }

  void add(const PlannedPoint& planned, std::uint64_t position, const Json& result, Tables& tables, AtomicFile& csv) {
    const auto unlimited = unlimited_of(planned);
    ResultRows rows = result_rows(planned, position, result, unlimited);
    insert(rows.point, tables.points);
    for (const Row& row : rows.iterations) insert(row, tables.iterations);
    if (rows.settled) insert(*rows.settled, tables.settled);
    write(rows.csv, csv);
  }

  void add(ScenarioRows rows, ScenarioTables& tables, AtomicFile& csv) const {
    insert(rows.scenario, tables.scenarios);
    for (const Row& row : rows.programs) insert(row, tables.programs);
    for (const Row& row : rows.evictions) insert(row, tables.evictions);
    write(rows.csv, csv);
  }

  void write(std::vector<Row>& rows, AtomicFile& csv) const {
    for (Row& row : rows) {
      if (!status_.complete()) row.emplace_back(std::int64_t{1});
      csv.write(csv_line(row));
    }
  }

  void add_system(const PlannedPoint& planned, const Json& system, Tables& tables) {
    const std::string hash = Json::parse(planned.determinants).at("system").at("sha256").get<std::string>();
    if (systems_.insert(hash).second) {
      insert({hash, system.at("name").get<std::string>(), system.dump()}, tables.systems);
    }
  }

  // A plan holds either scenarios or programs.
  bool is_of_scenarios() const { return !plan_.points.empty() && plan_.points.front().scenario.has_value(); }

  // Returns nothing when the point is not finished.
  std::optional<Json> result_of(const std::string& id) const {
    const auto text = files_.result(id);
    if (!text) return std::nullopt;
    try {
      return Json::parse(*text);
    } catch (const Json::exception& error) {
      refuse_result(id, error.what());
    }
  }

  [[noreturn]] static void refuse_result(const std::string& id, const char* why) {
    throw_input_error("points/{}.json: is no result: {}; remove it and run the sweep", id, why);
  }

  std::optional<Unlimited> unlimited_of(const PlannedPoint& planned) {
    std::string id = baseline_id(planned.determinants, true);
    if (!planned_by_id_.contains(id)) id = baseline_id(planned.determinants);
    const auto known = unlimited_.find(id);
    if (known != unlimited_.end()) return known->second;
    std::optional<Unlimited> unlimited;
    if (planned_by_id_.count(id) != 0) {
      if (const auto result = result_of(id)) {
        unlimited = Unlimited{id, settled_ns(*result), result->at("limit").contains("hypothetical")};
      }
    }
    return unlimited_.emplace(id, unlimited).first->second;
  }

  const Plan& plan_;
  PointFiles files_;
  const SweepStatus& status_;
  std::map<std::string, const PlannedPoint*> planned_by_id_;
  std::map<std::string, std::optional<Unlimited>> unlimited_;
  std::set<std::string> systems_;
};

}  // namespace

SweepStatus sweep_status(const Plan& plan, const std::string& folder) {
  const PointFiles files(folder);
  SweepStatus status;
  for (const PlannedPoint& planned : plan.points) {
    ++status.planned;
    if (files.is_finished(planned.id)) {
      ++status.finished;
    } else if (auto error = files.error(planned.id)) {
      status.failed.push_back({status.planned, planned.id, label(planned), *std::move(error)});
    }
  }
  return status;
}

Collected collect(const Plan& plan, const std::string& folder, bool allow_partial) {
  const auto path = [&](const char* name) { return (fs::path(folder) / name).string(); };
  Collected collected{sweep_status(plan, folder), false, {}, {}};
  const bool complete = collected.status.complete();
  if (!complete && !allow_partial) return collected;
  const auto& names = complete ? kWholeResults : kPartialResults;
  collected.database = path(names[0]);
  collected.csv = path(names[1]);
  Collector(plan, folder, collected.status).write(collected.database, collected.csv);
  collected.written = true;
  std::error_code ignored;
  if (complete) {
    for (const char* name : kPartialResults) fs::remove(path(name), ignored);
  }
  return collected;
}

}  // namespace uvmsim::sweep
